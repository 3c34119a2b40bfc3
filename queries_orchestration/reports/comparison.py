"""A number beside that of the previous period."""

from __future__ import annotations

import math
from decimal import Context, Decimal, localcontext
from typing import Final

from queries_orchestration.model.columns import Column
from queries_orchestration.reports.content import Comparison
from queries_orchestration.reports.frames import exact

_PERCENT_DIGITS: Final = 6
_RATIO_DIGITS: Final = 50


def compare(column: Column, value: object, previous: object) -> Comparison:
    """Return the comparison of two values of ``column``, a column of numbers; either may be None.

    There is no percentage of nothing: it is None where ``previous`` is 0 or not finite.
    """
    change: object = None
    percent: float | None = None
    if isinstance(value, int | float | Decimal) and isinstance(previous, type(value)):
        change, percent = _change(value, previous)
    return Comparison(column=column, value=value, previous=previous, change=change, percent=percent)


def _change(
    value: int | float | Decimal, previous: int | float | Decimal
) -> tuple[object, float | None]:
    with exact():
        change = value - previous  # type: ignore[operator]
    # As decimals, since a whole number or a decimal may be larger than a float can be.
    difference, before = Decimal(change), Decimal(previous)
    if not (difference.is_finite() and before.is_finite() and before):
        return change, None
    with localcontext(Context(prec=_RATIO_DIGITS, traps=[])):
        percent = float(difference / abs(before) * 100)
    return change, round(percent, _PERCENT_DIGITS) if math.isfinite(percent) else None
