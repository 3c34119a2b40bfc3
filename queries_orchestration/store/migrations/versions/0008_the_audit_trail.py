"""The audit trail: events that the database lets nobody change, or delete within a year."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from queries_orchestration.store.types import Instant

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_ACTIONS = (
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
    "catalog_applied",
    "unsubscribed",
    "resubscribed",
    "dispatch_stopped",
    "dispatch_started",
)

# A row that is written over (INSERT OR REPLACE) is neither updated nor deleted to SQLite's triggers.
_SQLITE = (
    """CREATE TRIGGER audit_events_not_replaced BEFORE INSERT ON audit_events
    WHEN EXISTS (SELECT 1 FROM audit_events WHERE workspace_id = NEW.workspace_id AND id = NEW.id)
    BEGIN SELECT RAISE(ABORT, 'an audit event is there already'); END""",
    """CREATE TRIGGER audit_events_not_changed BEFORE UPDATE ON audit_events
    BEGIN SELECT RAISE(ABORT, 'audit events are not changed'); END""",
    """CREATE TRIGGER audit_events_not_deleted BEFORE DELETE ON audit_events
    WHEN OLD.at > strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-365 days')
    BEGIN SELECT RAISE(ABORT, 'audit events are kept for 365 days'); END""",
)
_POSTGRESQL = (
    """CREATE FUNCTION audit_events_kept() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_OP = 'DELETE' AND OLD.at <= clock_timestamp() - interval '365 days' THEN
            RETURN OLD;
        END IF;
        RAISE EXCEPTION 'audit events are not changed, and are kept for 365 days'
            USING ERRCODE = 'integrity_constraint_violation';
    END $$""",
    """CREATE TRIGGER audit_events_kept BEFORE UPDATE OR DELETE ON audit_events
    FOR EACH ROW EXECUTE FUNCTION audit_events_kept()""",
    """CREATE TRIGGER audit_events_not_emptied BEFORE TRUNCATE ON audit_events
    FOR EACH STATEMENT EXECUTE FUNCTION audit_events_kept()""",
)


def upgrade() -> None:
    op.create_table(
        "audit_events",
        sa.Column("workspace_id", sa.String(length=26), nullable=False),
        sa.Column("id", sa.String(length=26), nullable=False),
        sa.Column("at", Instant(), nullable=False),
        sa.Column("via", sa.String(length=10), nullable=False),
        sa.Column("person_id", sa.String(length=26), nullable=True),
        sa.Column("outside_id", sa.String(length=26), nullable=True),
        sa.Column("action", sa.String(length=20), nullable=False),
        sa.Column("subject_kind", sa.String(length=10), nullable=False),
        sa.Column("subject_id", sa.String(length=63), nullable=True),
        sa.Column("concerns_id", sa.String(length=26), nullable=True),
        sa.Column("code", sa.String(length=64), nullable=True),
        sa.Column("attempted", sa.String(length=20), nullable=True),
        sa.PrimaryKeyConstraint("workspace_id", "id", name=op.f("pk_audit_events")),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspaces.id"], name=op.f("fk_audit_events_workspace_id")
        ),
        _one_of("via", "command", "api", "page", "dagster-ui", "link", "system"),
        sa.CheckConstraint(
            "CASE via WHEN 'system' THEN person_id IS NULL AND outside_id IS NULL"
            " WHEN 'link' THEN (person_id IS NULL) <> (outside_id IS NULL)"
            " WHEN 'command' THEN outside_id IS NULL"
            " ELSE person_id IS NOT NULL AND outside_id IS NULL END",
            name=op.f("ck_audit_events_by"),
        ),
        _one_of("action", *_ACTIONS, "refused"),
        _one_of("subject_kind", "workspace", "schedule", "occurrence", "source", "export"),
        _one_of("attempted", *_ACTIONS),
        sa.CheckConstraint(
            "(action = 'refused') = (attempted IS NOT NULL)", name=op.f("ck_audit_events_refused")
        ),
        sa.CheckConstraint(
            "code IS NOT NULL OR (action <> 'refused' AND (action <> 'schedule_paused'"
            " OR via <> 'system'))",
            name=op.f("ck_audit_events_code"),
        ),
        sa.CheckConstraint(
            "subject_id IS NOT NULL OR action = 'refused'",
            name=op.f("ck_audit_events_subject_id"),
        ),
    )
    op.create_index(
        "ix_audit_events_newest", "audit_events", ["workspace_id", "at", "id"], unique=False
    )
    op.create_index(
        "ix_audit_events_subject",
        "audit_events",
        ["workspace_id", "subject_kind", "subject_id", "at", "id"],
        unique=False,
    )
    for statement in _SQLITE if _is_sqlite() else _POSTGRESQL:
        op.get_bind().exec_driver_sql(statement)  # its colons are no parameters


def downgrade() -> None:
    op.drop_table("audit_events")  # its triggers and indexes go with it
    if not _is_sqlite():
        op.execute("DROP FUNCTION audit_events_kept()")


def _is_sqlite() -> bool:
    return op.get_bind().dialect.name == "sqlite"


def _one_of(column: str, *values: str) -> sa.CheckConstraint:
    listed = ", ".join(f"'{value}'" for value in values)
    return sa.CheckConstraint(f"{column} IN ({listed})", name=op.f(f"ck_audit_events_{column}"))
