"""How the numbers of a workbook's columns look: so many digits after the point, the same in each.

Only what is shown is rounded; the value of a cell stays exact, as far as Excel's numbers go: an
average of more than fifteen digits loses those behind. An export of the query has them all.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any, Final

from openpyxl.styles import Alignment

from queries_orchestration.model.columns import Column
from queries_orchestration.model.fields import NUMBERS
from queries_orchestration.reports.workbook.cells import (
    EXACT_DIGITS,
    Cells,
    CellText,
    is_exact,
)

_DECIMALS: Final = 2
_WRITTEN_OUT_BELOW: Final = 10**15
_RIGHT: Final = Alignment(horizontal="right")


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberLook:
    """Thousands are set apart, and so many digits shown after the point.

    Args:
        decimals: None for a column that is not of numbers; its values look as their types do.
        keeps_small: whether Excel chooses the digits of what would else be shown as zero.
    """

    decimals: int | None
    keeps_small: bool = False

    @property
    def is_of_numbers(self) -> bool:
        return self.decimals is not None

    def format_of(self, value: object) -> str | None:
        """Return Excel's number format for a value; None where Excel is to choose."""
        if self.decimals is None or not isinstance(value, int | float | Decimal):
            return None
        size: Any = abs(value)
        if not is_exact(value) or size >= _WRITTEN_OUT_BELOW:
            return None
        if self.keeps_small and 0 < size * 2 * 10**self.decimals < 1:
            return None
        return f"#,##0.{'0' * self.decimals}".removesuffix(".")

    def length(self, cells: Cells, value: object) -> int:
        """Return how many characters wide a value is shown."""
        value = as_number(value)
        if self.format_of(value) is None:
            return cells.longest_line(value)
        return len(f"{value:,.{self.decimals}f}")

    def cell(self, cells: Cells, value: object) -> object:
        """Return a cell of a value; numbers that Excel cannot hold stand at the right as well."""
        value = as_number(value)
        content = cells.of(value, self.format_of(value))
        if self.is_of_numbers and isinstance(content, CellText):
            content = cells.styled(content)
            content.alignment = _RIGHT
        return content


OF_NO_NUMBERS: Final = NumberLook(decimals=None)


def number_look(column: Column, values: Iterable[object], most: int | None) -> NumberLook:
    """Return the look of a column's numbers: as many decimals as its values have.

    Args:
        values: all that are shown in the column.
        most: digits after the point at most; None: two.
    """
    if column.type not in NUMBERS:
        return OF_NO_NUMBERS
    bound = _DECIMALS if most is None else most
    decimals = max((_decimals(value, bound) for value in values), default=0)
    return NumberLook(decimals=decimals, keeps_small=most is None)


def as_number(value: object) -> object:
    """Return a decimal in the digits that Excel keeps, if only digits after the point are lost."""
    if not isinstance(value, Decimal) or not value.is_finite() or value.adjusted() >= EXACT_DIGITS:
        return value
    rounded = Context(prec=EXACT_DIGITS).plus(value)
    return rounded if is_exact(rounded) else value


def _decimals(value: object, most: int) -> int:
    """Return how many decimals a value needs; a decimal's end zeros count, a float has none."""
    if isinstance(value, float) and math.isfinite(value):
        value = Decimal(repr(round(value, most))).normalize()
    exponent = value.as_tuple().exponent if isinstance(value, Decimal) else 0
    return min(max(-exponent, 0), most) if isinstance(exponent, int) else 0
