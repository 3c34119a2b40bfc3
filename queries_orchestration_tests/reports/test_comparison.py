"""A number beside that of the previous period: the exact change, and its percentage."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest

from queries_orchestration.model.columns import Column
from queries_orchestration.reports.comparison import compare

ORDERS = Column("Orders", "integer")
SALES = Column("Sales", "decimal")
WEIGHT = Column("Weight", "float")
GOOGOLS = 10**400
"""More than a float can be."""


@pytest.mark.parametrize(
    ("column", "value", "previous", "change", "percent"),
    [
        (ORDERS, 4321, 4000, 321, 8.025),
        (ORDERS, 75, 100, -25, -25.0),
        (ORDERS, 100, 100, 0, 0.0),
        (ORDERS, 0, 8, -8, -100.0),
        (SALES, Decimal("10.10"), Decimal("10.00"), Decimal("0.10"), 1.0),
        (SALES, Decimal("0.00"), Decimal("-0.02"), Decimal("0.02"), 100.0),
        (WEIGHT, 1.5, 0.5, 1.0, 200.0),
        # of what was before, whatever its sign: -50 is more than -100
        (ORDERS, -50, -100, 50, 50.0),
        (ORDERS, -150, -100, -50, -50.0),
        (ORDERS, 100, -100, 200, 200.0),
        # six digits
        (ORDERS, 4, 3, 1, 33.333333),
        (ORDERS, 5, 3, 2, 66.666667),
    ],
)
def test_the_change_is_exact_and_a_percentage_of_what_was_before(
    column: Column, value: object, previous: object, change: object, percent: float
) -> None:
    compared = compare(column, value, previous)

    assert (compared.column, compared.value, compared.previous) == (column, value, previous)
    assert compared.change == change
    assert type(compared.change) is type(value)
    assert compared.percent == percent


@pytest.mark.parametrize(
    ("column", "value", "previous", "change"),
    [(ORDERS, 5, 0, 5), (SALES, Decimal(5), Decimal("-0.0"), Decimal(5)), (WEIGHT, 0.0, 0.0, 0.0)],
)
def test_there_is_no_percentage_of_nothing(
    column: Column, value: object, previous: object, change: object
) -> None:
    compared = compare(column, value, previous)

    assert compared.change == change
    assert compared.percent is None


@pytest.mark.parametrize(("value", "previous"), [(None, 1), (1, None), (None, None)])
def test_without_one_of_the_two_there_is_no_change(value: object, previous: object) -> None:
    compared = compare(ORDERS, value, previous)

    assert (compared.value, compared.previous) == (value, previous)
    assert (compared.change, compared.percent) == (None, None)


@pytest.mark.parametrize("kind", [float, Decimal])
@pytest.mark.parametrize(
    ("value", "previous", "change"),
    [
        ("1", "inf", "-inf"),
        ("1", "-inf", "inf"),
        ("inf", "1", "inf"),
        ("inf", "inf", "nan"),
        ("nan", "1", "nan"),
        ("1", "nan", "nan"),
    ],
)
def test_what_is_not_finite_has_a_change_and_no_percentage(
    kind: type[float | Decimal], value: str, previous: str, change: str
) -> None:
    compared = compare(SALES, kind(value), kind(previous))

    assert type(compared.change) is kind
    assert str(compared.change).lower().startswith(change[:3])
    assert compared.percent is None


def test_numbers_larger_than_a_float_keep_every_digit_and_have_a_percentage() -> None:
    whole = compare(ORDERS, GOOGOLS * 3 + 1, GOOGOLS * 2)
    exact = compare(SALES, Decimal(GOOGOLS * 3 + 1), Decimal(GOOGOLS * 2))

    assert whole.change == exact.change == GOOGOLS + 1
    assert whole.percent == exact.percent == 50.0


def test_decimals_of_many_digits_keep_them() -> None:
    large, small = Decimal(10) ** 1_000, Decimal(10) ** -1_000

    compared = compare(SALES, large, small)

    assert compared.change == Decimal("9" * 1_000 + "." + "9" * 1_000)
    # more than a float can be
    assert compared.percent is None


def test_a_change_too_large_for_a_float_is_told_as_such() -> None:
    compared = compare(WEIGHT, 1.7e308, -1.7e308)

    assert compared.change == math.inf
    assert compared.percent is None
