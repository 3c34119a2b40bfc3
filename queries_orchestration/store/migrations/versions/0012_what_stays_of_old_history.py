"""Retention: what stays of old history by month, the downloads of a file, who was erased.

SQLite changes no rule of a table that is there, so that Alembic makes the audit trail anew and copies
its events; its triggers go with the old table and are made again.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from queries_orchestration.store.migrations.indexes import Index, build

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

# Without them each export or occurrence that goes would read all downloads.
_INDEXES = (
    Index("ix_downloads_export", "downloads", ("workspace_id", "export_id")),
    Index("ix_downloads_occurrence", "downloads", ("workspace_id", "occurrence_key")),
)
_BEFORE = (
    "export_asked",
    "export_cancelled",
    "file_downloaded",
    "schedule_created",
    "schedule_changed",
    "schedule_paused",
    "schedule_resumed",
    "schedule_repinned",
    "schedule_transferred",
    "schedule_deleted",
    "run_launched",
    "test_launched",
    "resend_launched",
    "backfill_launched",
    "catalog_applied",
    "unsubscribed",
    "resubscribed",
    "dispatch_stopped",
    "dispatch_started",
)
_NOW = (*_BEFORE, "person_erased")

_EVENTS_SQLITE = (
    """CREATE TRIGGER audit_events_not_replaced BEFORE INSERT ON audit_events
    WHEN EXISTS (SELECT 1 FROM audit_events WHERE workspace_id = NEW.workspace_id AND id = NEW.id)
    BEGIN SELECT RAISE(ABORT, 'an audit event is there already'); END""",
    """CREATE TRIGGER audit_events_not_changed BEFORE UPDATE ON audit_events
    BEGIN SELECT RAISE(ABORT, 'audit events are not changed'); END""",
    """CREATE TRIGGER audit_events_not_deleted BEFORE DELETE ON audit_events
    WHEN OLD.at > strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-365 days')
    BEGIN SELECT RAISE(ABORT, 'audit events are kept for 365 days'); END""",
)


def upgrade() -> None:
    build(_INDEXES)
    op.create_table(
        "monthly_deliveries",
        sa.Column("workspace_id", sa.String(length=26), nullable=False),
        sa.Column("schedule_id", sa.String(length=26), nullable=False),
        sa.Column("month", sa.Date(), nullable=False),
        sa.Column("purpose", sa.String(length=8), nullable=False),
        sa.Column("outcome", sa.String(length=16), nullable=False),
        sa.Column("code", sa.String(length=64), nullable=False),
        *_counts(
            "occurrences",
            "sending",
            "sent",
            "skipped",
            "refused",
            "uncertain",
            "unsent",
            "downloads",
            "rows",
            "bytes",
        ),
        sa.PrimaryKeyConstraint(
            "workspace_id",
            "schedule_id",
            "month",
            "purpose",
            "outcome",
            "code",
            name=op.f("pk_monthly_deliveries"),
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id", "schedule_id"],
            ["schedules.workspace_id", "schedules.id"],
            name=op.f("fk_monthly_deliveries_workspace_id_schedule_id"),
        ),
        sa.CheckConstraint(
            "purpose IN ('delivery', 'test', 'resend')", name=op.f("ck_monthly_deliveries_purpose")
        ),
        sa.CheckConstraint(
            "outcome IN ('delivered', 'delivered_partly', 'skipped_empty', 'no_recipients',"
            " 'failed', 'missed', 'cancelled')",
            name=op.f("ck_monthly_deliveries_outcome"),
        ),
        sa.CheckConstraint("occurrences >= 1", name=op.f("ck_monthly_deliveries_occurrences")),
    )
    op.create_table(
        "monthly_exports",
        sa.Column("workspace_id", sa.String(length=26), nullable=False),
        sa.Column("source_id", sa.String(length=26), nullable=False),
        sa.Column("month", sa.Date(), nullable=False),
        sa.Column("state", sa.String(length=9), nullable=False),
        sa.Column("code", sa.String(length=64), nullable=False),
        *_counts("exports", "downloads", "rows", "bytes"),
        sa.PrimaryKeyConstraint(
            "workspace_id", "source_id", "month", "state", "code", name=op.f("pk_monthly_exports")
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id", "source_id"],
            ["sources.workspace_id", "sources.id"],
            name=op.f("fk_monthly_exports_workspace_id_source_id"),
        ),
        sa.CheckConstraint(
            "state IN ('failed', 'cancelled', 'expired')", name=op.f("ck_monthly_exports_state")
        ),
        sa.CheckConstraint("exports >= 1", name=op.f("ck_monthly_exports_exports")),
    )
    _know(_NOW)


def downgrade() -> None:
    # The trail keeps that somebody changed something: as the nearest that the code of before knows.
    if _is_sqlite():
        op.execute("DROP TRIGGER audit_events_not_changed")
    else:
        op.execute("ALTER TABLE audit_events DISABLE TRIGGER USER")
    for column in ("action", "attempted"):
        op.execute(
            f"UPDATE audit_events SET {column} = 'catalog_applied'"  # noqa: S608
            f" WHERE {column} = 'person_erased'"
        )
    if not _is_sqlite():
        op.execute("ALTER TABLE audit_events ENABLE TRIGGER USER")
    _know(_BEFORE)
    for index in _INDEXES:
        op.drop_index(index.name, table_name=index.table)
    op.drop_table("monthly_exports")
    op.drop_table("monthly_deliveries")


def _counts(*names: str) -> list[sa.Column[int]]:
    return [
        sa.Column(name, sa.BigInteger(), server_default=sa.text("0"), nullable=False)
        for name in names
    ]


def _know(actions: tuple[str, ...]) -> None:
    """Let the audit trail hold these actions alone."""
    with op.batch_alter_table("audit_events") as table:
        for column, values in (("action", (*actions, "refused")), ("attempted", actions)):
            name = op.f(f"ck_audit_events_{column}")
            listed = ", ".join(f"'{value}'" for value in values)
            table.drop_constraint(name, type_="check")
            table.create_check_constraint(name, f"{column} IN ({listed})")
    if _is_sqlite():
        for statement in _EVENTS_SQLITE:
            op.get_bind().exec_driver_sql(statement)  # its colons are no parameters


def _is_sqlite() -> bool:
    return op.get_bind().dialect.name == "sqlite"
