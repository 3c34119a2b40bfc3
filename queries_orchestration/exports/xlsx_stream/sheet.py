"""The XML of a sheet around its rows."""

from __future__ import annotations

from collections.abc import Sequence

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
