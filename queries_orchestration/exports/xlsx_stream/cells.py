"""The cells of a page, made column by column."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from zoneinfo import ZoneInfo

from queries_orchestration.exports.xlsx_stream import styles
from queries_orchestration.exports.xlsx_stream.cell_text import CellTexts
from queries_orchestration.exports.xlsx_stream.typed_cells import (
    InstantCell,
    boolean_cell,
    date_cell,
    decimal_cell,
    float_cell,
    integer_cell,
    time_cell,
    timestamp_cell,
)
from queries_orchestration.model.columns import Column, ValueType

TypedCell = Callable[[str], str | None]
Texts = Sequence[str | None]
"""What one column holds; None is NULL."""

Cells = Sequence[str | None]
"""Cells from the end of their address on; None where there is none."""

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
        typed_cells: dict[ValueType, TypedCell] = {
            "integer": integer_cell,
            "decimal": decimal_cell,
            "float": float_cell,
            "boolean": boolean_cell,
            "date": lru_cache(_DATES_KEPT)(date_cell),
            "timestamp": timestamp_cell,
            "timestamptz": InstantCell(zone),
            "time": time_cell,
        }
        self._typed_cells = [typed_cells.get(column.type) for column in columns]

    def header(self) -> list[str]:
        """Return the cells of the header; call it once."""
        return self.texts(self.labels, styles.BOLD)

    def columns(self, texts: Sequence[Texts]) -> list[Cells]:
        """Return the cells of some rows' texts, both column by column."""
        return [
            self._column(typed_cell, column)
            for typed_cell, column in zip(self._typed_cells, texts, strict=True)
        ]

    def _column(self, typed_cell: TypedCell | None, column: Texts) -> Cells:
        if typed_cell is None:
            cells: list[str | None] = [None] * len(column)
        else:
            cells = [None if text is None else typed_cell(text) for text in column]
            if None not in cells:
                return cells
        text_cells = iter(
            self.texts(
                [
                    text
                    for text, cell in zip(column, cells, strict=True)
                    if cell is None and text is not None
                ]
            )
        )
        return [
            next(text_cells) if cell is None and text is not None else cell
            for text, cell in zip(column, cells, strict=True)
        ]
