"""Indexes by which an offer reads little, however much waits; backfills may repeat their failures.

On PostgreSQL the indexes are built while others work, which no transaction can. Everything here can
be done again after an end half way.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

_INDEXES = (
    (
        "ix_occurrences_unsettled",
        "occurrences",
        ["workspace_id", "schedule_id", "slot"],
        "outcome IS NULL",
    ),
    (
        "ix_occurrences_backfilled",
        "occurrences",
        ["workspace_id", "schedule_id"],
        "outcome IS NULL AND via = 'backfill'",
    ),
    (
        "ix_claims_waiting",
        "claims",
        ["lane", "backfill", "workspace_id", "not_before"],
        "state = 'waiting'",
    ),
    ("ix_claims_offered", "claims", ["lane", "lease_until"], "lease_until IS NOT NULL"),
)
_MAY_BE_TAKEN_BACK = "OLD.outcome = 'missed' OR (OLD.outcome = 'failed' AND OLD.via = 'backfill')"


def upgrade() -> None:
    _let_be_taken_back(_MAY_BE_TAKEN_BACK)
    if op.get_bind().dialect.name == "sqlite":
        _create()
        return
    with op.get_context().autocommit_block():
        for name in _half_built():
            op.drop_index(name, postgresql_concurrently=True)
        _create()


def downgrade() -> None:
    for name, table, _, _ in _INDEXES[1:]:  # the first was made by 0010
        op.drop_index(name, table_name=table)
    _let_be_taken_back("OLD.outcome = 'missed'")


def _create() -> None:
    for name, table, columns, which in _INDEXES:
        op.create_index(
            name,
            table,
            columns,
            unique=False,
            if_not_exists=True,
            postgresql_concurrently=True,
            postgresql_where=sa.text(which),
            sqlite_where=sa.text(which),
        )


def _half_built() -> list[str]:
    """Return those of the indexes whose building was broken off."""
    found = sa.text(
        "SELECT relname FROM pg_class JOIN pg_index ON indexrelid = pg_class.oid"
        " WHERE NOT indisvalid AND pg_table_is_visible(indrelid) AND relname IN :names"
    ).bindparams(sa.bindparam("names", [name for name, *_ in _INDEXES], expanding=True))
    return [str(name) for name in op.get_bind().scalars(found)]


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
