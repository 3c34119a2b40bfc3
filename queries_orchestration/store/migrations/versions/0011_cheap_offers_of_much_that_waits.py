"""Indexes by which an offer reads little, however much waits; backfills may repeat their failures."""

from __future__ import annotations

from alembic import op

from queries_orchestration.store.migrations.indexes import Index, build

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

_INDEXES = (
    Index(
        "ix_occurrences_unsettled",
        "occurrences",
        ("workspace_id", "schedule_id", "slot"),
        "outcome IS NULL",
    ),
    Index(
        "ix_occurrences_backfilled",
        "occurrences",
        ("workspace_id", "schedule_id"),
        "outcome IS NULL AND via = 'backfill'",
    ),
    Index(
        "ix_claims_waiting",
        "claims",
        ("lane", "backfill", "workspace_id", "not_before"),
        "state = 'waiting'",
    ),
    Index("ix_claims_offered", "claims", ("lane", "lease_until"), "lease_until IS NOT NULL"),
)
_MAY_BE_TAKEN_BACK = "OLD.outcome = 'missed' OR (OLD.outcome = 'failed' AND OLD.via = 'backfill')"


def upgrade() -> None:
    build(_INDEXES)
    _let_be_taken_back(_MAY_BE_TAKEN_BACK)


def downgrade() -> None:
    for index in _INDEXES[1:]:  # the first was made by 0010
        op.drop_index(index.name, table_name=index.table)
    _let_be_taken_back("OLD.outcome = 'missed'")


def _let_be_taken_back(which: str) -> None:
    """Let a backfill take back the outcome of these occurrences, and nobody any other."""
    changes = "OLD.outcome IS NOT NULL AND {} AND NOT (({}) AND NEW.outcome IS NULL AND NEW.via = 'backfill')"
    bind = op.get_bind()
    if bind.dialect.name == "sqlite":
        bind.exec_driver_sql("DROP TRIGGER occurrences_settled_once")
        when = changes.format("OLD.outcome IS NOT NEW.outcome", which)
        does = f"WHEN {when} BEGIN SELECT RAISE(ABORT, 'an occurrence is settled once'); END"
    else:
        bind.exec_driver_sql("DROP TRIGGER occurrences_settled_once ON occurrences")
        when = changes.format("OLD.outcome IS DISTINCT FROM NEW.outcome", which)
        does = f"FOR EACH ROW WHEN ({when}) EXECUTE FUNCTION occurrences_settled_once()"
    bind.exec_driver_sql(
        f"CREATE TRIGGER occurrences_settled_once BEFORE UPDATE OF outcome ON occurrences {does}"
    )
