"""Totals of what SQLite stores, each value read strictly as its field's type.

:mod:`queries_orchestration.exports.sqlite_functions` registers them.
"""

from __future__ import annotations

from decimal import Context, Decimal
from typing import Any

from queries_orchestration.model.columns import ValueType
from queries_orchestration.model.values import EXACT, value


def whole_of_halves(high: int | None, low: int | None) -> int | str | None:
    """Return the sum of integers, from the sums of their parts above and below 32 bits.

    As text where SQLite has no integer so large.
    """
    if high is None or low is None:
        return None
    whole = (high << 32) + low
    return whole if -(2**63) <= whole < 2**63 else str(whole)


class ExactSum:
    """SQLite's ``sum`` would add decimals as binary fractions; this one keeps every digit."""

    def __init__(self) -> None:
        self.total = Decimal(0)
        self.count = 0

    def step(self, raw: object, type_: ValueType) -> None:
        """Add one stored value of a number; NULL is left out.

        Raises:
            UnfitValue: the stored value is not one of the type.
        """
        number = value(raw, type_)
        if isinstance(number, Decimal | int):
            self.total = EXACT.add(self.total, Decimal(number))
            self.count += 1

    def finalize(self) -> str | None:
        """Return the sum as text, or NULL when there was nothing to add."""
        return f"{self.total:f}" if self.count else None


class ExactAverage(ExactSum):
    """The average of exact numbers, rounded to 28 digits once, at the end."""

    def finalize(self) -> str | None:
        """Return the average as text, or NULL when there was nothing to add."""
        return f"{Context().divide(self.total, Decimal(self.count)):f}" if self.count else None


class Greatest:
    """The greatest value; SQLite's ``max`` would compare the stored forms. Gives it as stored."""

    def __init__(self) -> None:
        self.stored: Any = None
        self.value: Any = None

    def step(self, raw: object, type_: ValueType) -> None:
        """Compare one more stored value; NULL is left out.

        Raises:
            UnfitValue: the stored value is not one of the type.
        """
        exact = value(raw, type_)
        if exact is not None and (self.value is None or self._is_beyond(exact)):
            self.stored, self.value = raw, exact

    def finalize(self) -> Any:
        """Return the value, or NULL when there was none."""
        return self.stored

    def _is_beyond(self, exact: Any) -> bool:
        return bool(exact > self.value)


class Least(Greatest):
    """The least value, as stored."""

    def _is_beyond(self, exact: Any) -> bool:
        return bool(exact < self.value)
