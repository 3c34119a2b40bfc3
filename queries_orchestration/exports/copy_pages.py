"""A result as lines that PostgreSQL makes itself, page by page, by COPY.

Two connections on one snapshot copy pages in turn: while one makes the next page, the other sends.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import dataclass
from functools import partial
from threading import Event, Lock
from typing import Any, Final, TypeAlias

from sqlalchemy import Connection, Select

from queries_orchestration.exports.ahead import Ahead, Give, read_ahead
from queries_orchestration.exports.column_texts import ColumnTexts
from queries_orchestration.exports.page_size import PAGE_BYTES, PageSize
from queries_orchestration.exports.paging import PAGE_ROWS, is_paged_by_key
from queries_orchestration.exports.raw_pages import key_not_unique, refuse_forbidden_nulls
from queries_orchestration.exports.raw_rows import fetch_raw, types_of
from queries_orchestration.exports.shared_snapshot import SharedSnapshot, joined, share
from queries_orchestration.exports.sources import counting_waits, interrupt, running
from queries_orchestration.exports.statements import (
    ROWS,
    DriverStatement,
    PageStatements,
    driver_statement,
)
from queries_orchestration.model.compile import CompiledQuery
from queries_orchestration.model.errors import QueriesError

TakeLines: TypeAlias = Callable[[bytes, int], None]
"""Takes whole lines, in UTF-8, and how many rows they are."""
Lines: TypeAlias = tuple[bytes, int]

_CHUNK: Final = 1 << 16
_OF_ONE_TEXT: Final = frozenset({16, 17, 20, 21, 23, 1082, 1083, 1114, 1184, 2950})
"""Types (OIDs) of which equal values print alike; 1.0 and 1.00 do not, nor do -0 and 0."""

_log = logging.getLogger(__name__)


def copy_pages(
    connection: Connection,
    texts: ColumnTexts,
    take: TakeLines,
    *,
    options: str,
    is_guarded: bool,
    page_rows: int = PAGE_ROWS,
    by_key: bool | None = None,
) -> None:
    """Give ``take`` the result page by page, as lines of COPY.

    The next pages are read while ``take`` writes those before.

    Args:
        connection: a snapshot of PostgreSQL.
        texts: all rendered by the database.
        options: of COPY, as :func:`csv_options` or :data:`COLUMNS_OPTIONS` tell them.
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
    copying = partial(_Copying, query=query, options=options)
    reads: list[Callable[[Ahead[Lines]], None]]
    if by_key:
        turns = _Turns(connection, query, shown, page_rows)
        reads = [
            partial(_read_first, turns, copying(connection)),
            partial(_read_beside, turns, connection, copying),
        ]
    else:
        reads = [partial(_read_whole, copying(connection), shown, page_rows)]
    with read_ahead(reads, interrupt=lambda: interrupt(connection)) as read:
        for lines, rows in read:
            take(lines, rows)


def _read_whole(
    copying: _Copying, shown: CompiledQuery, page_rows: int, ahead: Ahead[Lines]
) -> None:
    statement = driver_statement(_without_keys(shown, shown.statement), copying.dialect)
    with copying.counting_waits() as waiting, ahead.begin_part() as give:
        copying.copy(statement, _Lines(give, page_rows, waiting))


def _read_first(turns: _Turns, copying: _Copying, ahead: Ahead[Lines]) -> None:
    try:
        _read_pages(turns, copying, ahead)
    finally:
        turns.are_many.set()  # or nobody would ever wake who waits for it


def _read_beside(
    turns: _Turns,
    first: Connection,
    copying: Callable[[Connection], _Copying],
    ahead: Ahead[Lines],
) -> None:
    turns.are_many.wait()
    if turns.shared is None:
        return
    with ExitStack() as opened:
        try:
            second = opened.enter_context(joined(first, turns.shared, turns.query))
        except QueriesError as error:
            _log.info("A source is read through one connection, not two: %s", error.code)
            return
        _read_pages(turns, copying(second), ahead)


def _read_pages(turns: _Turns, copying: _Copying, ahead: Ahead[Lines]) -> None:
    with copying.counting_waits() as waiting:
        while True:
            with turns.turn:
                page = turns.next(copying)
                if page is None:
                    return
                part = ahead.begin_part()
            with part as give:
                lines = _Lines(give, page.rows, waiting)
                turns.weigh(copying.copy(page.statement, lines), lines.bytes)


@dataclass(frozen=True, slots=True)
class _Page:
    statement: DriverStatement
    rows: int


