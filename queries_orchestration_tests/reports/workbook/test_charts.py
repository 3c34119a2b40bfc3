"""Native charts over the cells of their sheet."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from openpyxl.worksheet.worksheet import Worksheet

from queries_orchestration.model.columns import Column, ValueType
from queries_orchestration.model.reports import ChartKind
from queries_orchestration.reports.content import Chart, Series
from queries_orchestration_tests.reports.workbook.samples import (
    COUNT,
    a_chart,
    charts_of,
    sheet_of,
    values_of,
)

HEADER = 26
DAY = Column("Day", "date")


def chart_of(sheet: Worksheet) -> Any:
    (chart,) = charts_of(sheet)
    return chart


def text_of(title: Any) -> str:
    return "".join(run.t for paragraph in title.tx.rich.p for run in paragraph.r)


def drawn(sheet: Worksheet, reference: str) -> list[object]:
    """What stands in the cells that a chart refers to."""
    cells = sheet[reference.partition("!")[2].replace("$", "")]
    return [row[0].value for row in cells] if isinstance(cells, tuple) else [cells.value]


@pytest.mark.parametrize(
    ("kind", "type_name", "grouping", "overlap"),
    [
        ("line", "LineChart", "standard", None),
        ("bar", "BarChart", "clustered", None),
        ("stacked", "BarChart", "stacked", 100),
    ],
)
def test_a_chart_is_native_and_draws_the_cells_under_it(
    kind: ChartKind, type_name: str, grouping: str, overlap: int | None
) -> None:
    sheet = sheet_of(
        a_chart(["a", "b", "c"], ("S", [1, None, 3]), ("T", [4, 5, 6]), kind=kind), title="T"
    )
    assert values_of(sheet)[HEADER - 1 :] == [
        ["Name", "S", "T"],
        ["a", 1, 4],
        ["b", None, 5],
        ["c", 3, 6],
    ]
    chart = chart_of(sheet)
    assert (type(chart).__name__, chart.grouping) == (type_name, grouping)
    assert getattr(chart, "overlap", None) == overlap
    assert [drawn(sheet, series.tx.strRef.f) for series in chart.series] == [["S"], ["T"]]
    assert [drawn(sheet, series.val.numRef.f) for series in chart.series] == [
        [1, None, 3],
        [4, 5, 6],
    ]
    assert drawn(sheet, chart.series[0].cat.strRef.f) == ["a", "b", "c"]
    assert chart.display_blanks == "gap"
    assert not any(series.smooth for series in chart.series)
    assert (chart.x_axis.delete, chart.y_axis.delete) == (False, False)
    anchor = chart.anchor._from
    assert (anchor.row, anchor.col) == (2, 0)


def test_the_chart_and_its_axes_have_titles() -> None:
    chart = chart_of(sheet_of(a_chart(["a"], ("S", [1])), title="=How many"))
    titles = [chart.title, chart.x_axis.title, chart.y_axis.title]
    assert [text_of(title) for title in titles] == ["=How many", "Name", "Flights"]
    assert [title.overlay for title in titles] == [False] * 3


def test_series_of_several_columns_have_no_common_title() -> None:
    columns = [Column("Arrivals", "integer"), Column("Departures", "integer")]
    chart = chart_of(
        sheet_of(
            Chart(
                kind="line",
                x=DAY,
                x_values=(date(2027, 1, 1),),
                series=tuple(
                    Series(label=column.label, column=column, values=(1,)) for column in columns
                ),
            )
        )
    )
    assert chart.y_axis.title is None


@pytest.mark.parametrize("label", ["", "x" * 40_000, "a\nb\x0b"])
def test_titles_of_axes_are_one_short_line(label: str) -> None:
    chart = chart_of(sheet_of(a_chart(["a"], ("S", [1]), x=Column(label, "text"))))
    title = chart.x_axis.title
    expected = {"": None, "a\nb\x0b": "a b\ufffd"}.get(label, "x" * 119 + "…")
    assert (title and text_of(title)) == expected


def test_one_series_needs_no_legend() -> None:
    assert chart_of(sheet_of(a_chart(["a"], ("S", [1])))).legend is None
    legend = chart_of(sheet_of(a_chart(["a"], ("S", [1]), ("S", [1])))).legend
    assert (legend.legendPos, legend.overlay) == ("b", False)


@pytest.mark.parametrize(
    ("kind", "x_values", "number_format"),
    [
        ("date", [date(2027, 1, 1), date(2027, 2, 1)], "yyyy-mm-dd"),
        ("timestamptz", [datetime(2026, 12, 31, 23, tzinfo=UTC)], "yyyy-mm-dd"),
        ("timestamptz", [datetime(2027, 1, 1, tzinfo=UTC)], "yyyy-mm-dd hh:mm"),
        ("timestamp", [datetime.fromisoformat("2027-01-01")], "yyyy-mm-dd"),
        ("integer", [2012, 2013], "0"),
        ("time", [datetime(2027, 1, 1, 4, tzinfo=UTC).time()], "hh:mm"),
        ("float", [0.5], "General"),
        ("text", ["2027"], None),
        ("boolean", [True, False], None),
        ("date", [date(1899, 1, 1), date(2027, 1, 1)], None),
        ("date", [None, date(2027, 1, 1)], None),
        ("integer", [10**15], None),
    ],
)
def test_x_is_shown_as_what_it_is(
    kind: ValueType, x_values: Sequence[object], number_format: str | None
) -> None:
    values = range(len(x_values))
    chart = chart_of(sheet_of(a_chart(x_values, ("S", [*values]), x=Column("X", kind))))
    x = chart.series[0].cat
    if number_format is None:
        assert x.numRef is None
        assert x.strRef is not None
    else:
        assert x.strRef is None
        assert chart.x_axis.numFmt.formatCode == number_format
    assert chart.x_axis.auto is False


def test_an_x_that_is_null_is_a_dash() -> None:
    sheet = sheet_of(a_chart(["a", None], ("S", [1, 2])))
    assert [row[0] for row in values_of(sheet)[HEADER:]] == ["a", "–"]  # noqa: RUF001


def test_numbers_that_excel_cannot_hold_are_drawn_rounded_from_a_column_of_their_own() -> None:
    third = Decimal(1) / 3
    y = Column("Mean", "decimal")
    exact = [third, None, Decimal("NaN"), Decimal("1E+400"), Decimal(-2)]
    sheet = sheet_of(a_chart([*"abcde"], ("S", [1, 2, 3, 4, 5]), ("T", exact), y=y))
    rows = values_of(sheet)[HEADER - 1 :]
    assert rows[0] == ["Name", "S", "T", "T (as drawn)"]
    assert [row[2] for row in rows[1:]] == [
        0.333333333333333,
        None,
        "NaN",
        "1" + "0" * 400,
        -2,
    ]
    assert [row[3] for row in rows[1:]] == [0.333333333333333, None, None, None, -2]
    plain, rounded = chart_of(sheet).series
    assert drawn(sheet, plain.val.numRef.f) == [1, 2, 3, 4, 5]
    assert drawn(sheet, rounded.val.numRef.f) == [row[3] for row in rows[1:]]
    assert drawn(sheet, rounded.tx.strRef.f) == ["T"]


@pytest.mark.parametrize(
    ("values", "least", "most"),
    [([3, 4], 0, None), ([-3, -4], None, 0), ([-1, 1], None, None), ([None], None, None)],
)
def test_bars_begin_at_zero(values: list[object], least: int | None, most: int | None) -> None:
    bars = chart_of(sheet_of(a_chart([*"ab"[: len(values)]], ("S", values), kind="bar")))
    assert (bars.y_axis.scaling.min, bars.y_axis.scaling.max) == (least, most)
    line = chart_of(sheet_of(a_chart([*"ab"[: len(values)]], ("S", values))))
    assert (line.y_axis.scaling.min, line.y_axis.scaling.max) == (None, None)


def test_points_are_marked_where_they_are_few_or_alone() -> None:
    days = [date(2027, 1, 1) + timedelta(days=n) for n in range(100)]
    alone = [n if n == 50 else None for n in range(100)]
    series = chart_of(
        sheet_of(a_chart(days, ("S", [*range(100)]), ("T", alone), x=DAY, y=COUNT))
    ).series
    assert [one.marker.symbol for one in series] == [None, "circle"]
    few = chart_of(sheet_of(a_chart(days[:3], ("S", [1, 2, 3]), x=DAY))).series
    assert few[0].marker.symbol == "circle"


def test_a_chart_of_no_rows_says_so() -> None:
    sheet = sheet_of(a_chart([]))
    assert values_of(sheet) == [["Section"], [None], ["No rows"]]
    assert charts_of(sheet) == []
