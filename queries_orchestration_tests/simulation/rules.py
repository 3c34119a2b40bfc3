"""Recurrences of the simulation, and their slots found without the product's code.

A rule of fixed hours is read date by date, an hourly rule instant by instant: slow, and plain
enough to be seen to be right.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Final
from zoneinfo import ZoneInfo

GRAIN: Final = timedelta(minutes=30)
"""Every slot of the simulation lies on it: minutes are 0 or 30, and so are the zones' offsets."""
_HORIZON: Final = timedelta(days=40)
_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Wall times in a zone: at ``minute`` of each of ``hours``, or of every n-th hour.

    Days are those of the month, else those of the week (0: Sunday), else all.
    """

    zone: str
    minute: int
    hours: tuple[int, ...] = ()
    every_hours: int = 0
    month_days: tuple[int, ...] = ()
    week_days: tuple[int, ...] = ()
    ends_on: date | None = None

    @property
    def cron(self) -> str:
        """The rule as five fields."""
        hours = f"*/{self.every_hours}" if self.every_hours else _listed(self.hours)
        return f"{self.minute} {hours} {_listed(self.month_days)} * {_listed(self.week_days)}"

    def due(self, first: datetime, until: datetime) -> list[datetime]:
        """Return the slots from ``first`` to ``until``, both included."""
        return [slot for slot in _slots(self, first.date()) if first <= slot <= until]

    def next_after(self, instant: datetime) -> datetime | None:
        """Return the first slot after ``instant``."""
        return next((slot for slot in _slots(self, instant.date()) if slot > instant), None)

    def has_day(self, day: date) -> bool:
        """Whether the rule has slots on a local date."""
        if self.ends_on is not None and day > self.ends_on:
            return False
        if self.month_days:
            return day.day in self.month_days
        return not self.week_days or day.isoweekday() % 7 in self.week_days


@lru_cache(maxsize=10_000)
def _slots(rule: Rule, day: date) -> tuple[datetime, ...]:
    """Return the slots of the weeks from ``day`` on, with some days before."""
    start = datetime(day.year, day.month, day.day, tzinfo=UTC) - 2 * _DAY
    found = _hourly(rule, start) if rule.every_hours else _fixed(rule, start)
    return tuple(sorted(set(found)))


def _hourly(rule: Rule, start: datetime) -> Iterator[datetime]:
    """Yield every instant whose local time matches: a repeated hour twice, a missing one never."""
    place, instant = ZoneInfo(rule.zone), start
    while instant < start + _HORIZON:
        local = instant.astimezone(place)
        if (
            local.minute == rule.minute
            and local.hour % rule.every_hours == 0
            and rule.has_day(local.date())
        ):
            yield instant
        instant += GRAIN


def _fixed(rule: Rule, start: datetime) -> Iterator[datetime]:
    """Yield each wall time as RFC 5545 reads it: with the offset before a gap, the first of two.

    That is what fold 0 means.
    """
    place, day = ZoneInfo(rule.zone), start.date()
    while day < (start + _HORIZON).date():
        if rule.has_day(day):
            for hour in rule.hours:
                wall = datetime(day.year, day.month, day.day, hour, rule.minute, tzinfo=place)
                yield wall.replace(fold=0).astimezone(UTC)
        day += _DAY


def _listed(numbers: tuple[int, ...]) -> str:
    return ",".join(map(str, numbers)) or "*"
