"""The rows of one statement, as the driver gives them."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import partial
from typing import Any, Final, TypeAlias

from psycopg2 import extensions
from sqlalchemy import Connection, Select

from queries_orchestration.exports.sources import running
from queries_orchestration.exports.statements import DriverStatement, driver_statement
from queries_orchestration.model.compile import CompiledQuery
from queries_orchestration.model.database_text import PRINTED

RawRow: TypeAlias = tuple[Any, ...]

_TEXTS: Final = extensions.new_type(
    PRINTED,
    "QUERIES_TEXT",
    extensions.UNICODE,
)
"""Leaves what PostgreSQL has printed as it is."""
_NO_UTF8: Final = "Could not decode to UTF-8"


def fetch_raw(
    connection: Connection,
    query: CompiledQuery,
    statement: DriverStatement,
    *,
    as_printed: bool = False,
) -> list[RawRow]:
    """Run a statement of a query and return all its rows.

    Raises:
        As ``exports.raw_pages.raw_pages``.
    """
    driver: Any = connection.connection.driver_connection
    with closing(driver.cursor()) as cursor, running(connection, f"The dataset {query.dataset}"):
        if as_printed and connection.engine.dialect.name == "postgresql":
            take_as_printed(cursor)

        def begin() -> None:
            cursor.execute(statement.sql, statement.values)

        begin()
        rows: list[RawRow] = in_any_text(driver, cursor.fetchall, begin)
    return rows


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


def take_as_printed(cursor: Any) -> None:
    """Let a cursor of PostgreSQL leave what it has printed as it is."""
    extensions.register_type(_TEXTS, cursor)


def in_any_text(
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
