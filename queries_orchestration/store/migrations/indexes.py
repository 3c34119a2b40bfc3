"""Indexes that are built while others work.

On PostgreSQL no transaction can do that: a migration builds its own before all else that it does,
so that it can be done again after an end half way.
"""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa
from alembic import op

from queries_orchestration.store.database import LOCK_SECONDS, limit_waits


@dataclass(frozen=True, slots=True)
class Index:
    """One index; ``which`` are the rows that it has, in SQL, empty: all."""

    name: str
    table: str
    columns: tuple[str, ...]
    which: str = ""


def build(indexes: tuple[Index, ...]) -> None:
    """Build those that are not there, and anew those whose building was broken off."""
    if op.get_bind().dialect.name == "sqlite":
        _create(indexes)
        return
    with op.get_context().autocommit_block():
        # It waits for all that has begun, a backup too, and keeps nobody waiting meanwhile.
        limit_waits(op.get_bind(), 0, whole_session=True)
        for name in _half_built(indexes):
            op.drop_index(name, postgresql_concurrently=True)
        _create(indexes)
        limit_waits(op.get_bind(), LOCK_SECONDS, whole_session=True)


def _create(indexes: tuple[Index, ...]) -> None:
    for index in indexes:
        which = sa.text(index.which) if index.which else None
        op.create_index(
            index.name,
            index.table,
            list(index.columns),
            unique=False,
            if_not_exists=True,
            postgresql_concurrently=True,
            postgresql_where=which,
            sqlite_where=which,
        )


def _half_built(indexes: tuple[Index, ...]) -> list[str]:
    found = sa.text(
        "SELECT relname FROM pg_class JOIN pg_index ON indexrelid = pg_class.oid"
        " WHERE NOT indisvalid AND pg_table_is_visible(indrelid) AND relname IN :names"
    ).bindparams(sa.bindparam("names", [index.name for index in indexes], expanding=True))
    return [str(name) for name in op.get_bind().scalars(found)]
