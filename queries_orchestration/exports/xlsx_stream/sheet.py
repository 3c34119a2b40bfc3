"""The XML of a sheet around its rows."""

from __future__ import annotations

from collections.abc import Sequence

WIDTH_ROWS = 200
"""So many rows at the beginning decide the widths of columns."""

_NARROWEST, _WIDEST = 8, 60  # characters
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"

SHEET_END = "</sheetData></worksheet>"


def widths(headers: Sequence[str], page: Sequence[Sequence[str | None]]) -> list[int]:
    """Return the columns' widths in characters, that of their longest line within bounds."""
    longest = [
        max(_longest_line([header]), _longest_line(texts[:WIDTH_ROWS]))
        for header, texts in zip(headers, page, strict=True)
    ]
    return [min(max(length + 2, _NARROWEST), _WIDEST) for length in longest]


def _longest_line(texts: Sequence[str | None]) -> int:
    return max((len(line) for text in texts if text for line in text.split("\n")), default=0)


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
