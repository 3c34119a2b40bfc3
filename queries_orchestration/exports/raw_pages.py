"""The rows of a result in pages, as the driver gives them: the cells, then the cursor's values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from sqlalchemy import Connection

from queries_orchestration.exports.paging import PAGE_ROWS, is_paged_by_key
from queries_orchestration.exports.raw_rows import RawRow, fetch_pages, fetch_raw
from queries_orchestration.exports.statements import (
    ROWS,
    PageStatements,
    driver_statement,
)
from queries_orchestration.model.compile import CompiledQuery
from queries_orchestration.model.errors import SourceBroken


def raw_pages(
    connection: Connection,
    query: CompiledQuery,
    page_rows: int = PAGE_ROWS,
    *,
    by_key: bool | None = None,
) -> Iterator[Sequence[RawRow]]:
    """Yield the result in pages; an empty result has no page.

    Args:
        connection: a snapshot of :func:`queries_orchestration.exports.sources.read_snapshot`.
        page_rows: rows of a page at most; fewer where the rows are wide.
        by_key: whether so many rows are a statement of its own that goes on after the last key, or
            all are fetched through one cursor; None: as the database's plan advises.

    Raises:
        SourceBroken: the query cannot be run as the dataset is defined, or its key is no key
            (``source_key_not_unique``, ``source_key_null``).
        SourceUnavailable: the database went away, was busy, or the statement was interrupted.
        ReceiveTimeout, LimitExceeded: a time limit was reached.
    """
    if by_key is None:
        by_key = is_paged_by_key(connection, query, page_rows)
    if by_key:
        return _by_key(connection, query, page_rows)
    whole = driver_statement(query.statement, connection.engine.dialect)
    return fetch_pages(connection, query, whole, page_rows)


def _by_key(
    connection: Connection, query: CompiledQuery, page_rows: int
) -> Iterator[Sequence[RawRow]]:
    """One row more than a page is fetched, and must come first on the next page.

    And before a second page, no row may lack a sort value that the dataset promises. A key that is
    no key would otherwise lose rows between two pages, in silence.
    """
    statements = PageStatements(query, connection.engine.dialect, lambda rest: rest.limit(ROWS))
    after: tuple[object, ...] | None = None
    expected: tuple[object, ...] | None = None
    is_first = True
    while True:
        statement = statements.after(after, page_rows + 1)
        left = page_rows
        first_of_next: tuple[object, ...] | None = None
        for rows in fetch_pages(connection, query, statement, page_rows + 1):
            if expected is not None and query.cursor(rows[0]) != expected:
                raise key_not_unique(query)
            expected = None
            if len(rows) > left:
                first_of_next = query.cursor(rows.pop())
            left -= len(rows)
            if rows:
                after = query.cursor(rows[-1])
                yield rows
        if expected is not None:
            raise key_not_unique(query)
        if first_of_next is None:
            return
        if is_first:
            refuse_forbidden_nulls(connection, query)
        is_first = False
        expected = first_of_next


def refuse_forbidden_nulls(connection: Connection, query: CompiledQuery) -> None:
    """Refuse to page by keys of which one is NULL although the dataset says that none is.

    Raises:
        SourceBroken: with the code ``source_key_null``.
    """
    statement = query.forbidden_nulls()
    if statement is None:
        return
    made = driver_statement(statement, connection.engine.dialect)
    if fetch_raw(connection, query, made):
        promised = ", ".join(key.name for key in query.keys if not key.nullable)
        raise SourceBroken(
            f"A row of the dataset {query.dataset} is NULL where the dataset says that none is"
            f" ({promised}). Correct key and nullable in the dataset, or the data.",
            code="source_key_null",
        )


def key_not_unique(query: CompiledQuery) -> SourceBroken:
    """Return the error of a key that names more rows than one."""
    return SourceBroken(
        f"The key of the dataset {query.dataset} does not name one row each."
        " Correct the key in the dataset, or the data.",
        code="source_key_not_unique",
    )
