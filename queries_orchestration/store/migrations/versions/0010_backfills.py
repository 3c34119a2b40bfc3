"""Backfills: work that comes after all other, an outcome that stays, an action of the audit trail.

SQLite changes no rule of a table that is there, so that Alembic makes the audit trail anew and copies
its events; its triggers go with the old table and are made again.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

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
    "catalog_applied",
    "unsubscribed",
    "resubscribed",
    "dispatch_stopped",
    "dispatch_started",
)
_NOW = (*_BEFORE[:13], "backfill_launched", *_BEFORE[13:])

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
_SETTLED_SQLITE = (
    """CREATE TRIGGER occurrences_settled_once BEFORE UPDATE OF outcome ON occurrences
    WHEN OLD.outcome IS NOT NULL AND OLD.outcome IS NOT NEW.outcome
    AND NOT (OLD.outcome = 'missed' AND NEW.outcome IS NULL AND NEW.via = 'backfill')
    BEGIN SELECT RAISE(ABORT, 'an occurrence is settled once'); END""",
)
_SETTLED_POSTGRESQL = (
    """CREATE FUNCTION occurrences_settled_once() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION 'an occurrence is settled once'
            USING ERRCODE = 'integrity_constraint_violation';
    END $$""",
    """CREATE TRIGGER occurrences_settled_once BEFORE UPDATE OF outcome ON occurrences
    FOR EACH ROW WHEN (
        OLD.outcome IS NOT NULL AND OLD.outcome IS DISTINCT FROM NEW.outcome
        AND NOT (OLD.outcome = 'missed' AND NEW.outcome IS NULL AND NEW.via = 'backfill')
    ) EXECUTE FUNCTION occurrences_settled_once()""",
)


def upgrade() -> None:
    op.add_column(
        "claims",
        sa.Column("backfill", sa.Boolean(), server_default=sa.text("false"), nullable=False),
    )
    # The index of what is not settled is made by 0011, which on PostgreSQL locks nobody out.
    _run(_SETTLED_SQLITE if _is_sqlite() else _SETTLED_POSTGRESQL)
    _know(_NOW)


def downgrade() -> None:
    # The trail keeps who asked for what: as the nearest that the code of before knows.
    if _is_sqlite():
        op.execute("DROP TRIGGER audit_events_not_changed")
    else:
        op.execute("ALTER TABLE audit_events DISABLE TRIGGER USER")
    for column in ("action", "attempted"):
        op.execute(
            f"UPDATE audit_events SET {column} = 'run_launched'"  # noqa: S608
            f" WHERE {column} = 'backfill_launched'"
        )
    if not _is_sqlite():
        op.execute("ALTER TABLE audit_events ENABLE TRIGGER USER")
    _know(_BEFORE)
    if _is_sqlite():
        op.execute("DROP TRIGGER occurrences_settled_once")
    else:
        op.execute("DROP TRIGGER occurrences_settled_once ON occurrences")
        op.execute("DROP FUNCTION occurrences_settled_once()")
    op.drop_index("ix_occurrences_unsettled", table_name="occurrences", if_exists=True)
    op.drop_column("claims", "backfill")


def _know(actions: tuple[str, ...]) -> None:
    """Let the audit trail hold these actions alone."""
    with op.batch_alter_table("audit_events") as table:
        for column, values in (("action", (*actions, "refused")), ("attempted", actions)):
            name = op.f(f"ck_audit_events_{column}")
            listed = ", ".join(f"'{value}'" for value in values)
            table.drop_constraint(name, type_="check")
            table.create_check_constraint(name, f"{column} IN ({listed})")
    if _is_sqlite():
        _run(_EVENTS_SQLITE)


def _run(statements: tuple[str, ...]) -> None:
    for statement in statements:
        op.get_bind().exec_driver_sql(statement)  # its colons are no parameters


def _is_sqlite() -> bool:
    return op.get_bind().dialect.name == "sqlite"
