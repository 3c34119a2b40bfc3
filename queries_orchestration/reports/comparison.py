"""A number beside that of the previous period."""

from __future__ import annotations

import math
from decimal import Decimal

from queries_orchestration.model.columns import Column
from queries_orchestration.reports.content import Comparison
from queries_orchestration.reports.frames import exact

_PERCENT_DIGITS = 6


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
    if not (math.isfinite(change) and math.isfinite(previous)) or not previous:
        return change, None
    # Of decimals, since a whole number may be larger than a float can be.
    with exact() as context:
        context.prec = 50
        percent = float(Decimal(change) / abs(Decimal(previous)) * 100)
    return change, round(percent, _PERCENT_DIGITS) if math.isfinite(percent) else None
