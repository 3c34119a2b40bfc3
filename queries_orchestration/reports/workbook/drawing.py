"""An Excel chart over the cells of its sheet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from openpyxl.chart import BarChart, LineChart, Reference
from openpyxl.chart.axis import ChartLines
from openpyxl.chart.data_source import AxDataSource, NumDataSource, NumRef, StrRef
from openpyxl.chart.layout import Layout
from openpyxl.chart.legend import Legend
from openpyxl.chart.marker import Marker
from openpyxl.chart.series import Series as DrawnSeries, SeriesLabel
from openpyxl.chart.shapes import GraphicalProperties
from openpyxl.chart.text import RichText, Text
from openpyxl.chart.title import Title
from openpyxl.drawing.line import LineProperties
from openpyxl.drawing.text import (
    CharacterProperties,
    Paragraph,
    ParagraphProperties,
    RegularTextRun,
)

from queries_orchestration.reports.content import Chart
from queries_orchestration.reports.workbook.cells import representable

ROWS_OF_DRAWING: Final = 23
"""Rows that the chart covers."""

_WIDTH, _HEIGHT = 25.0, 11.5  # cm
_TITLE_SIZE, _AXIS_TITLE_SIZE = 1400, 1000  # hundredths of a point
_LONGEST_TITLE: Final = 120
_GAP_WIDTH: Final = 60  # between groups of bars, in percent of a bar
_MARKED_POINTS: Final = 40
_GRID: Final = "D9D9D9"
_AXIS: Final = "7F7F7F"
# Told apart also by those who see colours differently.
_COLOURS: Final = (
    "0072B2",
    "E69F00",
    "009E73",
    "CC79A7",
    "56B4E9",
    "D55E00",
    "7F7F7F",
    "F0E442",
    "332288",
    "882255",
    "44AA99",
    "999933",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """One series: in which columns of the sheet, from 1, its label and its numbers stand."""

    label_column: int
    column: int
    values: Sequence[float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """Draws a chart of cells.

    Args:
        sheet: where they stand.
        header_row: row of the labels, from 1.
        last_row: row of the last values; x stands in the first column.
        title: of the chart.
        x_format: number format of x; None where x is text.
    """

    sheet: Any
    header_row: int
    last_row: int
    title: str
    x_format: str | None

    def of(self, shown: Chart, drawn: Sequence[Drawn]) -> Any:
        """Return the chart of the series that are drawn."""
        chart: Any = LineChart() if shown.kind == "line" else BarChart()
        chart.width, chart.height = _WIDTH, _HEIGHT
        chart.title = _title(self.title, _TITLE_SIZE)
        chart.roundedCorners = False
        chart.display_blanks = "gap"
        chart.legend = Legend(legendPos="b", overlay=False) if len(drawn) > 1 else None
        if shown.kind != "line":
            chart.type = "col"
            chart.gapWidth = _GAP_WIDTH
            if shown.kind == "stacked":
                chart.grouping = "stacked"
                chart.overlap = 100
        for number, series in enumerate(drawn):
            chart.append(self._series(number, series, is_line=shown.kind == "line"))
        self._draw_axes(chart, shown, drawn)
        return chart

    def _series(self, number: int, drawn: Drawn, *, is_line: bool) -> DrawnSeries:
        colour = _COLOURS[number % len(_COLOURS)]
        series = DrawnSeries(idx=number, order=number)
        series.tx = SeriesLabel(strRef=StrRef(f=self._cells(drawn.label_column, self.header_row)))
        series.val = NumDataSource(numRef=NumRef(f=self._values(drawn.column)))
        x = self._values(1)
        series.cat = (
            AxDataSource(strRef=StrRef(f=x))
            if self.x_format is None
            else AxDataSource(numRef=NumRef(f=x))
        )
        if is_line:
            line = LineProperties(solidFill=colour, w=28_575, cap="rnd")
            series.spPr = GraphicalProperties(ln=line)
            series.smooth = False
            series.marker = _marker(drawn.values, colour)
        else:
            series.spPr = GraphicalProperties(solidFill=colour)
            series.invertIfNegative = False
        return series

    def _draw_axes(self, chart: Any, shown: Chart, drawn: Sequence[Drawn]) -> None:
        for axis in (chart.x_axis, chart.y_axis):
            axis.delete = False  # openpyxl would leave it to the program
            axis.spPr = GraphicalProperties(ln=LineProperties(solidFill=_AXIS))
        chart.x_axis.axPos = "b"
        chart.x_axis.title = _title(shown.x.label, _AXIS_TITLE_SIZE)
        chart.x_axis.auto = False  # Excel would make an axis of days out of instants
        chart.x_axis.noMultiLvlLbl = True
        chart.x_axis.tickLblPos = "low"  # below the numbers that are negative
        if self.x_format is not None:
            chart.x_axis.number_format = self.x_format
        labels = {series.column.label for series in shown.series}
        if len(labels) == 1:
            chart.y_axis.title = _title(labels.pop(), _AXIS_TITLE_SIZE)
        numbers = [value for series in drawn for value in series.values if value is not None]
        chart.y_axis.number_format = _y_format(numbers)
        if shown.kind != "line" and numbers:  # bars that begin above zero would mislead
            if min(numbers) >= 0:
                chart.y_axis.scaling.min = 0
            elif max(numbers) <= 0:
                chart.y_axis.scaling.max = 0
        chart.y_axis.majorGridlines = ChartLines(
            spPr=GraphicalProperties(ln=LineProperties(solidFill=_GRID))
        )

    def _values(self, column: int) -> str:
        return self._cells(column, self.header_row + 1, self.last_row)

    def _cells(self, column: int, first_row: int, last_row: int | None = None) -> str:
        cells = Reference(self.sheet, min_col=column, min_row=first_row, max_row=last_row)
        return str(cells)


def _title(text: str, size: int) -> Title | None:
    """Return a title of plain text on one line; a long one is shortened, it stands in a cell."""
    line = " ".join(representable(text)[0].split())
    if not line:
        return None
    if len(line) > _LONGEST_TITLE:
        line = f"{line[: _LONGEST_TITLE - 1]}…"
    look = CharacterProperties(sz=size, b=True)
    paragraph = Paragraph(
        pPr=ParagraphProperties(defRPr=look), r=[RegularTextRun(rPr=look, t=line)]
    )
    return Title(tx=Text(rich=RichText(p=[paragraph])), layout=Layout(), overlay=False)


def _marker(values: Sequence[float | None], colour: str) -> Marker:
    """Return what marks the points of a line: they are seen if few, or alone between gaps."""
    alone = any(
        value is not None and before is None and after is None
        for (before, value), (_, after) in pairwise(pairwise((None, *values, None)))
    )
    if len(values) > _MARKED_POINTS and not alone:
        return Marker(symbol="none")
    look = GraphicalProperties(solidFill=colour, ln=LineProperties(solidFill=colour))
    return Marker(symbol="circle", size=5, spPr=look)


def _y_format(numbers: Sequence[float]) -> str:
    largest = max(map(abs, numbers), default=0)
    return "#,##0" if 1_000 <= largest < 1e15 else "General"
