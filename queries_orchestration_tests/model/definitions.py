"""Small definitions of datasets and queries, and people to open them, for tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine
from sqlalchemy.pool import NullPool

from queries_orchestration.exports.pages import read_pages
from queries_orchestration.exports.sources import engine_of, read_snapshot
from queries_orchestration.model.access import Actor
from queries_orchestration.model.compile import CompiledQuery, compile_query
from queries_orchestration.model.datasets import Dataset, parse_dataset
from queries_orchestration.model.queries import parse_query

# `source_url` is then of this kind only.
POSTGRESQL = pytest.mark.parametrize("database_kind", ["postgresql"])
SQLITE = pytest.mark.parametrize("database_kind", ["sqlite"])

READER = Actor("p1", "Rosa", frozenset({"reader"}), True)
EVERYTHING = {"who": {"everyone": True}, "fields": "all", "rows": "all"}


def a_dataset(
    fields: Mapping[str, str],
    *,
    key: Sequence[str] = ("id",),
    access: Sequence[Mapping[str, Any]] = (EVERYTHING,),
    not_null: Sequence[str] = (),
    relation: str = "t",
) -> Dataset:
    """Make a dataset of fields given as name to type."""
    return parse_dataset(
        {
            "name": "things",
            "relation": relation,
            "fields": [
                {"name": name, "type": type_, "nullable": name not in not_null}
                for name, type_ in fields.items()
            ],
            "key": list(key),
            "access": list(access),
        }
    )


def compiled(
    dataset: Dataset,
    *fields: str | Mapping[str, Any],
    actor: Actor = READER,
    values: Mapping[str, object] | None = None,
    **rest: Any,
) -> CompiledQuery:
    """Compile a query; a plain text among ``fields`` is the name of a field."""
    query = parse_query(
        {
            "dataset": "things",
            "fields": [{"field": name} if isinstance(name, str) else name for name in fields],
            **rest,
        },
        dataset,
    )
    return compile_query(query, dataset, actor, values or {})


def rows_of_ids(ids: Sequence[int]) -> list[tuple[object, ...]]:
    """Make rows of one column."""
    return [(number,) for number in ids]


def fill(url: str, *statements: str | tuple[str, Sequence[tuple[Any, ...]]]) -> None:
    """Run statements in the source; a pair is a statement and its rows."""
    engine = create_engine(url, poolclass=NullPool)
    with engine.begin() as connection:
        for statement in statements:
            if isinstance(statement, str):
                percent = "%" if is_sqlite(url) else "%%"  # psycopg2 always looks for parameters
                connection.exec_driver_sql(statement.replace("%", percent))
                continue
            sql, rows = statement
            if engine.dialect.name == "postgresql":
                sql = sql.replace("?", "%s")
            if rows:
                connection.exec_driver_sql(sql, list(rows))


def is_sqlite(url: str) -> bool:
    """Tell the kind of the database."""
    return url.startswith("sqlite")


@contextmanager
def snapshot_engine(url: str) -> Iterator[Engine]:
    """Open the source as the project does."""
    engine = engine_of(url)
    yield engine
    engine.dispose()


def read_all(url: str, query: CompiledQuery, page_rows: int = 1000) -> list[tuple[object, ...]]:
    """Read the whole result in pages by key, and see that one cursor reads the same."""
    with snapshot_engine(url) as engine, read_snapshot(engine, 30) as connection:
        by_key, by_cursor = (
            [row for page in read_pages(connection, query, page_rows, by_key=way) for row in page]
            for way in (True, False)
        )
    assert by_cursor == by_key
    return by_key


def sqlite_url(folder: Path) -> str:
    """Return the URL of a database file in a folder."""
    return f"sqlite:///{folder / 'source.db'}"
