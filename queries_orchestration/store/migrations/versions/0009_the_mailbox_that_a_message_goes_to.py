"""Deliveries and unsubscriptions remember their mailbox, as a digest; mailboxes are folded anew.

What is there already gets the digest of the address that its recipient has now: of deliveries
those alone whose occurrence is not settled, for the others need none.
"""

from __future__ import annotations

import hashlib
import unicodedata
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

_OUTSIDE = (
    "SELECT workspace_id, id, address, mailbox FROM outside_addresses WHERE address IS NOT NULL"
)
_PEOPLE = "SELECT workspace_id, id, address FROM people WHERE address IS NOT NULL"
_TAKEN = "SELECT 1 FROM outside_addresses WHERE workspace_id = :workspace AND mailbox = :mailbox"
_FOLD = (
    "UPDATE outside_addresses SET mailbox = :mailbox WHERE workspace_id = :workspace AND id = :id"
)
_UNSUBSCRIPTIONS = "UPDATE unsubscriptions SET mailbox_digest = :digest WHERE workspace_id = :workspace AND recipient_id = :id"
_DELIVERIES = (
    "UPDATE deliveries SET mailbox_digest = :digest WHERE workspace_id = :workspace"
    " AND recipient_id = :id AND state IN ('sending', 'sent', 'uncertain') AND EXISTS (SELECT 1"
    " FROM occurrences WHERE occurrences.workspace_id = deliveries.workspace_id"
    " AND occurrences.key = deliveries.occurrence_key AND occurrences.outcome IS NULL)"
)


def upgrade() -> None:
    for table in ("deliveries", "unsubscriptions"):
        op.add_column(table, sa.Column("mailbox_digest", sa.String(length=64), nullable=True))
    connection = op.get_bind()
    for workspace, id_, address, mailbox in connection.execute(sa.text(_OUTSIDE)).all():
        folded = _folded(address)
        names = {"workspace": workspace, "id": id_, "mailbox": folded}
        # Of two that are one mailbox by the new rule, the second keeps what it had.
        if folded != mailbox and connection.execute(sa.text(_TAKEN), names).first() is None:
            connection.execute(sa.text(_FOLD), names)
        _remember(connection, workspace, id_, folded)
    for workspace, id_, address in connection.execute(sa.text(_PEOPLE)).all():
        _remember(connection, workspace, id_, _folded(address))


def downgrade() -> None:
    for table in ("deliveries", "unsubscriptions"):
        op.drop_column(table, "mailbox_digest")


def _remember(connection: Any, workspace: str, id_: str, mailbox: str) -> None:
    # The rule of the time of this migration: the code may come to have another one.
    digest = hashlib.sha256(f"{workspace} {mailbox}".encode()).hexdigest()
    for statement in (_UNSUBSCRIPTIONS, _DELIVERIES):
        connection.execute(
            sa.text(statement), {"workspace": workspace, "id": id_, "digest": digest}
        )


def _folded(address: str) -> str:
    folded = ((one.casefold(), one.lower()) for one in address)
    return unicodedata.normalize(
        "NFC", "".join(first if len(first) == 1 else second for first, second in folded)
    )
