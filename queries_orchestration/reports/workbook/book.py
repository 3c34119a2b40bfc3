"""A workbook around its sheets: made, handed to a sink, given up.

openpyxl writes each sheet to a temporary file and the workbook to the sink at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast
from zipfile import ZIP_DEFLATED, ZipFile

from openpyxl import Workbook
from openpyxl.styles import Color, Font
from openpyxl.utils import get_column_letter
from openpyxl.utils.indexed_list import IndexedList
from openpyxl.writer.excel import ExcelWriter

from queries_orchestration.exports.file_writer import Sink

WIDTH_ROWS = 200
"""So many rows at the beginning decide the widths of columns."""

WIDEST = 60
"""Widest column, in characters."""

_NARROWEST = 8
# As the schema has them; openpyxl's own order is another one.
_PARTS_OF_FONT = ("b", "i", "u", "sz", "color", "name", "family", "scheme")


def book_font(
    *,
    size: float = 11,
    bold: bool = False,
    italic: bool = False,
    underlined: bool = False,
    color: str | None = None,
) -> Font:
    """Return the font of all our cells, as it is wanted.

    Args:
        size: in points.
        color: red, green and blue in hexadecimal; None for that of all text.
    """
    font: Any = Font(
        name="Calibri",
        family=2,
        scheme="minor",
        sz=size,
        b=bold,
        i=italic,
        u="single" if underlined else None,
        color=Color(theme=1) if color is None else f"FF{color}",
    )
    font.__elements__ = _PARTS_OF_FONT
    return cast(Font, font)


def new_book() -> Workbook:
    """Return a workbook that keeps no rows in memory."""
    book: Any = Workbook(write_only=True)
    book.properties.creator = None
    book._fonts = IndexedList()
    book._named_styles["Normal"].font = book_font()
    return cast(Workbook, book)


def set_widths(sheet: Any, longest: Sequence[int]) -> None:
    """Make columns as wide as their longest text, in characters, within bounds.

    Call it before the sheet's first row.
    """
    for index, length in enumerate(longest, start=1):
        width = min(max(length + 2, _NARROWEST), WIDEST)
        sheet.column_dimensions[get_column_letter(index)].width = width


def save_book(book: Workbook, sink: Sink) -> None:
    """Hand the whole workbook to the sink; call it once."""
    with ZipFile(_Unsought(sink), "w", ZIP_DEFLATED) as archive:
        ExcelWriter(book, archive).save()


def discard_book(book: Workbook) -> None:
    """Remove the temporary files of sheets that were not written to the sink."""
    sheets: list[Any] = book.worksheets
    for sheet in sheets:
        writer = sheet._writer
        if writer is not None and Path(writer.out).exists():
            if not sheet.closed:
                sheet.close()
            writer.cleanup()


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
