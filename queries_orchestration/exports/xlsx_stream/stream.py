"""Excel files as a stream: each page goes to the sink as it comes, nothing of it is kept."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from queries_orchestration.exports.file_writer import FileOptions, FileWriter, Page, Sink
from queries_orchestration.exports.sheet_title import sheet_title
from queries_orchestration.exports.xlsx_stream.cells import PageCells
from queries_orchestration.exports.xlsx_stream.frame import (
    XML_HEAD,
    begin_frame,
    end_frame,
    sheet_name,
)
from queries_orchestration.exports.xlsx_stream.rows import Rows, header_row
from queries_orchestration.exports.xlsx_stream.sheet import (
    SHEET_END,
    sheet_start,
    widths,
)
from queries_orchestration.exports.xlsx_stream.zip_stream import MOST_BYTES, ZipStream
from queries_orchestration.model.columns import Column

SHEET_ROWS = 1_048_576

_ROWS_AT_ONCE = 1_000  # looked at together
_ROWS_IN_CACHE = 100  # their XML is made, encoded and deflated where the processor keeps it


class XlsxStream(FileWriter):
    """Writes pages of texts, as docs/formats.md has them for CSV, as the cells that they mean.

    A text that is not of its column's form becomes a text cell. Instants come as wall times of
    the file's zone with their offset.

    Args:
        sheet_rows: rows of one sheet, its header included; further rows go to further sheets.
        sheet_bytes: size of one sheet's XML, from which on rows go to a further sheet.
        file_bytes: size that the file must not exceed.
    """

    def __init__(
        self,
        sink: Sink,
        columns: Sequence[Column],
        options: FileOptions,
        *,
        sheet_rows: int = SHEET_ROWS,
        sheet_bytes: int = MOST_BYTES,
        file_bytes: int = MOST_BYTES,
    ) -> None:
        super().__init__()
        self._archive = ZipStream(sink, most_bytes=file_bytes)
        self._cells = PageCells(columns, options.zone)
        self._header = header_row(self._cells.header())
        self._forms = self._cells.forms
        self._rows = Rows(self._forms)
        self._title = options.sheet_title
        self._sheet_rows = sheet_rows
        self._most_before_end = sheet_bytes - len(SHEET_END)
        self._titles: list[str] = []
        self._widths: list[int] = []
        self._rows_in_sheet = 0

    def write_page(self, page: Page) -> None:
        """Write the rows of a page, of at least one row.

        Raises:
            FormatLimit: the file would be larger than Excel opens.
        """
        if not self._titles:
            self._start_first_sheet(page)
        (rows,) = set(map(len, page))
        written = 0
        while written < rows:
            if self._rows_in_sheet == self._sheet_rows:
                self._start_sheet()
            end = written + min(_ROWS_AT_ONCE, self._sheet_rows - self._rows_in_sheet)
            self._write_rows([texts[written:end] for texts in page])
            written = end

    def finish(self) -> None:
        if not self._titles:
            self._start_first_sheet([[] for _ in self._cells.labels])
        self._end_sheet()
        end_frame(self._archive, self._titles)
        self._archive.finish()
        self.replaced_characters = self._cells.texts.replaced_characters
        self.cut_cells = self._cells.texts.cut_cells

    def close(self) -> None:
        pass  # every page has gone to the sink

    def _write_rows(self, page: Page) -> None:
        contents = self._cells.contents(page)
        rows = len(page[0])
        if self._cells.forms != self._forms:
            self._forms = self._cells.forms
            self._rows = Rows(self._forms)
        made = self._rows(self._rows_in_sheet + 1, contents)
        written = 0
        while written < rows:
            data = "".join(islice(made, _ROWS_IN_CACHE)).encode()
            too_large = self._archive.member_bytes + len(data) > self._most_before_end
            if too_large and self._rows_in_sheet > 1:
                self._start_sheet()
                made = self._rows(2, [column[written:] for column in contents])
                continue
            self._archive.write(data)
            count = min(_ROWS_IN_CACHE, rows - written)
            written += count
            self._rows_in_sheet += count
        self.rows += rows

    def _start_first_sheet(self, page: Page) -> None:
        self._widths = widths(self._cells.labels, page)
        begin_frame(self._archive)
        self._start_sheet()

    def _start_sheet(self) -> None:
        if self._titles:
            self._end_sheet()
        self._titles.append(sheet_title(self._title, len(self._titles) + 1))
        self._archive.open(sheet_name(len(self._titles)))
        start = sheet_start(self._widths, is_first=len(self._titles) == 1)
        self._archive.write((XML_HEAD + start + self._header).encode())
        self._rows_in_sheet = 1

    def _end_sheet(self) -> None:
        self._archive.write(SHEET_END.encode())
        self._archive.close_member()
