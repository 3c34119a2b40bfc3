"""How a value becomes a cell of a workbook.

Text is always text, and what Excel's numbers cannot hold exactly is text, too.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from openpyxl import Workbook
from openpyxl.cell import Cell, WriteOnlyCell
from openpyxl.cell.rich_text import CellRichText
from openpyxl.worksheet._write_only import WriteOnlyWorksheet
from openpyxl.xml.constants import XML_NS
from openpyxl.xml.functions import Element, SubElement

from queries_orchestration.exports.text_form import TextForm
from queries_orchestration.exports.text_units import first_units, units
from queries_orchestration.model.columns import Column

TEXT_UNITS = 32_767
"""Longest text of a cell, in UTF-16 units, as Excel counts."""

EXACT_DIGITS = 15
"""Significant decimal digits that Excel keeps."""

_EXACT_BELOW: int = 10**EXACT_DIGITS
_SMALLEST_EXPONENT = -307
_FIRST_DAY = date(1900, 3, 1)  # Excel believes in a 29 February 1900 and knows nothing before 1900
_DAY_ZERO = date(1899, 12, 30)
_DAY = timedelta(days=1)
_MICROSECOND = timedelta(microseconds=1)

_LINE_END = re.compile("\r\n?")
_UNREPRESENTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_LOOKS_ESCAPED = re.compile("_(?=x[0-9A-Fa-f]{4}_)")


class CellText(CellRichText):
    """Text exactly as it is: never a formula, an error or a link; blanks and emptiness kept."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text

    def to_tree(self) -> Any:
        container = Element("is")
        text = SubElement(container, "t", {f"{{{XML_NS}}}space": "preserve"})
        text.text = self.text
        return container


class Cells:
    """Makes the cells of one workbook; instants are shown in ``zone``.

    Attributes:
        replaced_characters: characters that a cell cannot hold, written as U+FFFD.
        cut_cells: cells whose text was longer than a cell holds, cut with a visible note.
    """

    def __init__(self, book: Workbook, zone: ZoneInfo) -> None:
        self.replaced_characters = 0
        self.cut_cells = 0
        self._zone = zone
        self._form = TextForm(zone)
        # Cells find their workbook's styles through a sheet; any will do, also one never written.
        self._sheet: Any = WriteOnlyWorksheet(book, None)
        self._cells: dict[type, Callable[[Any, str | None], object]] = {
            str: lambda value, _: self.text(value),
            bool: lambda value, _: value,
            int: self._integer_cell,
            float: self._fraction_cell,
            Decimal: self._fraction_cell,
            date: lambda value, _: self._date_cell(value),
            datetime: lambda value, _: self._datetime_cell(value),
            time: lambda value, _: self._time_cell(value),
        }

    def of(self, value: object, number_format: str | None = None) -> object:
        """Return what openpyxl writes for a value; None, which is NULL, makes no cell.

        Args:
            number_format: how Excel shows an integer, decimal or float that is a number.

        Raises:
            TypeError: the value is none of our value types.
        """
        if value is None:
            return None
        cell = self._cells.get(type(value))
        return self.text(self._form(value)) if cell is None else cell(value, number_format)

    def text(self, text: str) -> CellText:
        """Return a text as a cell can hold it, counting what had to be replaced or cut."""
        text, replaced = representable(text)
        self.replaced_characters += replaced
        length = len(text)
        text = _LOOKS_ESCAPED.sub("_x005F_", text)
        if units(text) > TEXT_UNITS:
            self.cut_cells += 1
            note = f"… [cut: {length} characters in all]"
            text = first_units(text, TEXT_UNITS - units(note)) + note
        return CellText(text)

    def header(self, column: Column) -> CellText:
        """Return a column's label, with the zone in which its instants are shown."""
        if column.type == "timestamptz":
            return self.text(f"{column.label} ({self._zone.key})")
        return self.text(column.label)

    def styled(self, content: Any) -> Any:
        """Return a cell that can be given a style, of what :meth:`of` or :meth:`text` returned."""
        return content if isinstance(content, Cell) else WriteOnlyCell(self._sheet, content)

    def longest_line(self, value: object) -> int:
        """Return how many characters wide the value's text is; NULL has none."""
        return 0 if value is None else max(map(len, self._form(value).split("\n")))

    def _integer_cell(self, value: int, number_format: str | None) -> object:
        if not is_exact(value):
            return self.text(self._form(value))
        return value if number_format is None else self._number(value, number_format)

    def _fraction_cell(self, value: float | Decimal, number_format: str | None) -> object:
        if not is_exact(value):
            return self.text(self._form(value))
        return self._number(float(value), number_format)

    def _date_cell(self, value: date) -> object:
        if value < _FIRST_DAY:
            return self.text(self._form(value))
        return self._number((value - _DAY_ZERO).days, "yyyy-mm-dd")

    def _datetime_cell(self, value: datetime) -> object:
        wall = value
        if value.tzinfo is not None:
            local = self._form.local(value)
            if local.tzinfo is not self._zone:
                return self.text(self._form(value))
            wall = local.replace(tzinfo=None)
        since = wall - datetime.combine(_DAY_ZERO, time())
        days = since / _DAY
        if wall.date() < _FIRST_DAY or (wall.microsecond and not _holds(days, since)):
            return self.text(self._form(value))
        return self._number(days, "yyyy-mm-dd hh:mm:ss" + (".000" if wall.microsecond else ""))

    def _time_cell(self, value: time) -> object:
        if value.tzinfo is not None:
            return self.text(self._form(value))
        since = timedelta(
            hours=value.hour,
            minutes=value.minute,
            seconds=value.second,
            microseconds=value.microsecond,
        )
        return self._number(since / _DAY, "hh:mm:ss" + (".000" if value.microsecond else ""))

    def _number(self, value: float, number_format: str | None) -> object:
        # As its digits: openpyxl itself would write 16 of the 17 that a float may need.
        cell = self.styled(repr(value))
        cell.data_type = "n"
        if number_format is not None:
            cell.number_format = number_format
        return cell


def is_exact(value: int | float | Decimal) -> bool:
    """Whether Excel's numbers hold the value with all its digits."""
    if isinstance(value, int):
        return abs(value) < _EXACT_BELOW
    if isinstance(value, float):
        return value == 0 or sys.float_info.min <= abs(value) <= sys.float_info.max
    if not value.is_finite():
        return False
    if not value:
        return True
    # Not by normalize(), which itself rounds what has too many digits.
    if len("".join(map(str, value.as_tuple().digits)).strip("0")) > EXACT_DIGITS:
        return False
    return bool(_SMALLEST_EXPONENT <= value.adjusted() < EXACT_DIGITS)


def representable(text: str) -> tuple[str, int]:
    """Return the text as a workbook can hold it, and how many characters were replaced."""
    return _UNREPRESENTABLE.subn("\N{REPLACEMENT CHARACTER}", _LINE_END.sub("\n", text))


def _holds(days: float, since: timedelta) -> bool:
    """Whether Excel's count of days still tells the microsecond."""
    return round(Decimal(days) * (_DAY // _MICROSECOND)) == since // _MICROSECOND
