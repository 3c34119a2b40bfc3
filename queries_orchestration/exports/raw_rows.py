"""The rows of one statement, as the driver gives them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from itertools import islice
from sys import getsizeof
from typing import Any, Final, TypeAlias

import psycopg2
from sqlalchemy import Connection, Select

from queries_orchestration.exports.page_size import PAGE_BYTES
from queries_orchestration.exports.sources import running
from queries_orchestration.exports.statements import DriverStatement, driver_statement
from queries_orchestration.model.compile import CompiledQuery

RawRow: TypeAlias = tuple[Any, ...]

_NO_UTF8: Final = "Could not decode to UTF-8"
_CURSOR_NAME: Final = "queries_result"
_FETCHED_ROWS: Final = 50
"""What PostgreSQL sends at once. Its driver holds all of it before we see a row."""


def fetch_raw(
    connection: Connection, query: CompiledQuery, statement: DriverStatement
) -> list[RawRow]:
    """Run a statement of a query and return all its rows, which are few.

    Raises:
        As ``exports.raw_pages.raw_pages``.
    """
    driver: Any = connection.connection.driver_connection
    with closing(driver.cursor()) as cursor, running(connection, f"The dataset {query.dataset}"):

        def begin() -> None:
            cursor.execute(statement.sql, statement.values)

        begin()
        rows: list[RawRow] = _in_any_text(driver, cursor.fetchall, begin)
    return rows


def fetch_pages(
    connection: Connection, query: CompiledQuery, statement: DriverStatement, page_rows: int
) -> Iterator[list[RawRow]]:
    """Run a statement of a query and yield its rows in pages, none of them empty.

    A page has at most ``page_rows`` rows, and ends with the row by which it takes some MiB.

    Raises:
        As ``exports.raw_pages.raw_pages``.
    """
    what = f"The dataset {query.dataset}"
    driver: Any = connection.connection.driver_connection
    on_server = connection.engine.dialect.name == "postgresql"
    read = 0
    with _closed_at_last(driver.cursor(_CURSOR_NAME) if on_server else driver.cursor()) as cursor:
        if on_server:
            cursor.itersize = _FETCHED_ROWS

        def begin(read: int = 0) -> None:
            cursor.execute(statement.sql, statement.values)
            for _ in islice(cursor, read):
                pass

        with running(connection, what):
            begin()
        take = partial(_page, cursor, page_rows)
        while True:
            with running(connection, what):
                rows = _in_any_text(driver, take, partial(begin, read))
            if not rows:
                return
            read += len(rows)
            yield rows


def types_of(connection: Connection, query: CompiledQuery, statement: Select[Any]) -> list[int]:
    """Return the types that the columns of a statement have in PostgreSQL, domains as their base.

    Raises:
        As ``exports.raw_pages.raw_pages``.
    """
    made = driver_statement(statement, connection.engine.dialect)
    driver: Any = connection.connection.driver_connection
    with closing(driver.cursor()) as cursor, running(connection, f"The dataset {query.dataset}"):
        cursor.execute(made.sql, made.values)
        return [column.type_code for column in cursor.description]


def _page(cursor: Iterator[RawRow], page_rows: int) -> list[RawRow]:
    page: list[RawRow] = []
    left = PAGE_BYTES
    for row in islice(cursor, page_rows):
        page.append(row)
        left -= sum(map(getsizeof, row))
        if left <= 0:
            break
    return page


@contextmanager
def _closed_at_last(cursor: Any) -> Iterator[Any]:
    """Close the cursor in the end; its connection may be gone by then, and the cursor with it."""
    try:
        yield cursor
    finally:
        with suppress(psycopg2.Error, sqlite3.Error):
            cursor.close()


def _in_any_text(
    driver: Any, fetch: Callable[[], list[RawRow]], begin_again: Callable[[], None]
) -> list[RawRow]:
    """Fetch rows, also where SQLite keeps bytes that are no UTF-8 as text.

    They are read as characters that the files replace. Only where there are some: to decode each
    text by itself costs as much as reading it.

    Args:
        begin_again: goes back to before the first of these rows.
    """
    try:
        return fetch()
    except sqlite3.OperationalError as error:
        if not str(error).startswith(_NO_UTF8):
            raise
    driver.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")
    begin_again()
    return fetch()
