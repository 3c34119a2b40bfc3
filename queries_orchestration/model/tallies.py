"""What the recipients of an occurrence got, as counts: by state, and by code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tally:
    """How many recipients have each state, and how many each code; nobody among them is named."""

    states: dict[str, int]
    codes: dict[str, int]


def tally(deliveries: Iterable[tuple[str, str | None]]) -> Tally:
    """Count deliveries, each given by its state and its code; in the order of the names."""
    states: Counter[str] = Counter()
    codes: Counter[str] = Counter()
    for state, code in deliveries:
        states[state] += 1
        if code is not None:
            codes[code] += 1
    return Tally(dict(sorted(states.items())), dict(sorted(codes.items())))
