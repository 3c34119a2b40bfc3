"""The sheet of a chart: an Excel chart, and under it the cells that it draws."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from openpyxl import Workbook
from openpyxl.cell import Cell

from queries_orchestration.model.columns import Column, ValueType
from queries_orchestration.reports.content import Chart, Content, Row, Series
from queries_orchestration.reports.print_text import NULL
from queries_orchestration.reports.workbook.book import WIDTH_ROWS
from queries_orchestration.reports.workbook.cells import EXACT_DIGITS, Cells, CellText
from queries_orchestration.reports.workbook.drawing import ROWS_OF_DRAWING, Drawing, Drawn
from queries_orchestration.reports.workbook.number_looks import number_look
from queries_orchestration.reports.workbook.sheet import ReportSheet

_AS_DRAWN: Final = "{} (as drawn)"
_WHOLE: Final = "0"  # of an x, which names more than it counts: a year has no thousands
_DAY: Final = "yyyy-mm-dd"


@dataclass(frozen=True, slots=True)
class _Column:
    """One column of the cells under the chart, its label and its contents as openpyxl has them."""

    label: CellText
    type: ValueType
    contents: list[Any]
    longest: int

    def numbers(self) -> list[float] | None:
        """Return the numbers that Excel sees, gaps left out; None if it sees a text."""
        numbers = []
        for content in self.contents:
            value: Any = content.value if isinstance(content, Cell) else content
            if isinstance(value, CellText | bool):
                return None
            if value is not None:
                numbers.append(float(value))
        return numbers


def write_chart(
    book: Workbook, cells: Cells, name: str, content: Content, shown: Chart
) -> ReportSheet:
    """Write the sheet of a chart, the last of the workbook so far.

    Numbers that Excel cannot hold are text, which no chart draws: a series with such is drawn
    from a column of its own, with rounded numbers, to the right of the exact ones.
    """
    x = _x_column(cells, shown)
    columns = [x]
    drawn: list[Drawn] = []
    for series in shown.series:
        columns.append(_column(cells, series.label, series, series.values, content))
    for position, series in enumerate(shown.series, start=2):
        values = tuple(map(_as_drawn, series.values))
        at = position
        if columns[position - 1].numbers() is None:
            label = _AS_DRAWN.format(series.label)
            columns.append(_column(cells, label, series, values, content))
            at = len(columns)
        drawn.append(Drawn(label_column=position, column=at, values=values))
    sheet = ReportSheet(book, cells, name, longest=[column.longest for column in columns])
    sheet.open(content.title, content.notices)
    if not shown.x_values:
        sheet.no_rows()
        return sheet
    anchor = f"A{sheet.rows + 1}"
    for _ in range(ROWS_OF_DRAWING):
        sheet.row()
    sheet.header([column.label for column in columns], [column.type for column in columns])
    drawing = Drawing(
        sheet=sheet.sheet,
        header_row=sheet.rows,
        last_row=sheet.rows + len(shown.x_values),
        title=content.title or "",
        x_format=_x_format(shown.x, x.numbers()),
    )
    for row in zip(*(column.contents for column in columns), strict=True):
        sheet.row(row)
    sheet.sheet.add_chart(drawing.of(shown, drawn), anchor)
    return sheet


def _x_column(cells: Cells, shown: Chart) -> _Column:
    label = cells.header(shown.x)
    number_format = _WHOLE if shown.x.type == "integer" else None
    values = [NULL if value is None else value for value in shown.x_values]
    return _Column(
        label,
        shown.x.type,
        [cells.of(value, number_format) for value in values],
        max([len(label.text), *map(cells.longest_line, values[:WIDTH_ROWS])]),
    )


def _column(cells: Cells, label: str, series: Series, values: Row, content: Content) -> _Column:
    look = number_look(series.column, values, content.decimals)
    return _Column(
        cells.text(label),
        series.column.type,
        [look.cell(cells, value) for value in values],
        max([len(label), *(look.length(cells, value) for value in values[:WIDTH_ROWS])]),
    )


def _as_drawn(value: object) -> float | None:
    """Return the number in as many digits as Excel holds; None where a chart has a gap."""
    if not isinstance(value, int | float | Decimal):
        return None
    rounded = float(f"{value:.{EXACT_DIGITS}g}")
    return rounded if abs(rounded) < float("inf") else None


def _x_format(column: Column, numbers: list[float] | None) -> str | None:
    """Return how the axis shows x; None where it is text."""
    if numbers is None:
        return None
    if column.type in ("timestamp", "timestamptz"):
        is_of_days = all(number.is_integer() for number in numbers)
        return _DAY if is_of_days else f"{_DAY} hh:mm"
    return {"integer": _WHOLE, "date": _DAY, "time": "hh:mm"}.get(column.type, "General")
