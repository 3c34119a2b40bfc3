"""Charts as vectors: SVG for the printed page.

A number that is missing, infinite or beyond what can be drawn is a gap. Names are drawn as they
are written: nothing in them is mathematics or markup.
"""

from __future__ import annotations

import math
import re
import textwrap
import unicodedata
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, tzinfo
from decimal import Decimal
from functools import partial
from io import StringIO
from typing import TYPE_CHECKING, Final

from queries_orchestration.model.fields import NUMBERS
from queries_orchestration.model.time_zones import zone
from queries_orchestration.reports.content import Chart

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

PALETTE: Final = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#6b6b6b")
"""Told apart by the colour-blind, too (Okabe and Ito), and dark enough on white paper."""

_DASHES: Final = ("solid", "dashed", "dotted")
_TINTS: Final = (0.0, 0.6, 0.95)
_INK, _QUIET, _RULE = "#333333", "#666666", "#dddddd"
_WIDTH = 6.85  # inches, of an upright page without its margins
_LOWEST, _HEIGHT, _TALLEST = 1.2, 2.7, 8.6
_SLANTED_HEIGHT = 1.0  # more, for names
_LINE_CHARACTERS = 105  # that stand side by side below a chart
_NAME_CHARACTERS = 26
_MOST_FOLDED_NAMES: Final = {"line": 8, "bar": 30, "stacked": 30}
_MOST_LYING_NAMES, _MOST_SLANTED_NAMES = 70, 35
_IN_ORDER: Final = frozenset({"date", "timestamp", "timestamptz", "time"}) | NUMBERS
"""Of these, names may be left out: who reads knows what stands between the others."""

