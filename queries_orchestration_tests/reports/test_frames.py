"""Tables, totals and series of the rows that a section read: no digit and no row is lost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Context, Decimal, localcontext
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, strategies as st

from queries_orchestration.exports.text_form import TextForm
from queries_orchestration.model.columns import Column
from queries_orchestration.model.reports import ChartView, TableView
from queries_orchestration.reports.content import Row, Table
from queries_orchestration.reports.frames import CutChart, chart_of, table_of

FORM = TextForm(ZoneInfo("Europe/Berlin"))
DASH = "\N{EN DASH}"

X = Column("Day", "date")
BY = Column("Region", "text")
Y = Column("Sales", "decimal")
OTHER = Column("Orders", "integer")
COLUMNS = (X, BY, Y, OTHER)

LONG = Decimal(10) ** 140_000
"""A decimal as long as PostgreSQL has them, and more."""


def total(*values: object) -> object:
    """Return the total of one column of these values."""
    rows = [(value,) for value in values]
    table = table_of([Y], rows, TableView(columns=(0,), totals=(0,)), printed=1)
    assert table.totals is not None
    return table.totals[0]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 2, 3], 6),
        ([2**63 - 1, 2**63 - 1, 1], 2**64 - 1),
        ([10**30, -1], 10**30 - 1),
        ([1, None, 2], 3),
        ([0, 0], 0),
        ([Decimal("0.1")] * 3, Decimal("0.3")),
        ([Decimal("1.10"), Decimal("-1.1")], Decimal(0)),
        ([Decimal("9" * 60 + ".25"), Decimal("0.75"), None], Decimal(10) ** 60),
        ([Decimal("1E+300"), Decimal("1E-300"), Decimal("-1E+300")], Decimal("1E-300")),
        ([0.5, 0.25, None], 0.75),
        ([1.5], 1.5),
    ],
)
def test_a_total_is_exact_and_leaves_null_out(values: list[object], expected: object) -> None:
    found = total(*values)

    assert found == expected
    assert type(found) is type(expected)


def test_a_total_keeps_every_digit_that_a_database_can_hold() -> None:
    with localcontext(Context(prec=150_000)):
        assert total(LONG, Decimal("0.0001"), -LONG) == Decimal("0.0001")


@pytest.mark.parametrize("values", [[], [None], [None, None]])
def test_the_total_of_nothing_is_none(values: list[object]) -> None:
    assert total(*values) is None


@pytest.mark.parametrize("kind", [float, Decimal])
def test_the_total_of_what_is_not_finite_is_not_finite(kind: type[float | Decimal]) -> None:
    assert math.isnan(_number(total(kind("1"), kind("nan"), None)))
    assert total(kind("1"), kind("inf")) == kind("inf")
    assert total(kind("1"), kind("-inf")) == kind("-inf")
    assert math.isnan(_number(total(kind("inf"), kind("-inf"))))


def test_a_table_has_its_columns_in_its_order_and_totals_of_all_rows() -> None:
    rows = [(date(2027, 1, day), f"r{day}", Decimal(day), day) for day in range(1, 11)]

    table = table_of(COLUMNS, rows, TableView(columns=(3, 0, 2), totals=(2,)), printed=4)

    assert table == Table(
        columns=(OTHER, X, Y),
        rows=[[day, date(2027, 1, day), Decimal(day)] for day in range(1, 5)],
        totals=(None, None, Decimal(55)),
    )


def test_the_values_of_a_table_are_what_the_database_gave() -> None:
    instant = datetime(2027, 1, 4, 7, 0, 0, 123_456, UTC)
    row = (2**62 + 1, None, float("inf"), True, b"\0", Decimal("1.10"), instant, date(1, 1, 1))
    empty = (None,) * len(row)
    columns = [Column(str(number), "text") for number in range(len(row))]

    view = TableView(columns=tuple(range(len(row))), totals=())
    table = table_of(columns, [row, empty], view, printed=9)

    assert [list(map(repr, line)) for line in table.rows] == [
        list(map(repr, row)),
        list(map(repr, empty)),
    ]
    assert table.totals is None


def test_a_table_without_rows_has_columns_and_totals_of_nothing() -> None:
    view = TableView(columns=(0, 2), totals=(2,))

    assert table_of(COLUMNS, [], view, printed=5) == Table(
        columns=(X, Y), rows=[], totals=(None, None)
    )


def test_a_chart_without_by_has_a_series_for_each_y_in_order() -> None:
    rows = [("b", None, Decimal(1), 10), ("a", None, None, 20), ("b", None, Decimal(3), None)]

    cut = chart_of(COLUMNS, rows, ChartView(kind="bar", x=0, y=(3, 2), by=None), FORM)

    # rows stay as they are, two of one x too
    assert cut.chart.x == X
    assert cut.chart.x_values == ("b", "a", "b")
    assert [(one.label, one.column, one.values) for one in cut.chart.series] == [
        ("Orders", OTHER, (10, 20, None)),
        ("Sales", Y, (Decimal(1), None, Decimal(3))),
    ]
    assert (cut.x_values, cut.series) == (3, 2)


def test_a_chart_without_rows_has_no_values() -> None:
    plain = chart_of(COLUMNS, [], ChartView(kind="line", x=0, y=(2,), by=None), FORM)
    pivot = _pivot([])

    assert plain.chart.x_values == pivot.chart.x_values == ()
    assert [one.values for one in plain.chart.series] == [()]
    assert pivot.chart.series == ()
    assert (plain.x_values, pivot.x_values, pivot.series) == (0, 0, 0)


def test_by_makes_a_series_of_each_value_in_the_order_in_which_they_come() -> None:
    cut = _pivot([("b", "z", 1), ("a", "z", 2), ("b", "m", 3), ("c", "a", 4)])

    assert cut.chart.x_values == ("b", "a", "c")
    assert _series(cut) == [
        ("z", (1, 2, None)),
        ("m", (3, None, None)),
        ("a", (None, None, 4)),
    ]
    assert {one.column for one in cut.chart.series} == {Y}


def test_null_is_an_x_and_a_series_like_any_other() -> None:
    cut = _pivot([("a", None, 1), (None, "r", 2), (None, None, 3), ("a", None, 4)])

    assert cut.chart.x_values == ("a", None)
    assert _series(cut) == [(DASH, (5, 3)), ("r", (None, 2))]


@pytest.mark.parametrize("kind", [float, Decimal])
def test_every_nan_is_the_same_x_and_the_same_series(kind: type[float | Decimal]) -> None:
    cut = _pivot([(kind("nan"), kind("nan"), 1), (kind("nan"), kind("nan"), 2), (kind(1), None, 3)])

    assert [str(x).lower() for x in cut.chart.x_values] == ["nan", str(kind(1))]
    assert _series(cut) == [("NaN", (3, None)), (DASH, (None, 3))]


def test_rows_of_one_x_and_one_series_are_summed_up_exactly() -> None:
    cut = _pivot(
        [
            ("a", "r", Decimal("0.1")),
            ("a", "r", Decimal("0.2")),
            ("a", "s", 2**62 + 1),
            ("a", "s", 2**62),
            ("a", "n", None),
            ("a", "n", None),
            ("a", "m", None),
            ("a", "m", 7),
            ("a", "i", Decimal("Infinity")),
            ("a", "i", Decimal("-Infinity")),
        ]
    )

    found = dict(_series(cut))
    assert found["r"] == (Decimal("0.3"),)
    assert found["s"] == (2**63 + 1,)
    assert found["n"] == (None,)
    assert found["m"] == (7,)
    assert str(found["i"][0]) == "NaN"


def test_large_whole_numbers_stay_whole_beside_a_null() -> None:
    cut = _pivot([("a", "r", 2**62 + 1), ("a", "s", None)])

    assert _series(cut) == [("r", (2**62 + 1,)), ("s", (None,))]
    assert type(cut.chart.series[0].values[0]) is int


def test_a_series_is_named_as_a_file_tells_the_value() -> None:
    instant = datetime(2027, 1, 4, 7, 0, tzinfo=UTC)

    cut = _pivot([("a", True, 1), ("a", instant, 2), ("a", Decimal("1.50"), 3)])

    assert [label for label, _ in _series(cut)] == ["true", "2027-01-04T08:00:00+01:00", "1.50"]


@pytest.mark.parametrize(("kind", "most"), [("line", 1_000), ("bar", 60), ("stacked", 60)])
@pytest.mark.parametrize("by", [None, 1])
@pytest.mark.parametrize("more", [-1, 0, 1])
def test_a_chart_shows_as_many_values_of_x_as_can_be_read(
    kind: str, most: int, by: int | None, more: int
) -> None:
    rows = [(number, "r", number, None) for number in range(most + more)]

    view = ChartView(kind=kind, x=0, y=(2,), by=by)  # type: ignore[arg-type]
    cut = chart_of(COLUMNS, rows, view, FORM)

    shown = tuple(range(min(most, most + more)))
    assert cut.x_values == most + more
    assert cut.chart.x_values == shown
    assert [one.values for one in cut.chart.series] == [shown]


@pytest.mark.parametrize("series", [11, 12, 13])
def test_a_chart_shows_twelve_series_at_most(series: int) -> None:
    cut = _pivot([("a", f"r{number}", number) for number in range(series)])

    assert cut.series == series
    assert _series(cut) == [(f"r{number}", (number,)) for number in range(min(series, 12))]


def test_a_series_for_each_of_many_rows_is_cut_before_it_is_made() -> None:
    """All of them over all values of x would be four hundred million numbers."""
    cut = _pivot([(number, number, number) for number in range(20_000)])

    assert (cut.x_values, cut.series) == (20_000, 20_000)
    assert [len(one.values) for one in cut.chart.series] == [1_000] * 12
    assert cut.chart.series[2].values[:4] == (None, None, 2, None)


_KEYS = st.sampled_from(["b", "a", None, "c", ""])
_VALUES = st.one_of(
    st.none(), st.integers(), st.decimals(allow_nan=False, allow_infinity=False, places=9)
)


@given(st.lists(st.tuples(_KEYS, _KEYS, _VALUES), max_size=40))
def test_a_pivot_is_what_a_plain_loop_makes_of_the_rows(
    rows: list[tuple[object, object, int | Decimal | None]],
) -> None:
    x_values: list[object] = []
    by_values: list[object] = []
    sums: dict[tuple[object, object], int | Decimal] = {}
    with localcontext(Context(prec=500)):
        for x, by, value in rows:
            if x not in x_values:
                x_values.append(x)
            if by not in by_values:
                by_values.append(by)
            if value is not None:
                sums[x, by] = sums.get((x, by), 0) + value
        expected = [
            (DASH if by is None else by, tuple(sums.get((x, by)) for x in x_values))
            for by in by_values
        ]

        cut = _pivot(rows)

        assert cut.chart.x_values == tuple(x_values)
        assert _series(cut) == expected


@given(st.lists(_VALUES, max_size=40))
def test_a_total_is_the_sum_of_all_that_is_not_null(values: list[int | Decimal | None]) -> None:
    present = [value for value in values if value is not None]

    with localcontext(Context(prec=500)):
        assert total(*values) == (sum(present) if present else None)


def _pivot(rows: Sequence[Row]) -> CutChart:
    """Return the chart of rows of x, by and y."""
    view = ChartView(kind="line", x=0, y=(2,), by=1)
    return chart_of(COLUMNS, [(*row, None) for row in rows], view, FORM)


def _series(cut: CutChart) -> list[tuple[str, tuple[object, ...]]]:
    return [(one.label, one.values) for one in cut.chart.series]


def _number(value: object) -> float | Decimal:
    assert isinstance(value, float | Decimal)
    return value
