"""The XML of a sheet around and of its rows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from queries_orchestration.exports.xlsx_stream.cells import Cells

WIDTH_ROWS = 200
"""So many rows at the beginning decide the widths of columns."""

_NARROWEST, _WIDEST = 8, 60  # characters
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"

SHEET_END = "</sheetData></worksheet>"


def widths(headers: Sequence[str], rows: Sequence[Sequence[str | None]]) -> list[int]:
    """Return the columns' widths in characters, that of their longest line within bounds."""
    longest = [len(header) for header in headers]
    for row in rows:
        longest = [
            most if text is None or len(text) <= most else max(most, *map(len, text.split("\n")))
            for most, text in zip(longest, row, strict=True)
        ]
    return [min(max(length + 2, _NARROWEST), _WIDEST) for length in longest]


def sheet_start(widths: Sequence[int], *, is_first: bool) -> str:
    """Return a sheet up to its first row, which stays in view."""
    columns = "".join(
        f'<col min="{number}" max="{number}" width="{width}" customWidth="1"/>'
        for number, width in enumerate(widths, start=1)
    )
    selected = ' tabSelected="1"' if is_first else ""
    return (
        f'<worksheet xmlns="{_MAIN}"><sheetViews><sheetView{selected} workbookViewId="0">'
        '<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/>'
        '<selection pane="bottomLeft"/></sheetView></sheetViews>'
        f"<cols>{columns}</cols><sheetData>"
    )


def sheet_rows(first: int, columns: Sequence[Cells]) -> str:
    """Return rows from the number ``first`` on, given their cells column by column."""
    numbers = [str(first + index) for index in range(len(columns[0]))]
    parts = [[f'<row r="{number}">' for number in numbers]]
    for number, cells in enumerate(columns, start=1):
        address = f'<c r="{_letters(number)}'
        parts.append(
            [
                "" if cell is None else f"{address}{row}{cell}"
                for row, cell in zip(numbers, cells, strict=True)
            ]
        )
    parts.append(["</row>"] * len(numbers))
    return "".join(chain.from_iterable(zip(*parts, strict=True)))


def _letters(column: int) -> str:
    """Return what Excel calls a column, counted from 1: A … Z, AA …"""
    letters = ""
    while column:
        column, letter = divmod(column - 1, 26)
        letters = chr(ord("A") + letter) + letters
    return letters