_MOST_MARKERS = 40
_LARGEST = 1e100
_SMALLEST = 1e-100
_FONTS: Final = (
    "DejaVu Sans",  # comes with matplotlib; the others are for what it has no characters for
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "WenQuanYi Zen Hei",
    "Droid Sans Fallback",
    "Noto Sans Devanagari",
    "Noto Sans Thai",
    "Noto Emoji",
)
_YEARS: Final = range(1000, 3000)  # far from where the ticks and margins leave the calendar
_UNDRAWN = re.compile("<!--.*?-->|<metadata>.*?</metadata>", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """What one series looks like; ``line`` is a CSS border style, both colours are ``#rrggbb``."""

    label: str
    color: str
    fill: str
    line: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """A drawn chart.

    Args:
        svg: None if there is nothing to draw.
        keys: of the series, in order.
        missing: how many numbers could not be drawn, since they are infinite, NaN or too large.
    """

    svg: str | None
    keys: tuple[Key, ...]
    missing: int


def draw_chart(chart: Chart, form: Callable[[object], str], *, time_zone: str) -> Drawing:
    """Draw a chart.

    Args:
        form: prints the values of x.
        time_zone: IANA name of the zone of an axis of instants.
    """
    heights = [[_height(value) for value in series.values] for series in chart.series]
    keys = tuple(_key(number, series.label) for number, series in enumerate(chart.series))
    missing = sum(
        value is not None and math.isnan(height)
        for series, drawn in zip(chart.series, heights, strict=True)
        for value, height in zip(series.values, drawn, strict=True)
    )
    if all(math.isnan(height) for drawn in heights for height in drawn):
        return Drawing(svg=None, keys=keys, missing=missing)
    with _drawing_plainly():
        figure = _Picture(chart, heights, keys, form, time_zone).figure()
        svg = _svg(figure)
    return Drawing(svg=svg, keys=keys, missing=missing)


class _Picture:
    """One chart on the way to its figure."""

    def __init__(
        self,
        chart: Chart,
        heights: list[list[float]],
        keys: tuple[Key, ...],
        form: Callable[[object], str],
        time_zone: str,
    ) -> None:
        self._chart = chart
        self._heights = heights
        self._keys = keys
        self._zone = zone(time_zone)
        folds = len(chart.x_values) <= _MOST_FOLDED_NAMES[chart.kind]
        self._names = [_short(form(value), 2 if folds else 1) for value in chart.x_values]
        widest = 2 + max(_width(line) for name in self._names for line in name.split("\n"))
        self._side_by_side = max(_LINE_CHARACTERS // widest, 1)
        crowded = len(self._names) > self._side_by_side and chart.x.type not in _IN_ORDER
        self._lies = crowded and chart.kind != "line"
        self._slants = crowded and chart.kind == "line"

    def figure(self) -> Figure:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(_WIDTH, self._figure_height()), layout="constrained")
        axes = figure.add_subplot()
        if self._chart.kind == "line":
            self._draw_lines(axes)
        else:
            self._draw_bars(axes)
        self._tidy(axes)
        return figure

    def _figure_height(self) -> float:
        if not self._lies:
            return _HEIGHT + (_SLANTED_HEIGHT if self._slants else 0.0)
        bars = 1 if self._chart.kind == "stacked" else len(self._keys)
        return min(max(_LOWEST, 0.7 + len(self._names) * (0.16 + 0.07 * bars)), _TALLEST)

    def _draw_lines(self, axes: Axes) -> None:
        positions = self._place_on_axis(axes)
        order = sorted(range(len(positions)), key=positions.__getitem__)
        for key, heights in zip(self._keys, self._heights, strict=True):
            drawn = [heights[n] for n in order]
            axes.plot(
                [positions[n] for n in order],
                drawn,
                color=key.color,
                linestyle=key.line,
                linewidth=1.4,
                marker="o",
                markersize=3,
                markevery=_marked(drawn),
            )

    def _place_on_axis(self, axes: Axes) -> list[float]:
        """Return where the values of x lie: to scale if they are numbers or days."""
        from matplotlib.dates import date2num

        values = self._chart.x_values
        if self._chart.x.type in NUMBERS:
            numbers = [_height(value) for value in values]
            if len(set(numbers)) > 1 and not any(map(math.isnan, numbers)):
                _write_numbers(axes.xaxis)
                return numbers
        days = [value for value in values if isinstance(value, date) and value.year in _YEARS]
        aware = {isinstance(day, datetime) and day.tzinfo is not None for day in days}
        if len(days) == len(values) and len(aware) == 1 and len(set(days)) > 1:
            _write_days(axes.xaxis, self._zone if aware == {True} else None)
            return [float(date2num(day)) for day in days]  # type: ignore[no-untyped-call]
        self._write_names(axes)
        return [float(n) for n in range(len(values))]

    def _draw_bars(self, axes: Axes) -> None:
        stacked = self._chart.kind == "stacked"
        places = range(len(self._names))
        thickness = 0.8 if stacked else 0.8 / len(self._keys)
        above, below = [0.0] * len(places), [0.0] * len(places)
        for number, (key, heights) in enumerate(zip(self._keys, self._heights, strict=True)):
            drawn = [n for n in places if not math.isnan(heights[n])]
            shift = 0.0 if stacked else (number + 0.5) * thickness - 0.4
            starts = []
            for n in drawn:
                pile = above if heights[n] >= 0 else below
                starts.append(pile[n] if stacked else 0.0)
                pile[n] += heights[n]
            draw = (
                partial(axes.barh, left=starts) if self._lies else partial(axes.bar, bottom=starts)
            )
            draw(
                [n + shift for n in drawn],
                [heights[n] for n in drawn],
                thickness * 0.94,
                facecolor=key.fill,
                edgecolor=key.color,
                linewidth=0.5,
            )
        self._write_names(axes)

    def _write_names(self, axes: Axes) -> None:
        most = self._side_by_side
        if self._lies or self._slants:
            most = _MOST_LYING_NAMES if self._lies else _MOST_SLANTED_NAMES
        shown = range(0, len(self._names), math.ceil(len(self._names) / most))
        names = [self._names[n] for n in shown]
        if self._lies:
            axes.set_yticks(list(shown), names)
            axes.set_ylim(len(self._names) - 0.4, -0.6)
        else:
            axes.set_xticks(list(shown), names)
            axes.set_xlim(-0.6, len(self._names) - 0.4)
        if self._slants:
            axes.tick_params("x", labelrotation=40)
            for label in axes.get_xticklabels():
                label.set(ha="right", rotation_mode="anchor")

    def _tidy(self, axes: Axes) -> None:
        lies = self._lies
        _write_numbers(axes.xaxis if lies else axes.yaxis)
        axes.grid(True, axis="x" if lies else "y", color=_RULE, linewidth=0.6)
        axes.set_axisbelow(True)
        axes.spines[:].set_visible(False)
        low, high = sorted(axes.get_xlim() if lies else axes.get_ylim())
        if low <= 0 <= high:
            (axes.axvline if lies else axes.axhline)(0, color=_QUIET, linewidth=0.8)
        axes.tick_params(length=0, labelcolor=_INK)
        (axes.set_ylabel if lies else axes.set_xlabel)(_short(self._chart.x.label, 1), color=_QUIET)


def _height(value: object) -> float:
    """Return a number as it is drawn, NaN where it is not."""
    if not isinstance(value, int | float | Decimal):
        return math.nan
    try:
        number = float(value)
    except (OverflowError, ValueError):  # an integer beyond all floats; a signalling NaN
        return math.nan
    if not abs(number) <= _LARGEST:
        return math.nan
    return number if abs(number) >= _SMALLEST else 0.0


def _key(number: int, label: str) -> Key:
    turn, color = divmod(number, len(PALETTE))
    turn %= len(_DASHES)
    parts = bytes.fromhex(PALETTE[color][1:])
    fill = bytes(round(part + (255 - part) * _TINTS[turn]) for part in parts).hex()
    return Key(label=label, color=PALETTE[color], fill=f"#{fill}", line=_DASHES[turn])


def _marked(heights: Sequence[float]) -> list[int]:
    """Return the points to mark: all if they are few, else those without a line to a neighbour."""
    if len(heights) <= _MOST_MARKERS:
        return list(range(len(heights)))
    gaps = [True, *map(math.isnan, heights), True]
    return [n for n in range(len(heights)) if gaps[n] and gaps[n + 2]]


def _short(name: str, lines: int) -> str:
    return "\n".join(textwrap.wrap(name, _NAME_CHARACTERS, max_lines=lines, placeholder="…"))


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in text)


