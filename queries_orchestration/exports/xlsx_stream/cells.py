"""The cells of a page, made column by column."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from zoneinfo import ZoneInfo

from queries_orchestration.exports.xlsx_stream import moment_cells, number_cells, styles
from queries_orchestration.exports.xlsx_stream.cell_text import CellTexts
from queries_orchestration.model.columns import Column, ValueType

Cells = Sequence[str | None]
"""Cells from the end of their address on; None where there is none."""

Texts = Sequence[str | None]
"""What one column holds; None is NULL."""

_DATES_KEPT = 4_096


class PageCells:
    """Makes the cells of one workbook, whose instants come as wall times of ``zone``.

    Attributes:
        texts: makes its text cells, and counts what they could not hold.
        labels: the header's texts.
    """

    def __init__(self, columns: Sequence[Column], zone: ZoneInfo) -> None:
        self.texts = CellTexts()
        self.labels = [
            f"{column.label} ({zone.key})" if column.type == "timestamptz" else column.label
            for column in columns
        ]
        typed_cells = _typed_cells(zone)
        self._typed_cells = [typed_cells.get(column.type) for column in columns]

    def header(self) -> list[str]:
        """Return the cells of the header; call it once."""
        return self.texts(self.labels, styles.BOLD)

    def columns(self, texts: Sequence[Texts]) -> list[Cells]:
        """Return the cells of some rows' texts, both column by column."""
        return [
            self._column(typed_cells, column)
            for typed_cells, column in zip(self._typed_cells, texts, strict=True)
        ]

    def _column(self, typed_cells: TypedCells | None, column: Texts) -> Cells:
        texts = [text for text in column if text is not None]
        if typed_cells is None:
            cells: Cells = self.texts(texts)
        else:
            cells = typed_cells(texts)
            if None in cells:
                cells = self._with_texts(cells, texts)
        if len(texts) == len(column):
            return cells
        following = iter(cells)
        return [None if text is None else next(following) for text in column]

    def _with_texts(self, cells: Cells, texts: Sequence[str]) -> Cells:
        """Make text cells where a text has no cell of its column's type."""
        left = [text for text, cell in zip(texts, cells, strict=True) if cell is None]
        following = iter(self.texts(left))
        return [next(following) if cell is None else cell for cell in cells]


class TypedCells:
    """Makes the cells of texts of one type, None where a text has none.

    Args:
        cell: makes the cell of any text.
        plain: a form that texts usually have; where all of them do, ``plain_cells`` makes their
            cells, and need not look at their form again.
    """

    def __init__(
        self,
        cell: Callable[[str], str | None],
        plain: str | None = None,
        plain_cells: Callable[[Sequence[str]], Cells] | None = None,
    ) -> None:
        self._cell = cell
        self._plain_cells = plain_cells
        self._all_plain = re.compile(f"(?>{plain}\n)*+", re.MULTILINE).fullmatch

    def __call__(self, texts: Sequence[str]) -> Cells:
        if self._plain_cells is not None:
            lines = "\n".join(texts) + "\n"
            if self._all_plain(lines) and lines.count("\n") == len(texts):
                return self._plain_cells(texts)
        return [self._cell(text) for text in texts]


def _typed_cells(zone: ZoneInfo) -> dict[ValueType, TypedCells]:
    """Return what makes the cells of each type but those that are always text."""
    numbers, moments = number_cells, moment_cells
    plain_numbers = numbers.plain_number_cells
    return {
        "integer": TypedCells(numbers.integer_cell, numbers.PLAIN_INTEGER, plain_numbers),
        "decimal": TypedCells(numbers.decimal_cell, numbers.PLAIN_DECIMAL, plain_numbers),
        "float": TypedCells(numbers.float_cell, numbers.PLAIN_FLOAT, plain_numbers),
        "boolean": TypedCells(numbers.boolean_cell),
        "date": TypedCells(lru_cache(_DATES_KEPT)(moments.date_cell)),
        "timestamp": TypedCells(
            moments.timestamp_cell, moments.TIMESTAMP_FORM, moments.timestamp_cells
        ),
        "timestamptz": TypedCells(
            moments.InstantCell(zone), moments.INSTANT_FORM, moments.instant_cells
        ),
        "time": TypedCells(moments.time_cell),
    }
