"""Stops of all dispatching, resends and tests, transfers of schedules, notices to their owners."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from queries_orchestration.store.types import Instant

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # In one statement with its rule: SQLite adds no rule to a table that is there.
    op.execute(
        "ALTER TABLE occurrences ADD COLUMN purpose VARCHAR(8) DEFAULT 'delivery' NOT NULL"
        " CONSTRAINT ck_occurrences_purpose CHECK (purpose IN ('delivery', 'test', 'resend'))"
    )
    op.create_table(
        "dispatch_stops",
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("stopped_at", Instant(), nullable=False),
        sa.Column("stopped_by", sa.String(length=200), nullable=False),
        sa.Column("stop_reason", sa.Text(), nullable=False),
        sa.Column("started_at", Instant(), nullable=True),
        sa.Column("started_by", sa.String(length=200), nullable=True),
        sa.Column("start_reason", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_dispatch_stops")),
        sa.CheckConstraint("number >= 1", name=op.f("ck_dispatch_stops_number")),
        sa.CheckConstraint(
            "(started_at IS NULL) = (started_by IS NULL)"
            " AND (started_at IS NULL) = (start_reason IS NULL)",
            name=op.f("ck_dispatch_stops_started"),
        ),
    )
    op.create_table(
        "resends",
        sa.Column("workspace_id", sa.String(length=26), nullable=False),
        sa.Column("occurrence_key", sa.String(length=63), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("resend_key", sa.String(length=63), nullable=False),
        sa.PrimaryKeyConstraint(
            "workspace_id", "occurrence_key", "number", name=op.f("pk_resends")
        ),
        sa.UniqueConstraint(
            "workspace_id", "resend_key", name=op.f("uq_resends_workspace_id_resend_key")
        ),
        _within("resends", "occurrences", "occurrence_key", target="key"),
        _within("resends", "occurrences", "resend_key", target="key"),
        sa.CheckConstraint("number >= 1", name=op.f("ck_resends_number")),
        sa.CheckConstraint("resend_key <> occurrence_key", name=op.f("ck_resends_resend_key")),
    )
    op.create_table(
        "schedule_transfers",
        sa.Column("workspace_id", sa.String(length=26), nullable=False),
        sa.Column("id", sa.String(length=26), nullable=False),
        sa.Column("schedule_id", sa.String(length=26), nullable=False),
        sa.Column("from_person_id", sa.String(length=26), nullable=False),
        sa.Column("to_person_id", sa.String(length=26), nullable=False),
        sa.Column("transferred_by", sa.String(length=26), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("transferred_at", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("workspace_id", "id", name=op.f("pk_schedule_transfers")),
        _within("schedule_transfers", "schedules", "schedule_id"),
        _within("schedule_transfers", "people", "from_person_id"),
        _within("schedule_transfers", "people", "to_person_id"),
        _within("schedule_transfers", "people", "transferred_by"),
        sa.CheckConstraint(
            "to_person_id <> from_person_id", name=op.f("ck_schedule_transfers_to_person_id")
        ),
    )
    op.create_index(
        "ix_schedule_transfers_schedule",
        "schedule_transfers",
        ["workspace_id", "schedule_id", "transferred_at"],
        unique=False,
    )
    op.create_table(
        "notices",
        sa.Column("workspace_id", sa.String(length=26), nullable=False),
        sa.Column("occurrence_key", sa.String(length=63), nullable=False),
        sa.Column("kind", sa.String(length=13), nullable=False),
        sa.Column("person_id", sa.String(length=26), nullable=False),
        sa.Column("code", sa.String(length=64), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("streak", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=9), nullable=False),
        sa.Column("outcome_code", sa.String(length=64), nullable=True),
        sa.Column("communication_key", sa.String(length=120), nullable=False),
        sa.Column("attempts", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("not_before", Instant(), nullable=False),
        sa.Column("message_id", sa.String(length=200), nullable=True),
        sa.Column("created_at", Instant(), nullable=False),
        sa.Column("concluded_at", Instant(), nullable=True),
        sa.PrimaryKeyConstraint(
            "workspace_id", "occurrence_key", "kind", "person_id", name=op.f("pk_notices")
        ),
        sa.UniqueConstraint("communication_key", name=op.f("uq_notices_communication_key")),
        _within("notices", "occurrences", "occurrence_key", target="key"),
        _within("notices", "people", "person_id"),
        sa.CheckConstraint("kind IN ('first_failure', 'paused')", name=op.f("ck_notices_kind")),
        sa.CheckConstraint(
            "state IN ('waiting', 'sending', 'sent', 'skipped', 'refused', 'uncertain')",
            name=op.f("ck_notices_state"),
        ),
        sa.CheckConstraint("streak >= 0", name=op.f("ck_notices_streak")),
        sa.CheckConstraint("attempts >= 0", name=op.f("ck_notices_attempts")),
        sa.CheckConstraint(
            "state NOT IN ('skipped', 'refused') OR outcome_code IS NOT NULL",
            name=op.f("ck_notices_outcome_code"),
        ),
        sa.CheckConstraint(
            "(state IN ('waiting', 'sending')) = (concluded_at IS NULL)",
            name=op.f("ck_notices_concluded_at"),
        ),
    )
    op.create_index(
        "ix_notices_unsent",
        "notices",
        ["not_before"],
        unique=False,
        postgresql_where=sa.text("concluded_at IS NULL"),
        sqlite_where=sa.text("concluded_at IS NULL"),
    )


def downgrade() -> None:
    op.drop_index("ix_notices_unsent", table_name="notices")
    op.drop_table("notices")
    op.drop_index("ix_schedule_transfers_schedule", table_name="schedule_transfers")
    for table in ("schedule_transfers", "resends", "dispatch_stops"):
        op.drop_table(table)
    op.drop_column("occurrences", "purpose")


def _within(table: str, other: str, column: str, *, target: str = "id") -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["workspace_id", column],
        [f"{other}.workspace_id", f"{other}.{target}"],
        name=op.f(f"fk_{table}_workspace_id_{column}"),
    )