def _write_days(axis: Axis, time_zone: tzinfo | None) -> None:
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator = AutoDateLocator(  # type: ignore[no-untyped-call]
        tz=time_zone, minticks=3, maxticks=9
    )
    axis.set_major_locator(locator)
    axis.set_major_formatter(
        ConciseDateFormatter(  # type: ignore[no-untyped-call]
            locator,
            tz=time_zone,
            formats=["%Y", "%Y-%m", "%m-%d", "%H:%M", "%H:%M", "%S.%f"],
            zero_formats=["", "%Y-%m", "%Y-%m-%d", "%m-%d", "%H:%M", "%H:%M"],
            offset_formats=["", "", "", "%Y-%m-%d", "%Y-%m-%d", "%Y-%m-%d %H:%M"],
        )
    )


def _write_numbers(axis: Axis) -> None:
    axis.set_major_formatter(lambda number, _: _axis_text(number))


def _axis_text(number: float) -> str:
    return f"{number:,.12g}" if 1e-4 <= abs(number) < 1e12 else f"{number:.4g}"


@contextmanager
def _drawing_plainly() -> Iterator[None]:
    """Draw with settings of our own, whatever the machine's are, and leave none behind."""
    import matplotlib as mpl
    from matplotlib.font_manager import fontManager

    installed = {font.name for font in fontManager.ttflist}
    with mpl.rc_context(), warnings.catch_warnings():
        # A character that no font has is drawn as a box; the warning would quote it.
        warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from font", UserWarning)
        mpl.rcdefaults()
        mpl.rcParams.update(
            {
                "font.family": [name for name in _FONTS if name in installed],
                "font.size": 7.5,
                "svg.fonttype": "path",
                "svg.hashsalt": "report",
                "text.parse_math": False,
            }
        )
        yield


def _svg(figure: Figure) -> str:
    file = StringIO()
    figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    svg = file.getvalue()
    return _UNDRAWN.sub("", svg[svg.index("<svg") :])
