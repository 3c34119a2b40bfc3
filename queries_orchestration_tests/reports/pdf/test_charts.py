"""Charts as vectors."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from xml.etree import ElementTree as ET

import matplotlib as mpl
import pytest
from hypothesis import given, settings, strategies as st

from queries_orchestration.model.columns import Column, ValueType
from queries_orchestration.model.reports import ChartKind
from queries_orchestration.reports.content import Chart, Series
from queries_orchestration.reports.pdf.charts import PALETTE, Drawing, Key, draw_chart
from queries_orchestration.reports.print_text import PrintText
from queries_orchestration_tests.reports.pdf.samples import (
    BERLIN,
    SALES,
    UNKIND,
    days_chart,
    names_chart,
)

SVG = "{http://www.w3.org/2000/svg}"
KINDS: tuple[ChartKind, ...] = ("line", "bar", "stacked")


def _draw(chart: Chart) -> Drawing:
    return draw_chart(chart, PrintText(BERLIN), time_zone=BERLIN)


def _chart(
    kind: ChartKind,
    x_values: tuple[object, ...],
    *values: tuple[object, ...],
    x_type: ValueType = "text",
) -> Chart:
    return Chart(
        kind=kind,
        x=Column("x", x_type),
        x_values=x_values,
        series=tuple(
            Series(label=f"series {n}", column=SALES, values=each) for n, each in enumerate(values)
        ),
    )


def _svg(drawing: Drawing) -> ET.Element:
    assert drawing.svg is not None
    return ET.fromstring(drawing.svg)  # noqa: S314 - our own


def _size(drawing: Drawing) -> tuple[float, float]:
    svg = _svg(drawing)
    return float(svg.attrib["width"][:-2]), float(svg.attrib["height"][:-2])


def _lines(drawing: Drawing, color: str) -> list[str]:
    """Return the drawn paths of a colour that are lines."""
    return [
        path.attrib["d"]
        for path in _svg(drawing).iter(f"{SVG}path")
        if "fill: none" in path.get("style", "") and f"stroke: {color}" in path.get("style", "")
    ]


def _bars(drawing: Drawing, fill: str) -> list[ET.Element]:
    return [
        path
        for path in _svg(drawing).iter(f"{SVG}path")
        if f"fill: {fill}" in path.get("style", "") and "clip-path" in path.attrib
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_a_chart_is_the_same_each_time(kind: ChartKind) -> None:
    assert _draw(days_chart(kind, days=20)) == _draw(days_chart(kind, days=20))


def test_null_is_a_gap_in_a_line() -> None:
    drawing = _draw(_chart("line", tuple("abcde"), (1, 2, None, 3, 4)))
    (line,) = _lines(drawing, PALETTE[0])
    assert line.count("M") == 2
    assert drawing.missing == 0


def test_a_number_between_two_gaps_is_marked() -> None:
    values = tuple(None if n in (49, 51) else n for n in range(100))
    drawing = _draw(_chart("line", tuple(range(100)), values, x_type="integer"))
    uses = _svg(drawing).iter(f"{SVG}use")
    markers = [use for use in uses if PALETTE[0] in use.get("style", "")]
    assert len(markers) == 1


UNSOUND = (
    Decimal("NaN"),
    Decimal("sNaN"),
    Decimal("-Infinity"),
    Decimal("1e400"),
    math.nan,
    math.inf,
    1e300,
    10**400,
)


@pytest.mark.parametrize("kind", KINDS)
def test_what_cannot_be_drawn_is_a_gap_and_told(kind: ChartKind) -> None:
    names = tuple(f"{n}" for n in range(len(UNSOUND) + 2))
    drawing = _draw(_chart(kind, names, (1, *UNSOUND, -3)))
    nothing = _draw(_chart(kind, names, (1, *(None for _ in UNSOUND), -3)))
    assert drawing.svg == nothing.svg
    assert (drawing.missing, nothing.missing) == (len(UNSOUND), 0)


def test_bars_go_to_both_sides_of_zero() -> None:
    drawing = _draw(_chart("bar", ("a", "b"), (5, -5)))
    assert len(_bars(drawing, PALETTE[0])) == 2


def test_a_stack_has_a_piece_a_number() -> None:
    drawing = _draw(_chart("stacked", ("a", "b"), (5, -5), (None, 2), (0, 1)))
    assert [len(_bars(drawing, color)) for color in PALETTE[:3]] == [2, 1, 2]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("values", [(), (None, None), (Decimal("NaN"), None)])
def test_there_is_no_picture_of_no_numbers(kind: ChartKind, values: tuple[object, ...]) -> None:
    assert _draw(_chart(kind, tuple("ab")[: len(values)], values)).svg is None
    assert _draw(_chart(kind, ())).svg is None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("day", [date(2027, 1, 4), date(1, 1, 1), date.max, None])
def test_one_point_is_drawn(kind: ChartKind, day: date | None) -> None:
    assert _draw(_chart(kind, (day,), (7,), x_type="date")).svg is not None


def test_long_names_stand_beside_lying_bars() -> None:
    names = [f"Customers who bought more than {n} times" for n in range(60)]
    width, height = _size(_draw(names_chart(names=names)))
    assert height > width
    assert height <= 8.6 * 72 + 1


def test_short_names_stand_below_upright_bars() -> None:
    width, height = _size(_draw(names_chart(series=3)))
    assert height < width / 2


@pytest.mark.parametrize("kind", KINDS)
def test_names_are_no_mathematics_and_no_markup(kind: ChartKind) -> None:
    names = ("$x$", "$\\frac{", "a_b^c\\frac", "$$", *UNKIND, "")
    drawing = _draw(names_chart(kind, names=names, series=2))
    elements = {element.tag.removeprefix(SVG) for element in _svg(drawing).iter()}
    assert elements <= {"svg", "g", "path", "defs", "style", "use", "clipPath", "rect"}
    addresses = {
        value
        for element in _svg(drawing).iter()
        for name, value in element.attrib.items()
        if name.endswith("href")
    }
    assert all(address.startswith("#") for address in addresses)
    assert "passwd" not in str(drawing.svg)


def test_names_that_no_font_has_are_drawn_without_a_warning() -> None:
    names = ["日本語", "العربية", "😀", "שלום", "\U0010fffd"]
    assert _draw(names_chart(names=names)).svg is not None


def test_twelve_series_look_different() -> None:
    keys = _draw(days_chart(series=12)).keys
    assert len({(key.color, key.line) for key in keys}) == 12
    assert len({(key.color, key.fill) for key in keys}) == 12
    assert keys[0] == Key(label="Region 1", color="#0072b2", fill="#0072b2", line="solid")
    assert keys[7].line == "dashed"


def test_instants_lie_on_the_axis_in_the_zone_of_the_report() -> None:
    instants = tuple(
        datetime(2026, 10, 24, 22, tzinfo=UTC) + timedelta(hours=n) for n in range(0, 49, 6)
    )
    chart = _chart("line", instants, tuple(range(9)), x_type="timestamptz")
    in_berlin = draw_chart(chart, PrintText(BERLIN), time_zone=BERLIN)
    in_utc = draw_chart(chart, PrintText("UTC"), time_zone="UTC")
    assert in_berlin.svg != in_utc.svg


def test_a_line_runs_from_left_to_right_whatever_the_order_of_rows() -> None:
    one = _chart("line", (1, 3, 2), (10, 30, 20), x_type="integer")
    other = _chart("line", (3, 2, 1), (30, 20, 10), x_type="integer")
    assert _draw(one) == _draw(other)


def test_the_settings_of_the_machine_do_not_matter_and_stay() -> None:
    before = _draw(days_chart())
    with mpl.rc_context({"lines.linewidth": 9, "text.parse_math": True, "font.size": 30}):
        kept = dict(mpl.rcParams)
        assert _draw(days_chart()) == before
        assert dict(mpl.rcParams) == kept


POINTS = st.one_of(
    st.none(),
    st.integers(-(10**18), 10**18),
    st.floats(),
    st.decimals(allow_nan=True),
)
X_VALUES: dict[ValueType, st.SearchStrategy[object]] = {
    "text": st.text(max_size=40),
    "integer": st.none() | st.integers(),
    "float": st.floats(),
    "date": st.none() | st.dates(),
    "timestamptz": st.datetimes(timezones=st.just(UTC)),
    "timestamp": st.datetimes(),
}


@settings(max_examples=25)
@given(data=st.data(), kind=st.sampled_from(KINDS), x_type=st.sampled_from([*X_VALUES]))
def test_whatever_the_numbers_are_a_chart_is_drawn(
    data: st.DataObject, kind: ChartKind, x_type: ValueType
) -> None:
    x_values = tuple(data.draw(st.lists(X_VALUES[x_type], min_size=1, max_size=6)))
    points = st.lists(POINTS, min_size=len(x_values), max_size=len(x_values)).map(tuple)
    values = data.draw(st.lists(points, min_size=1, max_size=3))
    drawing = _draw(_chart(kind, x_values, *values, x_type=x_type))
    if drawing.svg is not None:
        ET.fromstring(drawing.svg)  # noqa: S314 - our own
