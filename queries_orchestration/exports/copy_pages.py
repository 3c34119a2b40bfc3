"""A result as CSV lines that PostgreSQL makes itself, page by page, by COPY."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any, Final, TypeAlias

from sqlalchemy import Connection, Select

from queries_orchestration.exports.column_texts import ColumnTexts
from queries_orchestration.exports.paging import PAGE_ROWS, is_paged_by_key
from queries_orchestration.exports.raw_pages import (
    fetch_raw,
    key_not_unique,
    refuse_forbidden_nulls,
)
from queries_orchestration.exports.sources import running
from queries_orchestration.exports.statements import (
    DriverStatement,
    PageStatements,
    driver_statement,
)
from queries_orchestration.model.compile import CompiledQuery

TakeLines: TypeAlias = Callable[[bytes, int], None]
"""Takes whole CSV lines, in UTF-8, and how many rows they are."""

_CHUNK: Final = 1 << 16


def copy_pages(
    connection: Connection,
    texts: ColumnTexts,
    take: TakeLines,
    *,
    delimiter: str,
    is_guarded: bool,
    page_rows: int = PAGE_ROWS,
    by_key: bool | None = None,
) -> None:
    """Give ``take`` the result page by page, in the very bytes that the CSV writer would write.

    Args:
        connection: a snapshot of PostgreSQL.
        texts: all rendered by the database.
        delimiter: of the fields, one character.
        is_guarded: whether text that a spreadsheet would run is made inert.
        by_key: as for ``exports.raw_pages.raw_pages``.

    Raises:
        As ``exports.raw_pages.raw_pages``, and what ``take`` raises.
    """
    query = texts.query
    if by_key is None:
        by_key = is_paged_by_key(connection, query, page_rows)
    shown = texts.selected(is_guarded=is_guarded)
    copying = _Copying(connection, query, delimiter)
    if not by_key:
        gathered = _Lines(take, page_rows)
        copying.copy(
            driver_statement(_without_keys(shown, shown.statement), copying.dialect), gathered
        )
        gathered.end()
        return
    pages = PageStatements(
        shown, copying.dialect, lambda rest: _without_keys(shown, rest).limit(page_rows)
    )
    # Of each page only the last row's key is fetched, and that of the row which comes next.
    seams = PageStatements(
        query, copying.dialect, lambda rest: _keys_only(query, rest).offset(page_rows - 1).limit(2)
    )
    after: Sequence[object] | None = None
    while True:
        seam = fetch_raw(connection, query, seams.after(after))
        lines = io.BytesIO()
        rows = copying.copy(pages.after(after), lines)
        if rows:
            take(lines.getvalue(), rows)
        if len(seam) < 2:
            return
        last, first_of_next = seam
        if last == first_of_next or rows != page_rows:
            raise key_not_unique(query)
        if after is None:
            refuse_forbidden_nulls(connection, query)
        after = last


class _Copying:
    def __init__(self, connection: Connection, query: CompiledQuery, delimiter: str) -> None:
        self.dialect = connection.engine.dialect
        self._connection = connection
        self._what = f"The dataset {query.dataset}"
        self._driver: Any = connection.connection.driver_connection
        # The delimiter is one of ours, never a person's text.
        self._options = f"FORMAT csv, DELIMITER E'{_escaped(delimiter)}', ENCODING 'UTF8'"

    def copy(self, statement: DriverStatement, into: io.BytesIO | _Lines) -> int:
        """Write the rows of a statement as CSV lines; returns how many there are."""
        with closing(self._driver.cursor()) as cursor, running(self._connection, self._what):
            select = cursor.mogrify(statement.sql, statement.values).decode()
            cursor.copy_expert(f"COPY ({select}) TO STDOUT ({self._options})", into, _CHUNK)
            rows: int = cursor.rowcount
        return rows


class _Lines:
    """Takes a line at a time, as the server sends them, and gives them on a page at a time."""

    def __init__(self, take: TakeLines, page_rows: int) -> None:
        self._take = take
        self._page_rows = page_rows
        self._lines: list[bytes] = []

    def write(self, line: bytes) -> int:
        self._lines.append(line)
        if len(self._lines) == self._page_rows:
            self.end()
        return len(line)

    def end(self) -> None:
        """Give on what is left."""
        if self._lines:
            self._take(b"".join(self._lines), len(self._lines))
            self._lines = []


def _escaped(delimiter: str) -> str:
    return {"\t": "\\t"}.get(delimiter, delimiter)


def _without_keys(query: CompiledQuery, statement: Select[Any]) -> Select[Any]:
    return statement.with_only_columns(*query.cells_selected)


def _keys_only(query: CompiledQuery, statement: Select[Any]) -> Select[Any]:
    return statement.with_only_columns(*query.cursor_selected)
