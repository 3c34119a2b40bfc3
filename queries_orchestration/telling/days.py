"""The days of a schedule as they are told: what became of each, the worst first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, tzinfo
from typing import Final

from queries_orchestration.store.occurrences import Ended

WORST_FIRST: Final = (
    "failed",
    "delivered_partly",
    "missed",
    "cancelled",
    "no_recipients",
    "unsettled",
    "skipped_empty",
    "delivered",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Day:
    """A local day; ``outcome`` is the worst of it, None where nothing was to happen.

    ``key`` is of the last occurrence that has this outcome, ``count`` how many there were.
    """

    day: date
    outcome: str | None
    count: int
    key: str | None


def first_day(today: date, weeks: int) -> date:
    """Return the Monday with which so many weeks begin, this one the last of them."""
    return today - timedelta(days=today.weekday(), weeks=weeks - 1)


def midnight(day: date, clocks: tzinfo) -> datetime:
    """Return when a local day begins."""
    return datetime.combine(day, time(), clocks)


def days_of(ended: Sequence[Ended], *, first: date, last: date, clocks: tzinfo) -> list[Day]:
    """Return each local day from ``first`` to ``last`` with what became of its occurrences."""
    by_day: dict[date, list[Ended]] = {}
    for one in ended:
        by_day.setdefault(one.moment.astimezone(clocks).date(), []).append(one)
    span = (last - first).days + 1
    return [
        _day(first + timedelta(days=n), by_day.get(first + timedelta(days=n), []))
        for n in range(span)
    ]


def _day(day: date, ended: list[Ended]) -> Day:
    if not ended:
        return Day(day=day, outcome=None, count=0, key=None)
    worst = min((one.outcome or "unsettled" for one in ended), key=WORST_FIRST.index)
    last = [one for one in ended if (one.outcome or "unsettled") == worst][-1]
    return Day(day=day, outcome=worst, count=len(ended), key=last.key)
