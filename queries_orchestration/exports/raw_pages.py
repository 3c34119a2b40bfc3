"""The rows of a result in pages, as the driver gives them: the cells, then the cursor's values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Final

import psycopg2
from sqlalchemy import Connection

from queries_orchestration.exports.page_size import PageSize
from queries_orchestration.exports.paging import PAGE_ROWS, is_paged_by_key
from queries_orchestration.exports.raw_rows import RawRow, fetch_raw, in_any_text, take_as_printed
from queries_orchestration.exports.sources import running
from queries_orchestration.exports.statements import (
    ROWS,
    PageStatements,
    driver_statement,
)
from queries_orchestration.model.compile import CompiledQuery
from queries_orchestration.model.errors import SourceBroken

_CURSOR_NAME: Final = "queries_result"


def raw_pages(
    connection: Connection,
    query: CompiledQuery,
    page_rows: int = PAGE_ROWS,
    *,
    by_key: bool | None = None,
    as_printed: bool = False,
) -> Iterator[Sequence[RawRow]]:
    """Yield the result in pages; an empty result has no page.

    Args:
        connection: a snapshot of :func:`queries_orchestration.exports.sources.read_snapshot`.
        page_rows: rows of a page at most; fewer where the rows are wide, and at the beginning.
        by_key: whether each page is a statement of its own that goes on after the last key, or
            all are fetched through one cursor; None: as the database's plan advises.
        as_printed: take what PostgreSQL prints, rather than what its driver makes of it.

    Raises:
        SourceBroken: the query cannot be run as the dataset is defined, or its key is no key
            (``source_key_not_unique``, ``source_key_null``).
        SourceUnavailable: the database went away, was busy, or the statement was interrupted.
        ReceiveTimeout, LimitExceeded: a time limit was reached.
    """
    if by_key is None:
        by_key = is_paged_by_key(connection, query, page_rows)
    reading = _by_key if by_key else _by_cursor
    return reading(connection, query, PageSize(page_rows), as_printed)


def _by_key(
    connection: Connection, query: CompiledQuery, size: PageSize, as_printed: bool
) -> Iterator[Sequence[RawRow]]:
    """One row more than a page is fetched, and must come first on the next page.

    And before a second page, no row may lack a sort value that the dataset promises. A key that is
    no key would otherwise lose rows between two pages, in silence.
    """
    statements = PageStatements(query, connection.engine.dialect, lambda rest: rest.limit(ROWS))
    after: tuple[object, ...] | None = None
    expected: tuple[object, ...] | None = None
    while True:
        page_rows = size.rows
        statement = statements.after(after, page_rows + 1)
        rows = fetch_raw(connection, query, statement, as_printed=as_printed)
        size.read(rows)
        if expected is not None and (not rows or query.cursor(rows[0]) != expected):
            raise key_not_unique(query)
        if rows:
            yield rows[:page_rows]
        if len(rows) <= page_rows:
            return
        if expected is None:
            refuse_forbidden_nulls(connection, query)
        expected = query.cursor(rows[page_rows])
        after = query.cursor(rows[page_rows - 1])


def _by_cursor(
    connection: Connection, query: CompiledQuery, size: PageSize, as_printed: bool
) -> Iterator[Sequence[RawRow]]:
    statement = driver_statement(query.statement, connection.engine.dialect)
    what = f"The dataset {query.dataset}"
    driver: Any = connection.connection.driver_connection
    on_server = connection.engine.dialect.name == "postgresql"
    with _closed_at_last(driver.cursor(_CURSOR_NAME) if on_server else driver.cursor()) as cursor:
        if as_printed and on_server:
            take_as_printed(cursor)
        with running(connection, what):
            cursor.execute(statement.sql, statement.values)
        read = 0

        def begin_again() -> None:
            cursor.execute(statement.sql, statement.values)
            for _ in range(read):
                cursor.fetchone()

        while True:
            with running(connection, what):
                rows = in_any_text(driver, partial(cursor.fetchmany, size.rows), begin_again)
            if not rows:
                return
            read += len(rows)
            size.read(rows)
            yield rows


@contextmanager
def _closed_at_last(cursor: Any) -> Iterator[Any]:
    """Close the cursor in the end; the server may be gone by then, and its cursor with it."""
    try:
        yield cursor
    finally:
        with suppress(psycopg2.Error):
            cursor.close()


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
