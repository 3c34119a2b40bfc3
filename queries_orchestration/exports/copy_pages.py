"""A result as CSV lines that PostgreSQL makes itself, page by page, by COPY."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from types import TracebackType
from typing import Any, Final, TypeAlias

from sqlalchemy import Connection, Select

from queries_orchestration.exports.column_texts import ColumnTexts
from queries_orchestration.exports.last_lines import fields_of, split_last
from queries_orchestration.exports.page_size import PAGE_BYTES, PageSize
from queries_orchestration.exports.paging import PAGE_ROWS, is_paged_by_key
from queries_orchestration.exports.raw_pages import (
    fetch_raw,
    key_not_unique,
    refuse_forbidden_nulls,
    types_of,
)
from queries_orchestration.exports.sources import counting_waits, running
from queries_orchestration.exports.statements import (
    ROWS,
    DriverStatement,
    PageStatements,
    driver_statement,
)
from queries_orchestration.model.compile import CompiledQuery

TakeLines: TypeAlias = Callable[[bytes, int], None]
"""Takes whole CSV lines, in UTF-8, and how many rows they are."""

_SAME_IN_BOTH: Final = frozenset({"integer", "uuid", "date"})
"""Types whose text in a file is the very text that the database casts them to."""

_CHUNK: Final = 1 << 16
_OF_ONE_TEXT: Final = frozenset({16, 17, 20, 21, 23, 1082, 1083, 1114, 1184, 2950})
"""Types (OIDs) of which equal values print alike; 1.0 and 1.00 do not, nor do -0 and 0."""


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
        page_rows: as for ``exports.raw_pages.raw_pages``.
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
        lines = _Lines(take, page_rows)
        whole = driver_statement(_without_keys(shown, shown.statement), copying.dialect)
        try:
            with counting_waits(connection, f"The dataset {query.dataset}") as lines.taking:
                copying.copy(whole, lines)
        finally:
            if lines.refusal is not None:
                # A rollback would first receive all that is left of the result.
                connection.invalidate()
                raise lines.refusal
        lines.end()
        return
    size = PageSize(page_rows)
    if (positions := _printed_keys(texts)) is not None:
        _copy_with_printed_keys(copying, shown, positions, take, size)
    else:
        _copy_with_seams(copying, shown, take, size)


def _printed_keys(texts: ColumnTexts) -> tuple[int, ...] | None:
    """Return the columns that print as the cursor's values; None if a key is not among them."""
    printed = [
        str(cell) if column.type in _SAME_IN_BOTH else ""
        for cell, column in zip(texts.query.cells_selected, texts.query.columns, strict=True)
    ]
    keys = [str(key.expression) for key in texts.query.keys]
    if any(key.nullable for key in texts.query.keys) or not set(keys) <= set(printed):
        return None
    return tuple(map(printed.index, keys))


def _copy_with_printed_keys(
    copying: _Copying,
    shown: CompiledQuery,
    positions: tuple[int, ...],
    take: TakeLines,
    size: PageSize,
) -> None:
    """Read the key of a page's last row off its line.

    One row more than a page is copied; it must come first on the next page.
    """
    pages = PageStatements(
        shown, copying.dialect, lambda rest: _without_keys(shown, rest).limit(ROWS)
    )
    after: Sequence[object] | None = None
    expected: bytes | None = None
    while True:
        copied = io.BytesIO()
        page_rows = size.rows
        rows = copying.copy(pages.after(after, page_rows + 1), copied)
        lines = copied.getvalue()
        size.weighed(rows, len(lines))
        if expected is not None and not lines.startswith(expected):
            raise key_not_unique(copying.query)
        if rows <= page_rows:
            if rows:
                take(lines, rows)
            return
        lines, expected = split_last(lines)
        take(lines, page_rows)
        if after is None:
            refuse_forbidden_nulls(copying.connection, copying.query)
        fields = fields_of(split_last(lines)[1], copying.delimiter)
        after = [fields[position] for position in positions]


