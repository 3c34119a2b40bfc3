"""Whether a result is paged by its key or read through one cursor: the database's plan decides.

A page by key costs the same anywhere in a table where an index gives the order and finds the first
row after a key. Where the database would sort, group or skip rows, it would do so again for each
page; there one statement reads the result, as where it cannot compare with the text of a key.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from sqlalchemy import Connection, Row, Select

from queries_orchestration.exports.attempt import attempt
from queries_orchestration.exports.raw_rows import fetch_raw
from queries_orchestration.exports.relations import is_table
from queries_orchestration.exports.sources import running
from queries_orchestration.exports.statements import driver_statement
from queries_orchestration.model.compile import CompiledQuery
from queries_orchestration.model.errors import SourceBroken

PAGE_ROWS: Final = 1000

_SQLITE_SORTS: Final = "USE TEMP B-TREE FOR"
_READ_AGAIN: Final = ("Sort", "Incremental Sort", "Merge Join")
"""What PostgreSQL would do from the beginning for each page."""


def is_paged_by_key(
    connection: Connection, query: CompiledQuery, page_rows: int = PAGE_ROWS
) -> bool:
    """Tell whether an index finds each page of the result, so that a page costs a page.

    Args:
        connection: a snapshot of :func:`queries_orchestration.exports.sources.read_snapshot`.

    Raises:
        SourceBroken, SourceUnavailable, ReceiveTimeout: as ``exports.sources.fetch``.
    """
    if query.is_grouped or len({key.descending for key in query.keys}) > 1:
        return False  # no index leads to the middle of rows that tie in a key of another direction
    first = _found_by(connection, query, query.first_page(page_rows + 1))
    if first is None or not is_table(connection, query):
        return False  # or two pages might not see the same rows
    keys = query.first_page(1).with_only_columns(*query.cursor_selected)
    first_key = driver_statement(keys, connection.engine.dialect)
    for key in fetch_raw(connection, query, first_key):
        if None in key:
            return False  # it does not show whether values of its type can be compared with
        try:
            following = _found_by(connection, query, query.page_after(key, page_rows + 1))
        except SourceBroken:
            return False  # they cannot: a composite cannot be read from text, for one
        # Nothing but the key can have changed by what an index finds the rows.
        return following not in (None, first)
    return False


def _found_by(connection: Connection, query: CompiledQuery, page: Select[Any]) -> list[str] | None:
    """Return by what indexes find the rows of a page; None if they do not come in order.

    EXPLAIN runs nothing.
    """
    if connection.engine.dialect.name == "postgresql":
        nodes = list(_nodes(_asked(connection, query, page, "EXPLAIN (FORMAT JSON) ")[0][0]))
        if any(node["Node Type"] in _READ_AGAIN for node in nodes):
            return None
        return [node["Index Cond"] for node in nodes if "Index Cond" in node]
    steps = [row.detail for row in _asked(connection, query, page, "EXPLAIN QUERY PLAN ")]
    return None if any(_SQLITE_SORTS in step for step in steps) else steps


def _nodes(plan: Any) -> Iterator[dict[str, Any]]:
    """Yield the nodes of PostgreSQL's plan."""
    if isinstance(plan, dict):
        if "Node Type" in plan:
            yield plan
        plan = list(plan.values())
    if isinstance(plan, list):
        for part in plan:
            yield from _nodes(part)


def _asked(
    connection: Connection, query: CompiledQuery, statement: Select[Any], explain: str
) -> list[Row[Any]]:
    made = driver_statement(statement, connection.engine.dialect)
    with running(connection, f"The dataset {query.dataset}"), attempt(connection):
        return list(connection.exec_driver_sql(explain + made.sql, made.values).all())
