"""Bars over time, drawn by us: where each stands and how high it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, log10
from typing import Final

WIDTH: Final = 400
HEIGHT: Final = 72
FEWEST: Final = 12
"""Places there are at least, so that a few bars are not as wide as walls."""
_GAP: Final = 0.28
_LOWEST: Final = 1.5
"""What is not nothing can be seen."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar of the drawing, in its units."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Bars:
    """All bars, and the value at the top of the drawing."""

    bars: tuple[Bar, ...]
    top: float


def bars_of(values: Sequence[float]) -> Bars:
    """Return the bars of values that are not negative, from the left to the right."""
    top = round_top(max(values, default=0))
    place = WIDTH / max(len(values), FEWEST)
    first = WIDTH - place * len(values)
    return Bars(tuple(_bar(n, value, top, place, first) for n, value in enumerate(values)), top)


def round_top(largest: float) -> float:
    """Return the next round number: 1, 2, 2.5 or 5 times a power of ten."""
    if largest <= 0:
        return 1
    power = 10.0 ** floor(log10(largest))
    top = next(power * step for step in (1, 2, 2.5, 5, 10) if largest <= power * step)
    return int(top) if top >= 1 and top == int(top) else top


def _bar(number: int, value: float, top: float, place: float, first: float) -> Bar:
    height = max(value / top * HEIGHT, _LOWEST) if value else 0.0
    return Bar(
        x=round(first + number * place + place * _GAP / 2, 2),
        y=round(HEIGHT - height, 2),
        width=round(place * (1 - _GAP), 2),
        height=round(height, 2),
    )