class _Turns:
    """Deals out the pages of a result, one after the other.

    With each page, the key of its last row is fetched, and that of the row which comes next. It
    must come first after that key, where the texts of keys do not tell that they are equal.

    Attributes:
        turn: held by whoever asks for the next page, until its part has begun.
        are_many: set when it is worth while to read through two connections, or all is over.
        shared: the snapshot that a second connection may see.
        query: whose pages they are.
    """

    def __init__(
        self, connection: Connection, query: CompiledQuery, shown: CompiledQuery, page_rows: int
    ) -> None:
        self.turn = Lock()
        self.are_many = Event()
        self.shared: SharedSnapshot | None = None
        self._first = connection
        self.query = query
        self._size = PageSize(page_rows)
        self._weighing = Lock()
        dialect = connection.engine.dialect
        self._pages = PageStatements(
            shown, dialect, lambda rest: _without_keys(shown, rest).limit(ROWS)
        )
        self._seams = PageStatements(
            query, dialect, lambda rest: _keys_only(query, rest).offset(ROWS).limit(2)
        )
        self._firsts = PageStatements(query, dialect, lambda rest: _keys_only(query, rest).limit(1))
        keys = query.first_page(0).with_only_columns(*(key.expression for key in query.keys))
        self._are_told_by_texts = _OF_ONE_TEXT.issuperset(types_of(connection, query, keys))
        self._after: Sequence[object] | None = None
        self._is_over = False

    def next(self, copying: _Copying) -> _Page | None:
        """Return the next page; None after the last."""
        if self._is_over:
            return None
        rows = self._size.rows
        page = _Page(self._pages.after(self._after, rows), rows)
        seam = fetch_raw(copying.connection, self.query, self._seams.after(self._after, rows - 1))
        self._is_over = len(seam) < 2
        if not self._is_over:
            self._go_on_after(copying.connection, *seam)
        return page

    def weigh(self, rows: int, size: int) -> None:
        """Follow a page that was read."""
        with self._weighing:
            self._size.weighed(rows, size)

    def _go_on_after(
        self, connection: Connection, last: Sequence[object], first_of_next: Sequence[object]
    ) -> None:
        if self._after is None:
            refuse_forbidden_nulls(connection, self.query)
        if last == first_of_next or not (
            self._are_told_by_texts
            or fetch_raw(connection, self.query, self._firsts.after(last)) == [first_of_next]
        ):
            raise key_not_unique(self.query)
        self._after = last
        if self._size.rows == self._size.most_rows and not self.are_many.is_set():
            self.shared = share(self._first, self.query)
            self.are_many.set()


class _Copying:
    """Copies through one connection."""

    def __init__(self, connection: Connection, query: CompiledQuery, options: str) -> None:
        self.dialect = connection.engine.dialect
        self.connection = connection
        self._what = f"The dataset {query.dataset}"
        self._driver: Any = connection.connection.driver_connection
        self._options = f"{options}, ENCODING 'UTF8'"

    def counting_waits(self) -> AbstractContextManager[Callable[[], AbstractContextManager[None]]]:
        """Return what counts the time of statements as ``exports.sources.counting_waits`` does."""
        return counting_waits(self.connection, self._what)

    def copy(self, statement: DriverStatement, lines: _Lines) -> int:
        """Give on the rows of a statement as lines; returns how many there are."""
        try:
            with closing(self._driver.cursor()) as cursor, running(self.connection, self._what):
                select = cursor.mogrify(statement.sql, statement.values).decode()
                cursor.copy_expert(f"COPY ({select}) TO STDOUT ({self._options})", lines, _CHUNK)
                rows: int = cursor.rowcount
        finally:
            if lines.are_refused:
                # A rollback would first receive all that is left of the result.
                self.connection.invalidate()
        lines.end()
        return rows


class _Lines:
    """Takes a line at a time, as the server sends them, and gives them on a page at a time.

    Attributes:
        bytes: how many were taken.
        are_refused: whether nobody takes them any more.
    """

    def __init__(
        self,
        give: Give[Lines],
        page_rows: int,
        waiting: Callable[[], AbstractContextManager[None]],
    ) -> None:
        self._give = give
        self._page_rows = page_rows
        self._waiting = waiting
        self._lines: list[bytes] = []
        self._left = PAGE_BYTES
        self.bytes = 0
        self.are_refused = False

    def write(self, line: bytes) -> int:
        self._lines.append(line)
        self._left -= len(line)
        if self._left <= 0 or len(self._lines) == self._page_rows:
            with self._waiting():
                self.end()
        return len(line)

    def end(self) -> None:
        """Give on what is left."""
        if not self._lines:
            return
        self.bytes += PAGE_BYTES - self._left
        self._left = PAGE_BYTES
        lines, self._lines = self._lines, []
        self.are_refused = True
        self._give((b"".join(lines), len(lines)))
        self.are_refused = False


def _without_keys(query: CompiledQuery, statement: Select[Any]) -> Select[Any]:
    return statement.with_only_columns(*query.cells_selected)


def _keys_only(query: CompiledQuery, statement: Select[Any]) -> Select[Any]:
    return statement.with_only_columns(*query.cursor_selected)
