"""Whether a result is paged by its key or read through one cursor: the database's plan decides.

A page by key costs the same anywhere in a table where an index gives the order. Where the database
would sort, or group, it would do so again for each page; there one statement reads the result.
"""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import Connection

from queries_orchestration.exports.sources import running
from queries_orchestration.exports.statements import driver_statement
from queries_orchestration.model.compile import CompiledQuery

PAGE_ROWS: Final = 1000

_SQLITE_SORTS: Final = "USE TEMP B-TREE FOR"


def is_paged_by_key(
    connection: Connection, query: CompiledQuery, page_rows: int = PAGE_ROWS
) -> bool:
    """Tell whether an index gives the result in its order, so that a page costs a page.

    Args:
        connection: a snapshot of :func:`queries_orchestration.exports.sources.read_snapshot`.

    Raises:
        SourceBroken, SourceUnavailable, ReceiveTimeout: as ``exports.sources.fetch``.
    """
    if query.is_grouped:
        return False
    dialect = connection.engine.dialect
    statement = driver_statement(query.first_page(page_rows + 1), dialect)
    explain = "EXPLAIN (FORMAT JSON)" if dialect.name == "postgresql" else "EXPLAIN QUERY PLAN"
    with running(connection, f"The dataset {query.dataset}"):
        plan = connection.exec_driver_sql(f"{explain} {statement.sql}", statement.values).all()
    if dialect.name == "postgresql":
        return not _sorts(plan[0][0])
    return not any(_SQLITE_SORTS in row.detail for row in plan)


def _sorts(plan: Any) -> bool:
    """Tell whether a node of PostgreSQL's plan sorts, or begins with something that does."""
    if isinstance(plan, dict):
        node = plan.get("Node Type", "")
        return "Sort" in node or any(map(_sorts, plan.values()))
    return isinstance(plan, list) and any(map(_sorts, plan))
