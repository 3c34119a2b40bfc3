"""Excel files of one result, over as many sheets as its rows need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from queries_orchestration.exports.file_writer import FileOptions, FileWriter, Page, Sink

# Offered here as well, beside the file whose sheets it names.
from queries_orchestration.exports.sheet_title import sheet_title as sheet_title
from queries_orchestration.exports.xlsx_book import (
    WIDTH_ROWS,
    book_font,
    discard_book,
    new_book,
    save_book,
    set_widths,
)
from queries_orchestration.exports.xlsx_cells import Cells
from queries_orchestration.model.columns import Column

SHEET_ROWS = 1_048_576


class XlsxFile(FileWriter):
    """Collects pages in a workbook and writes it to the sink at :meth:`finish`.

    Args:
        sheet_rows: rows of one sheet, its header included; further rows go to further sheets.
    """

    def __init__(
        self,
        sink: Sink,
        columns: Sequence[Column],
        options: FileOptions,
        *,
        sheet_rows: int = SHEET_ROWS,
    ) -> None:
        super().__init__()
        self._sink = sink
        self._sheet_rows = sheet_rows
        self._title = options.sheet_title
        self._book = new_book()
        self._cells = Cells(self._book, options.zone)
        self._header = [self._cells.header(column) for column in columns]
        self._widths: list[int] = []
        self._sheet: Any = None
        self._rows_in_sheet = 0

    def write_page(self, rows: Page) -> None:
        if rows and self._sheet is None:
            self._start_first_sheet(rows)
        for row in rows:
            if self._rows_in_sheet == self._sheet_rows:
                self._start_sheet()
            self._sheet.append(
                [self._cells.of(value) for _, value in zip(self._header, row, strict=True)]
            )
            self._rows_in_sheet += 1
            self.rows += 1

    def finish(self) -> None:
        if self._sheet is None:
            self._start_first_sheet([])
        self.replaced_characters = self._cells.replaced_characters
        self.cut_cells = self._cells.cut_cells
        save_book(self._book, self._sink)

    def close(self) -> None:
        discard_book(self._book)

    def _start_first_sheet(self, rows: Page) -> None:
        self._widths = [len(label.text) for label in self._header]
        for row in rows[:WIDTH_ROWS]:
            self._widths = [
                max(width, self._cells.longest_line(value))
                for width, value in zip(self._widths, row, strict=True)
            ]
        self._start_sheet()

    def _start_sheet(self) -> None:
        number = len(self._book.worksheets) + 1
        self._sheet = self._book.create_sheet(sheet_title(self._title, number))
        self._sheet.freeze_panes = "A2"
        set_widths(self._sheet, self._widths)
        header = [self._cells.styled(label) for label in self._header]
        for cell in header:
            cell.font = book_font(bold=True)
        self._sheet.append(header)
        self._rows_in_sheet = 1
