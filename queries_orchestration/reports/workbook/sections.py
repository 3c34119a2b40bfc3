"""The sheet of each section of a report's workbook."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from textwrap import wrap
from typing import Final, assert_never

from openpyxl import Workbook
from openpyxl.utils import get_column_letter

from queries_orchestration.reports.content import (
    Chart,
    Comparison,
    Content,
    Number,
    Row,
    Table,
    Text,
)
from queries_orchestration.reports.print_text import NULL
from queries_orchestration.reports.workbook.book import WIDEST, WIDTH_ROWS
from queries_orchestration.reports.workbook.cells import Cells, CellText
from queries_orchestration.reports.workbook.charts import write_chart
from queries_orchestration.reports.workbook.number_looks import NumberLook, as_number, number_look
from queries_orchestration.reports.workbook.plain_text import plain_lines
from queries_orchestration.reports.workbook.sheet import (
    BIG,
    BIG_SIZE,
    BOLD,
    SIZE,
    WRAPPED,
    WRAPPED_LEFT,
    ReportSheet,
    lines_of,
    rows_above,
)

_TOTAL: Final = "Total"
_BIG_FACTOR: Final = 2  # so much wider are big digits
_LONGEST_LINE: Final = 600  # characters; Excel's rows are not higher than some of 25 lines
_FILTER_BUTTON: Final = 3  # characters that it hides
_PERCENT: Final = NumberLook(decimals=1)


def write_section(book: Workbook, cells: Cells, name: str, content: Content) -> None:
    """Write the sheet of a section, the last of the workbook so far."""
    shown = content.shown
    if isinstance(shown, Text):
        sheet = _write_text(book, cells, name, content, shown)
    elif isinstance(shown, Table):
        sheet = _write_table(book, cells, name, content, shown)
    elif isinstance(shown, Chart):
        sheet = write_chart(book, cells, name, content, shown)
    elif isinstance(shown, Number | Comparison):
        sheet = _write_facts(book, cells, name, content, shown)
    else:
        assert_never(shown)
    sheet.close()


def _write_text(
    book: Workbook, cells: Cells, name: str, content: Content, shown: Text
) -> ReportSheet:
    sheet = ReportSheet(book, cells, name, longest=[WIDEST])
    sheet.open(content.title, content.notices)
    for line in plain_lines(shown.markdown):
        if not line.text:
            sheet.row()
            continue
        font = BOLD if line.level else None
        for text in _rows_of(line.text):
            sheet.row([sheet.text(text, font, WRAPPED)], lines=lines_of(text, WIDEST))
    return sheet


def _rows_of(text: str) -> list[str]:
    if len(text) <= _LONGEST_LINE:
        return [text]
    return wrap(text, _LONGEST_LINE, replace_whitespace=False, expand_tabs=False)


def _write_table(
    book: Workbook, cells: Cells, name: str, content: Content, shown: Table
) -> ReportSheet:
    totals = shown.totals if shown.rows else None
    summed = () if totals is None else (totals,)
    looks = [
        number_look(column, (row[n] for row in chain(shown.rows, summed)), content.decimals)
        for n, column in enumerate(shown.columns)
    ]
    labels = [cells.header(column) for column in shown.columns]
    longest = [len(label.text) + _FILTER_BUTTON for label in labels]
    for row in chain(shown.rows[:WIDTH_ROWS], summed):
        lengths = map(NumberLook.length, looks, [cells] * len(looks), row)
        longest = list(map(max, longest, lengths))
    frozen = rows_above(content.title, content.notices) + 1
    sheet = ReportSheet(book, cells, name, longest=longest, frozen=frozen, grid=True)
    sheet.open(content.title, content.notices)
    types = [column.type for column in shown.columns]
    sheet.header(labels, types, is_filtered=bool(shown.rows))
    for row in shown.rows:
        sheet.row(_row(sheet, looks, row))
    last = f"{get_column_letter(len(labels))}{sheet.rows}"
    if not shown.rows:
        sheet.no_rows()
        return sheet
    sheet.sheet.auto_filter.ref = f"A{frozen}:{last}"
    if totals is not None:
        row = _row(sheet, looks, totals)
        if row[0] is None:
            row[0] = cells.text(_TOTAL)
        sheet.row([sheet.total(cell) for cell in row])
    return sheet


def _row(sheet: ReportSheet, looks: list[NumberLook], row: Row) -> list[object]:
    return [look.cell(sheet.cells, value) for value, look in zip(row, looks, strict=True)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fact:
    """A value beside its label.

    Args:
        number_format: of a value that is a number.
        is_big: whether it is what the section is about.
    """

    label: CellText
    value: object
    look: NumberLook
    number_format: str | None
    is_big: bool = False


def _write_facts(
    book: Workbook, cells: Cells, name: str, content: Content, shown: Number | Comparison
) -> ReportSheet:
    facts = list(_facts(cells, content, shown))
    longest = [
        max(len(fact.label.text) for fact in facts),
        max(fact.look.length(cells, fact.value) for fact in facts) * _BIG_FACTOR,
    ]
    sheet = ReportSheet(book, cells, name, longest=longest)
    sheet.open(content.title, content.notices)
    if isinstance(shown, Number) and shown.is_empty:
        sheet.no_rows()
        return sheet
    for fact in facts:
        _write_fact(sheet, fact)
    return sheet


def _write_fact(sheet: ReportSheet, fact: _Fact) -> None:
    if fact.value is None:
        cell = sheet.text(NULL, alignment=WRAPPED_LEFT)
    else:
        cell = sheet.cells.styled(sheet.cells.of(fact.value, fact.number_format))
        cell.alignment = WRAPPED_LEFT
    size, width = SIZE, WIDEST
    if fact.is_big:
        cell.font = BIG
        size, width = BIG_SIZE, WIDEST // _BIG_FACTOR
    lines = lines_of(fact.label.text, WIDEST)
    if isinstance(fact.value, str):
        lines = max(lines, lines_of(fact.value, width))
    label = sheet.cells.styled(fact.label)
    label.font, label.alignment = BOLD, WRAPPED
    sheet.row([label, cell], lines=lines, size=size)


def _facts(cells: Cells, content: Content, shown: Number | Comparison) -> Iterator[_Fact]:
    exact: tuple[object, ...] = (shown.value,)
    if isinstance(shown, Comparison):
        exact = (shown.value, shown.previous, shown.change)
    values = [as_number(value) for value in exact]
    look = number_look(shown.column, values, content.decimals)
    yield _Fact(
        label=cells.header(shown.column),
        value=values[0],
        look=look,
        number_format=look.format_of(values[0]),
        is_big=True,
    )
    if isinstance(shown, Number):
        return
    yield _Fact(
        label=cells.text("Previous period"),
        value=values[1],
        look=look,
        number_format=look.format_of(values[1]),
    )
    for label, value, of in (
        ("Change", values[2], look),
        ("Change in percent", shown.percent, _PERCENT),
    ):
        number_format = _signed(of.format_of(value))
        yield _Fact(label=cells.text(label), value=value, look=of, number_format=number_format)


def _signed(number_format: str | None) -> str | None:
    """Return the number format with the sign of a gain."""
    return number_format and f"+{number_format};-{number_format};{number_format}"
