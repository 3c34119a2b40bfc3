"""Excel files: text is always text, and what Excel's numbers cannot hold exactly is text, too.

openpyxl writes each sheet to a temporary file and the workbook to the sink at the end.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from openpyxl import Workbook
from openpyxl.cell import WriteOnlyCell
from openpyxl.cell.rich_text import CellRichText
from openpyxl.styles import Font
from openpyxl.utils import get_column_letter
from openpyxl.writer.excel import ExcelWriter
from openpyxl.xml.constants import XML_NS
from openpyxl.xml.functions import Element, SubElement

from queries_orchestration.exports.file_writer import FileOptions, FileWriter, Page, Sink
from queries_orchestration.exports.text_form import TextForm
from queries_orchestration.model.columns import Column

SHEET_ROWS = 1_048_576
TEXT_UNITS = 32_767
"""Longest text of a cell, in UTF-16 units, as Excel counts."""

EXACT_DIGITS = 15
"""Significant decimal digits that Excel keeps."""

_EXACT_BELOW = 10**EXACT_DIGITS
_SMALLEST_EXPONENT = -307
_FIRST_DAY = date(1900, 3, 1)  # Excel believes in a 29 February 1900 and knows nothing before 1900
_DAY_ZERO = date(1899, 12, 30)
_DAY = timedelta(days=1)
_MICROSECOND = timedelta(microseconds=1)

_LINE_END = re.compile("\r\n?")
_UNREPRESENTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_LOOKS_ESCAPED = re.compile("_(?=x[0-9A-Fa-f]{4}_)")
_NOT_IN_TITLES = re.compile(r"[\[\]:*?/\\\x00-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_TITLE_UNITS = 31

_NARROWEST, _WIDEST = 8, 60
_WIDTH_ROWS = 200


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
        self._zone = options.zone
        self._form = TextForm(options.zone)
        self._labels = [
            self._clean(f"{column.label} ({options.time_zone})")
            if column.type == "timestamptz"
            else self._clean(column.label)
            for column in columns
        ]
        self._widths: list[int] = []
        self._book = Workbook(write_only=True)
        self._book.properties.creator = None
        self._sheet: Any = None
        self._rows_in_sheet = 0
        self._cells: dict[type, Callable[[Any], object]] = {
            str: self._text_cell,
            bool: bool,
            int: self._integer_cell,
            float: self._float_cell,
            Decimal: self._decimal_cell,
            date: self._date_cell,
            datetime: self._datetime_cell,
            time: self._time_cell,
        }

    def write_page(self, rows: Page) -> None:
        if rows and self._sheet is None:
            self._start_first_sheet(rows)
        for row in rows:
            if self._rows_in_sheet == self._sheet_rows:
                self._start_sheet()
            self._sheet.append(
                [self._cell(value) for _, value in zip(self._labels, row, strict=True)]
            )
            self._rows_in_sheet += 1
            self.rows += 1

    def finish(self) -> None:
        if self._sheet is None:
            self._start_first_sheet([])
        with ZipFile(_Unsought(self._sink), "w", ZIP_DEFLATED) as archive:
            ExcelWriter(self._book, archive).save()

    def close(self) -> None:
        """Remove the temporary files of sheets that were not written to the sink."""
        sheets: list[Any] = self._book.worksheets
        for sheet in sheets:
            writer = sheet._writer
            if writer is not None and Path(writer.out).exists():
                if not sheet.closed:
                    sheet.close()
                writer.cleanup()

    def _start_first_sheet(self, rows: Page) -> None:
        self._widths = self._widths_of(rows)
        self._start_sheet()

    def _start_sheet(self) -> None:
        number = len(self._book.worksheets) + 1
        self._sheet = self._book.create_sheet(sheet_title(self._title, number))
        self._sheet.freeze_panes = "A2"
        for index, width in enumerate(self._widths, start=1):
            self._sheet.column_dimensions[get_column_letter(index)].width = width
        header = []
        for label in self._labels:
            cell = self._styled_cell(_Text(label))
            cell.font = Font(bold=True)
            header.append(cell)
        self._sheet.append(header)
        self._rows_in_sheet = 1

    def _widths_of(self, rows: Page) -> list[int]:
        widths = [len(label) for label in self._labels]
        for row in rows[:_WIDTH_ROWS]:
            for index, value in enumerate(row):
                if value is not None:
                    longest = max(map(len, self._form(value).split("\n")))
                    widths[index] = max(widths[index], longest)
        return [min(max(width + 2, _NARROWEST), _WIDEST) for width in widths]

    def _cell(self, value: object) -> object:
        """Return what openpyxl writes for a value; None makes no cell."""
        if value is None:
            return None
        cell = self._cells.get(type(value))
        return self._text_cell(self._form(value)) if cell is None else cell(value)

    def _text_cell(self, text: str) -> _Text:
        return _Text(self._clean(text))

    def _integer_cell(self, value: int) -> object:
        if abs(value) < _EXACT_BELOW:
            return value
        return self._text_cell(self._form(value))

    def _float_cell(self, value: float) -> object:
        if value == 0 or sys.float_info.min <= abs(value) <= sys.float_info.max:
            return self._number(value)
        return self._text_cell(self._form(value))

    def _decimal_cell(self, value: Decimal) -> object:
        if value.is_finite():
            digits = value.normalize().as_tuple().digits
            if len(digits) <= EXACT_DIGITS and (
                not value or _SMALLEST_EXPONENT <= value.adjusted() < EXACT_DIGITS
            ):
                return self._number(float(value))
        return self._text_cell(self._form(value))

    def _date_cell(self, value: date) -> object:
        if value < _FIRST_DAY:
            return self._text_cell(self._form(value))
        return self._number((value - _DAY_ZERO).days, "yyyy-mm-dd")

    def _datetime_cell(self, value: datetime) -> object:
        wall = value
        if value.tzinfo is not None:
            local = self._form.local(value)
            if local.tzinfo is not self._zone:
                return self._text_cell(self._form(value))
            wall = local.replace(tzinfo=None)
        since = wall - datetime.combine(_DAY_ZERO, time())
        days = since / _DAY
        if wall.date() < _FIRST_DAY or (wall.microsecond and not _holds(days, since)):
            return self._text_cell(self._form(value))
        return self._number(days, "yyyy-mm-dd hh:mm:ss" + (".000" if wall.microsecond else ""))

    def _time_cell(self, value: time) -> object:
        if value.tzinfo is not None:
            return self._text_cell(self._form(value))
        since = timedelta(
            hours=value.hour,
            minutes=value.minute,
            seconds=value.second,
            microseconds=value.microsecond,
        )
        return self._number(since / _DAY, "hh:mm:ss" + (".000" if value.microsecond else ""))

    def _styled_cell(self, value: Any) -> Any:
        return WriteOnlyCell(self._sheet, value)

    def _number(self, value: float, number_format: str | None = None) -> object:
        # As its digits: openpyxl itself would write 16 of the 17 that a float may need.
        cell = self._styled_cell(repr(value))
        cell.data_type = "n"
        if number_format is not None:
            cell.number_format = number_format
        return cell

    def _clean(self, text: str) -> str:
        """Return the text as a cell can hold it, counting what had to be replaced or cut."""
        text = _LINE_END.sub("\n", text)
        text, replaced = _UNREPRESENTABLE.subn("\N{REPLACEMENT CHARACTER}", text)
        self.replaced_characters += replaced
        length = len(text)
        text = _LOOKS_ESCAPED.sub("_x005F_", text)
        if _units(text) > TEXT_UNITS:
            self.cut_cells += 1
            note = f"… [cut: {length} characters in all]"
            text = _first_units(text, TEXT_UNITS - _units(note)) + note
        return text


class _Text(CellRichText):
    """Text exactly as it is: never a formula, an error or a link; blanks and emptiness kept."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self._text = text

    def to_tree(self) -> Any:
        container = Element("is")
        text = SubElement(container, "t", {f"{{{XML_NS}}}space": "preserve"})
        text.text = self._text
        return container


class _Unsought:
    """The sink as zipfile wants it: without tell() it writes straight through."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink

    def write(self, data: bytes, /) -> int:
        return self._sink.write(data)

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass


def sheet_title(wanted: str, number: int = 1) -> str:
    """Return a name that Excel accepts for the ``number``-th sheet of a title, from 1."""
    title = _NOT_IN_TITLES.sub(" ", wanted).strip().strip("'").strip()
    if title.lower() in ("", "history"):  # Excel keeps "History" for itself
        title = "Result"
    suffix = "" if number == 1 else f" ({number})"
    return _first_units(title, _TITLE_UNITS - len(suffix)).rstrip(" '") + suffix


def _holds(days: float, since: timedelta) -> bool:
    """Whether Excel's count of days still tells the microsecond."""
    return round(Decimal(days) * (_DAY // _MICROSECOND)) == since // _MICROSECOND


def _units(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


def _first_units(text: str, units: int) -> str:
    return text.encode("utf-16-le")[: 2 * units].decode("utf-16-le", "ignore")