def _copy_with_seams(
    copying: _Copying, shown: CompiledQuery, take: TakeLines, size: PageSize
) -> None:
    """Fetch the key of each page's last row, and that of the row which comes next.

    It must come first after that key, where the texts of keys do not tell that they are equal.
    """
    query = copying.query
    pages = PageStatements(
        shown, copying.dialect, lambda rest: _without_keys(shown, rest).limit(ROWS)
    )
    seams = PageStatements(
        query, copying.dialect, lambda rest: _keys_only(query, rest).offset(ROWS).limit(2)
    )
    firsts = PageStatements(query, copying.dialect, lambda rest: _keys_only(query, rest).limit(1))
    keys = query.first_page(0).with_only_columns(*(key.expression for key in query.keys))
    are_told_by_texts = _OF_ONE_TEXT.issuperset(types_of(copying.connection, query, keys))
    after: Sequence[object] | None = None
    while True:
        seam = fetch_raw(copying.connection, query, seams.after(after, size.rows - 1))
        copied = io.BytesIO()
        rows = copying.copy(pages.after(after, size.rows), copied)
        size.weighed(rows, copied.tell())
        if rows:
            take(copied.getvalue(), rows)
        if len(seam) < 2:
            return
        last, first_of_next = seam
        if after is None:
            refuse_forbidden_nulls(copying.connection, query)
        if last == first_of_next or not (
            are_told_by_texts
            or fetch_raw(copying.connection, query, firsts.after(last)) == [first_of_next]
        ):
            raise key_not_unique(query)
        after = last


class _Copying:
    def __init__(self, connection: Connection, query: CompiledQuery, delimiter: str) -> None:
        self.dialect = connection.engine.dialect
        self.connection = connection
        self.query = query
        self.delimiter = delimiter
        self._what = f"The dataset {query.dataset}"
        self._driver: Any = connection.connection.driver_connection
        # The delimiter is one of ours, never a person's text.
        self._options = f"FORMAT csv, DELIMITER E'{_escaped(delimiter)}', ENCODING 'UTF8'"

    def copy(self, statement: DriverStatement, into: io.BytesIO | _Lines) -> int:
        """Write the rows of a statement as CSV lines; returns how many there are."""
        with closing(self._driver.cursor()) as cursor, running(self.connection, self._what):
            select = cursor.mogrify(statement.sql, statement.values).decode()
            cursor.copy_expert(f"COPY ({select}) TO STDOUT ({self._options})", into, _CHUNK)
            rows: int = cursor.rowcount
        return rows


class _Lines:
    """Takes a line at a time, as the server sends them, and gives them on a page at a time.

    Attributes:
        refusal: with what ``take`` ended the copying; the database has no part in it, whatever
            class of error it is.
        taking: within what ``take`` is called while the server sends.
    """

    def __init__(self, take: TakeLines, page_rows: int) -> None:
        self._take = take
        self._page_rows = page_rows
        self._lines: list[bytes] = []
        self._bytes = 0
        self.refusal: BaseException | None = None
        self.taking: Callable[[], AbstractContextManager[None]] = nullcontext

    def write(self, line: bytes) -> int:
        self._lines.append(line)
        self._bytes += len(line)
        if len(self._lines) == self._page_rows or self._bytes >= PAGE_BYTES:
            with self.taking(), self:
                self.end()
        return len(line)

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.refusal = error

    def end(self) -> None:
        """Give on what is left."""
        if self._lines:
            self._take(b"".join(self._lines), len(self._lines))
            self._lines = []
            self._bytes = 0


def _escaped(delimiter: str) -> str:
    return {"\t": "\\t"}.get(delimiter, delimiter)


def _without_keys(query: CompiledQuery, statement: Select[Any]) -> Select[Any]:
    return statement.with_only_columns(*query.cells_selected)


def _keys_only(query: CompiledQuery, statement: Select[Any]) -> Select[Any]:
    return statement.with_only_columns(*query.cursor_selected)
