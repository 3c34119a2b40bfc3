"""Read the sections of an opened report, one after the other, each bounded.

All sections over one database are read as of one moment. Only one section's rows are held.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Self

from sqlalchemy import Connection

from queries_orchestration.exports.generate import Patience
from queries_orchestration.exports.open_query import OpenedQuery
from queries_orchestration.exports.open_report import OpenedReport, OpenedSection
from queries_orchestration.exports.pages import read_pages
from queries_orchestration.exports.paging import PAGE_ROWS
from queries_orchestration.exports.source_errors import values_named
from queries_orchestration.exports.sources import engine_of, interrupt, read_snapshot
from queries_orchestration.exports.text_form import TextForm
from queries_orchestration.model.reports import (
    ChartView,
    ComparisonView,
    NumberView,
    TableView,
    TextSection,
)
from queries_orchestration.reports import notices
from queries_orchestration.reports.comparison import compare
from queries_orchestration.reports.content import Content, Number, Row, Shown, Text
from queries_orchestration.reports.frames import chart_of, table_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """How much at most: rows that a section reads, that a table shows, rows and cells of all."""

    section_reads: int
    table_shows: int
    document_shows: int
    document_cells: int


@dataclass(frozen=True, slots=True)
class _Read:
    """The first rows of a query, and whether it has more."""

    rows: list[Row]
    has_more: bool


class ReportReader:
    """Reads the sections of a report; ``rows`` counts what was read so far."""

    def __init__(
        self,
        opened: OpenedReport,
        *,
        bounds: Bounds,
        form: TextForm,
        patience: Patience,
        progress: Callable[[int], None],
    ) -> None:
        """Make a reader of ``opened``; it reads within :meth:`reading`.

        Args:
            form: how the values are told that name series.
            progress: called after each section with the rows read so far.
        """
        self._opened = opened
        self._bounds = bounds
        self._form = form
        self._patience = patience
        self._progress = progress
        self._snapshots: dict[str, Connection] = {}
        self._stack = ExitStack()
        self._printed_rows = 0
        self._printed_cells = 0
        self.rows = 0
        self.cut_sections = 0

    @contextmanager
    def reading(self) -> Iterator[Self]:
        """Keep the snapshots of the databases open."""
        with self._stack:
            yield self

    def sections(self) -> Iterator[Content]:
        """Yield what each section says, in order.

        Raises:
            SourceUnavailable, SourceBroken, ReceiveTimeout: as ``exports.pages.read_pages``.
            ReceiveLost, ReceiveTimeout: from ``patience``.
        """
        for number, section in enumerate(self._opened.sections, start=1):
            self._patience.check()
            # In no variable of this frame: its rows would stay while the next section's are read.
            yield self._content(number, section)
            self._progress(self.rows)

    def _content(self, number: int, section: TextSection | OpenedSection) -> Content:
        if isinstance(section, TextSection):
            return Content(
                number=number,
                title=section.title,
                shown=Text(markdown=section.markdown),
                decimals=None,
                notices=(),
            )
        shown, told = self._shown(section)
        self.cut_sections += bool(told)
        return Content(
            number=number,
            title=section.section.title,
            shown=shown,
            decimals=section.section.decimals,
            notices=tuple(told),
        )

    def _shown(self, section: OpenedSection) -> tuple[Shown, list[str]]:
        view, columns = section.section.view, section.query.compiled.columns
        if isinstance(view, NumberView):
            read = self._read(section.query, at_most=1)
            return (
                Number(
                    column=columns[view.value],
                    value=_value(read, view.value),
                    is_empty=not read.rows,
                ),
                notices.of_first_row(has_more=read.has_more),
            )
        if isinstance(view, ComparisonView):
            return self._comparison(section, view)
        read = self._read(section.query, at_most=self._bounds.section_reads)
        told = notices.of_reading(read=len(read.rows), has_more=read.has_more)
        if isinstance(view, ChartView):
            cut = chart_of(columns, read.rows, view, self._form)
            return cut.chart, told + notices.of_chart(cut)
        return self._table(section, view, read, told)

    def _table(
        self, section: OpenedSection, view: TableView, read: _Read, told: list[str]
    ) -> tuple[Shown, list[str]]:
        bounds, width = self._bounds, len(view.columns)
        by_rows = bounds.document_shows - self._printed_rows
        by_cells = (bounds.document_cells - self._printed_cells) // width
        most = min(bounds.table_shows, by_rows, by_cells)
        table = table_of(section.query.compiled.columns, read.rows, view, printed=most)
        self._printed_rows += len(table.rows)
        self._printed_cells += len(table.rows) * width
        of_document: str | None = None
        if by_cells < min(by_rows, bounds.table_shows):
            of_document = f"{bounds.document_cells:,} cells"
        elif by_rows < bounds.table_shows:
            of_document = f"{bounds.document_shows:,}"
        return table, told + notices.of_table(table, read=len(read.rows), of_document=of_document)

    def _comparison(self, section: OpenedSection, view: ComparisonView) -> tuple[Shown, list[str]]:
        now = self._read(section.query, at_most=1)
        before = self._read(section.previous, at_most=1) if section.previous else _Read([], False)
        return (
            compare(
                section.query.compiled.columns[view.value],
                _value(now, view.value),
                _value(before, view.value),
            ),
            notices.of_first_row(has_more=now.has_more or before.has_more),
        )

    def _read(self, query: OpenedQuery, *, at_most: int) -> _Read:
        connection = self._snapshot(query)
        rows: list[Row] = []
        # One more than wanted tells whether there are more.
        page_rows = min(PAGE_ROWS, at_most + 1)
        with (
            self._patience.interrupting(lambda: interrupt(connection)),
            values_named(query.compiled),
        ):
            for page in read_pages(connection, query.compiled, page_rows):
                self._patience.check()
                rows += page
                if len(rows) > at_most:
                    break
        read = _Read(rows[:at_most], len(rows) > at_most)
        self.rows += len(read.rows)
        return read

    def _snapshot(self, query: OpenedQuery) -> Connection:
        url, name = query.database_url, query.database_name
        if url not in self._snapshots:
            self._snapshots[url] = self._stack.enter_context(
                read_snapshot(
                    engine_of(url, what=name),
                    timeout_seconds=self._patience.remaining(),
                    statement_seconds=self._patience.statement_seconds,
                    what=name,
                )
            )
        return self._snapshots[url]


def _value(read: _Read, position: int) -> object:
    return read.rows[0][position] if read.rows else None
