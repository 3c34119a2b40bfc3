"""One sheet of a report's workbook, written row by row from its top."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import Any, Final
from unicodedata import east_asian_width

from openpyxl import Workbook
from openpyxl.styles import Alignment, Border, Font, PatternFill, Side
from openpyxl.worksheet.properties import PageSetupProperties

from queries_orchestration.model.columns import ValueType
from queries_orchestration.model.fields import NUMBERS
from queries_orchestration.reports.workbook.book import WIDEST, book_font, set_widths
from queries_orchestration.reports.workbook.cells import Cells, CellText

BIG_SIZE: Final = 20.0
TITLE: Final = book_font(bold=True, size=16)
BOLD: Final = book_font(bold=True)
BIG: Final = book_font(bold=True, size=BIG_SIZE)
LINK: Final = book_font(underlined=True, color="0563C1")
NOTICE: Final = book_font(italic=True, color="9C5700")
_QUIET: Final = book_font(italic=True, color="595959")
WRAPPED: Final = Alignment(wrap_text=True, vertical="top")
WRAPPED_LEFT: Final = Alignment(wrap_text=True, vertical="top", horizontal="left")
_NO_ROWS: Final = "No rows"
_HEADER: Final = Alignment(wrap_text=True, vertical="center")
_HEADER_RIGHT: Final = Alignment(wrap_text=True, vertical="center", horizontal="right")
_FILTERED_RIGHT: Final = Alignment(wrap_text=True, vertical="center", horizontal="right", indent=2)
_AT_RIGHT: Final = NUMBERS | {"date", "timestamp", "timestamptz", "time"}
_HEADER_FILL: Final = PatternFill("solid", fgColor="FFE7ECF3")
_THIN: Final = Side(style="thin", color="FF7F7F7F")
_HEADER_BORDER: Final = Border(bottom=_THIN)
_TOTALS_BORDER: Final = Border(top=_THIN)
_A4: Final = 9
SIZE: Final = 11.0
_HIGHEST: Final = 409.0  # points, of a row
_LINE_HEIGHT: Final = 1.4  # in sizes
_FILLED: Final = 0.9  # of a line, before the next word is too long


class ReportSheet:
    """A sheet that prints on landscape paper, as wide as one page.

    Args:
        longest: of each column, its longest text in characters; decides the width.
        index: place among the sheets that there are; None for the last.
        frozen: rows at the top that stay in sight.
        grid: whether lines part the cells on the screen.

    Attributes:
        rows: rows written so far.
    """

    def __init__(
        self,
        book: Workbook,
        cells: Cells,
        name: str,
        *,
        longest: Sequence[int],
        index: int | None = None,
        frozen: int = 0,
        grid: bool = False,
    ) -> None:
        self.rows = 0
        self.cells = cells
        self.sheet: Any = book.create_sheet(name, index)
        set_widths(self.sheet, longest)
        if frozen:
            self.sheet.freeze_panes = f"A{frozen + 1}"
        self.sheet.sheet_view.showGridLines = grid
        self.sheet.sheet_properties.pageSetUpPr = PageSetupProperties(fitToPage=True)
        self.sheet.page_setup.orientation = "landscape"
        self.sheet.page_setup.paperSize = _A4
        self.sheet.page_setup.fitToWidth = 1
        self.sheet.page_setup.fitToHeight = 0  # as many pages as there are rows
        self.sheet.HeaderFooter.oddFooter.left.text = "&A"
        self.sheet.HeaderFooter.oddFooter.right.text = "&P / &N"

    def row(self, cells: Sequence[object] = (), *, lines: int = 1, size: float = SIZE) -> None:
        """Write one row of what :meth:`Cells.of` and the methods below return.

        Args:
            lines: how many the longest text is wrapped into; see :func:`lines_of`.
            size: of its letters, in points.
        """
        self.rows += 1
        if lines > 1 or size > SIZE:  # else every program finds the height itself
            height = min(lines * size * _LINE_HEIGHT, _HIGHEST)
            self.sheet.row_dimensions[self.rows].height = height
        self.sheet.append(list(cells))

    def open(self, title: str | None, notices: Sequence[str]) -> None:
        """Write what stands above a section, as many rows as :func:`rows_above`."""
        if title is not None:
            self.row([self.text(title, TITLE)])
        for notice in notices:
            self.row([self.text(notice, NOTICE)])
        if self.rows:
            self.row()

    def header(
        self, labels: Sequence[CellText], types: Sequence[ValueType], *, is_filtered: bool = False
    ) -> None:
        """Write the labels of columns, which are printed again on every page.

        Args:
            types: of the columns; labels of numbers and times stand at the right, as these do.
            is_filtered: whether there are buttons over the right ends of the labels.
        """
        row = [self.cells.styled(label) for label in labels]
        at_right = _FILTERED_RIGHT if is_filtered else _HEADER_RIGHT
        for cell, type_ in zip(row, types, strict=True):
            cell.font = BOLD
            cell.fill = _HEADER_FILL
            cell.border = _HEADER_BORDER
            cell.alignment = at_right if type_ in _AT_RIGHT else _HEADER
        lines = [lines_of(label.text, WIDEST) for label in labels]
        self.row(row, lines=max(lines, default=1))
        self.sheet.print_title_rows = f"{self.rows}:{self.rows}"

    def text(self, text: str, font: Font | None = None, alignment: Alignment | None = None) -> Any:
        """Return a cell of text."""
        cell = self.cells.styled(self.cells.text(text))
        if font is not None:
            cell.font = font
        if alignment is not None:
            cell.alignment = alignment
        return cell

    def no_rows(self) -> None:
        """Say that the section's query has no rows."""
        self.row([self.text(_NO_ROWS, _QUIET)])

    def total(self, content: object) -> object:
        """Return a cell of the row of totals."""
        cell = self.cells.styled(content)
        cell.font = BOLD
        cell.border = _TOTALS_BORDER
        return cell

    def close(self) -> None:
        """Free what writing the sheet holds; nothing can be added any more."""
        self.sheet.close()


def rows_above(title: str | None, notices: Sequence[str]) -> int:
    """Return how many rows stand above what a section shows."""
    above = (title is not None) + len(notices)
    return above + 1 if above else 0


def lines_of(text: str, width: int) -> int:
    """Return into how many lines a text is wrapped in a column of that width, rather too many.

    Not every program looks itself how high a row must be.
    """
    drawn = "".join(letter * (2 if east_asian_width(letter) in "FW" else 1) for letter in text)
    wrapped = (wrap(line, int(width * _FILLED)) for line in drawn.split("\n"))
    return sum(max(len(lines), 1) for lines in wrapped)
