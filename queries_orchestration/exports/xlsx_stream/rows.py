"""The XML of rows: a function that is made for the forms of a workbook's cells."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count

from queries_orchestration.exports.xlsx_stream.cell_form import CellForm

Contents = Sequence[str | None]
"""What stands in one column's cells; None where there is none."""


class Rows:
    """Makes rows of cells whose contents come column by column.

    Args:
        forms: the form of each column's cells.
    """

    def __init__(self, forms: Sequence[CellForm]) -> None:
        self._row = _row(forms)

    def __call__(self, first: int, columns: Sequence[Contents]) -> Iterator[str]:
        """Yield rows from the number ``first`` on."""
        return map(self._row, map(str, count(first)), *columns)


def header_row(cells: Sequence[str]) -> str:
    """Return the first row, of cells without their addresses."""
    addressed = [f'<c r="{_letters(number)}1"{cell}' for number, cell in enumerate(cells, start=1)]
    return f'<row r="1">{"".join(addressed)}</row>'


def _letters(column: int) -> str:
    """Return what Excel calls a column, counted from 1: A … Z, AA …"""
    letters = ""
    while column:
        column, letter = divmod(column - 1, 26)
        letters = chr(ord("A") + letter) + letters
    return letters


def _row(forms: Sequence[CellForm]) -> Callable[..., str]:
    """Return a function from a row's number and its contents to its XML.

    Its source has nothing of the data: only our forms, and numbers and letters of columns.
    """
    contents = [f"c{number}" for number in range(1, len(forms) + 1)]
    cells = [
        _cell(_letters(number), form, content)
        for number, (form, content) in enumerate(zip(forms, contents, strict=True), start=1)
    ]
    parts = ["""f'<row r="{n}">'""", *cells, "'</row>'"]
    source = f"lambda n, {', '.join(contents)}: ''.join([{', '.join(parts)}])"
    row: Callable[..., str] = eval(source, {})  # noqa: S307 - see above
    return row


def _cell(letters: str, form: CellForm, content: str) -> str:
    """Return the source of a cell's XML."""
    xml = f'<c r="{letters}{{n}}"' + form.around(f"{{{content}}}")
    return f"'' if {content} is None else f'{xml}'"
