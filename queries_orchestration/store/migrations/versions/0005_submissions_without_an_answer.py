"""Submissions without an answer, the words of a refusal, and what providers tell of messages."""

from __future__ import annotations

from typing import Any, Final

import sqlalchemy as sa
from alembic import op

from queries_orchestration.store.types import Instant

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_KEPT: Final = (
    "workspace_id, occurrence_key, person_id, state, code, communication_key, receive_number,"
    " link_token_id, link_key_id, link_issued_at, link_expires_at, message_id, recorded_at"
)
_STATES: Final = "'sending', 'sent', 'skipped', 'refused', 'uncertain'"
_COUNT: Final = "unanswered BETWEEN 0 AND 2"
_RESUBMITTED: Final = "unanswered < 2 OR resubmitted_at IS NOT NULL"


def upgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        _replace_on_sqlite(new=True)
    else:
        _alter(new=True)
    # Who was being sent to may have the message.
    op.execute("UPDATE deliveries SET unanswered = 1 WHERE state = 'sending'")
    op.create_table(
        "message_states",
        sa.Column("workspace_id", sa.String(length=26), nullable=False),
        sa.Column("occurrence_key", sa.String(length=63), nullable=False),
        sa.Column("communication_key", sa.String(length=100), nullable=False),
        sa.Column("state", sa.String(length=12), nullable=False),
        sa.Column("code", sa.String(length=64), nullable=True),
        sa.Column("at", Instant(), nullable=False),
        sa.Column("recorded_at", Instant(), nullable=False),
        sa.CheckConstraint(
            "state IN ('accepted', 'delayed', 'delivered', 'soft_bounced', 'bounced', 'complained')",
            name=op.f("ck_message_states_state"),
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id", "occurrence_key"],
            ["occurrences.workspace_id", "occurrences.key"],
            name=op.f("fk_message_states_workspace_id_occurrence_key"),
        ),
        sa.PrimaryKeyConstraint(
            "workspace_id", "communication_key", "state", name=op.f("pk_message_states")
        ),
    )
    op.create_index(
        "ix_message_states_occurrence",
        "message_states",
        ["workspace_id", "occurrence_key"],
        unique=False,
    )


def downgrade() -> None:
    op.drop_table("message_states")
    # To those of before, who was not sent to is who could not be sent to.
    op.execute("UPDATE deliveries SET state = 'refused' WHERE state = 'unsent'")
    if op.get_bind().dialect.name == "sqlite":
        _replace_on_sqlite(new=False)
    else:
        _alter(new=False)


def _alter(*, new: bool) -> None:
    for check in ("state", "code"):
        op.drop_constraint(op.f(f"ck_deliveries_{check}"), "deliveries", type_="check")
    for check, rule in _changed_checks(new=new).items():
        op.create_check_constraint(op.f(f"ck_deliveries_{check}"), "deliveries", rule)
    if not new:
        op.drop_constraint(op.f("uq_deliveries_message_id"), "deliveries", type_="unique")
        for column in ("refusal_words", "resubmitted_at", "unanswered"):
            op.drop_column("deliveries", column)
        return
    for added in _new_columns():
        op.add_column("deliveries", added)
    op.create_check_constraint(op.f("ck_deliveries_unanswered"), "deliveries", _COUNT)
    op.create_check_constraint(op.f("ck_deliveries_resubmitted_at"), "deliveries", _RESUBMITTED)
    op.create_unique_constraint(op.f("uq_deliveries_message_id"), "deliveries", ["message_id"])


def _replace_on_sqlite(*, new: bool) -> None:
    """Make the table anew and move its rows: SQLite changes no rule of a table that is there."""
    op.rename_table("deliveries", "deliveries_of_before")
    added = [
        *_new_columns(),
        sa.CheckConstraint(_COUNT, name=op.f("ck_deliveries_unanswered")),
        sa.CheckConstraint(_RESUBMITTED, name=op.f("ck_deliveries_resubmitted_at")),
        sa.UniqueConstraint("message_id", name=op.f("uq_deliveries_message_id")),
    ]
    op.create_table(
        "deliveries",
        sa.Column("workspace_id", sa.String(length=26), nullable=False),
        sa.Column("occurrence_key", sa.String(length=63), nullable=False),
        sa.Column("person_id", sa.String(length=26), nullable=False),
        sa.Column("state", sa.String(length=9), nullable=False),
        sa.Column("code", sa.String(length=64), nullable=True),
        sa.Column("communication_key", sa.String(length=100), nullable=False),
        sa.Column("receive_number", sa.Integer(), nullable=False),
        sa.Column("link_token_id", sa.String(length=26), nullable=True),
        sa.Column("link_key_id", sa.String(length=64), nullable=True),
        sa.Column("link_issued_at", Instant(), nullable=True),
        sa.Column("link_expires_at", Instant(), nullable=True),
        sa.Column("message_id", sa.String(length=200), nullable=True),
        sa.Column("recorded_at", Instant(), nullable=False),
        *(
            sa.CheckConstraint(rule, name=op.f(f"ck_deliveries_{check}"))
            for check, rule in _changed_checks(new=new).items()
        ),
        sa.CheckConstraint(
            "state IN ('skipped', 'refused') OR (link_token_id IS NOT NULL AND link_key_id IS NOT NULL AND link_issued_at IS NOT NULL AND link_expires_at IS NOT NULL)",
            name=op.f("ck_deliveries_link"),
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id", "occurrence_key"],
            ["occurrences.workspace_id", "occurrences.key"],
            name=op.f("fk_deliveries_workspace_id_occurrence_key"),
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id", "person_id"],
            ["people.workspace_id", "people.id"],
            name=op.f("fk_deliveries_workspace_id_person_id"),
        ),
        sa.PrimaryKeyConstraint(
            "workspace_id", "occurrence_key", "person_id", name=op.f("pk_deliveries")
        ),
        sa.UniqueConstraint("communication_key", name=op.f("uq_deliveries_communication_key")),
        sa.UniqueConstraint("link_token_id", name=op.f("uq_deliveries_link_token_id")),
        *(added if new else []),
    )
    op.execute(f"INSERT INTO deliveries ({_KEPT}) SELECT {_KEPT} FROM deliveries_of_before")  # noqa: S608
    op.drop_table("deliveries_of_before")


def _new_columns() -> list[sa.Column[Any]]:
    return [
        sa.Column("unanswered", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("resubmitted_at", Instant(), nullable=True),
        sa.Column("refusal_words", sa.String(length=300), nullable=True),
    ]


def _changed_checks(*, new: bool) -> dict[str, str]:
    states = f"{_STATES}, 'unsent'" if new else _STATES
    coded = "'skipped', 'refused', 'unsent'" if new else "'skipped', 'refused'"
    return {
        "state": f"state IN ({states})",
        "code": f"state NOT IN ({coded}) OR code IS NOT NULL",
    }
