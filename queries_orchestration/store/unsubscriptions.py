"""Who wants no more messages of a schedule, whatever the catalog says."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import Connection, delete, or_
from sqlalchemy.dialects import postgresql, sqlite

from queries_orchestration.store.rows import every, select_records, values_of
from queries_orchestration.store.tables import unsubscriptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsubscription:
    """One recipient of one schedule; ``recipient_id`` is the id of the one of the two there is.

    ``mailbox_digest`` is of the mailbox that they had then; None if they had none.
    """

    workspace_id: str
    schedule_id: str
    recipient_id: str
    person_id: str | None
    outside_id: str | None
    unsubscribed_at: datetime
    mailbox_digest: str | None = field(default=None, repr=False)


def of_schedule(
    connection: Connection, workspace_id: str, schedule_id: str
) -> list[Unsubscription]:
    """Return who wants no more of a schedule, the longest first."""
    return every(
        connection,
        Unsubscription,
        select_records(Unsubscription, unsubscriptions)
        .where(
            unsubscriptions.c.workspace_id == workspace_id,
            unsubscriptions.c.schedule_id == schedule_id,
        )
        .order_by(unsubscriptions.c.unsubscribed_at, unsubscriptions.c.recipient_id),
    )


def record(connection: Connection, unsubscription: Unsubscription) -> bool:
    """Insert it; False, and it stays as it is, if one is there."""
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    inserted = connection.execute(
        dialect.insert(unsubscriptions).values(values_of(unsubscription)).on_conflict_do_nothing()
    )
    return inserted.rowcount == 1


def forget(
    connection: Connection,
    workspace_id: str,
    schedule_id: str,
    *,
    recipient_id: str,
    mailbox_digest: str | None,
) -> bool:
    """Let a recipient and a mailbox have messages again; False if neither had unsubscribed."""
    wanted = unsubscriptions.c.recipient_id == recipient_id
    if mailbox_digest is not None:
        wanted = or_(wanted, unsubscriptions.c.mailbox_digest == mailbox_digest)
    forgotten = connection.execute(
        delete(unsubscriptions).where(
            unsubscriptions.c.workspace_id == workspace_id,
            unsubscriptions.c.schedule_id == schedule_id,
            wanted,
        )
    )
    return forgotten.rowcount > 0
