"""Ten years of slots in every kind of zone, against wall times that are counted day by day."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from queries_orchestration.model.recurrences import Recurrence, next_slot, slots
from queries_orchestration.model.time_zones import zone_names

DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
START = datetime(2026, 1, 1, tzinfo=UTC)
END = datetime(2036, 1, 1, tzinfo=UTC)

RULES: dict[str, tuple[Recurrence, Callable[[date], bool]]] = {
    "daily": (Recurrence("30 0,2 * * *", "UTC"), lambda _day: True),
    "sundays": (Recurrence("0 23 * * 0", "UTC"), lambda day: day.isoweekday() == 7),
    "month's end": (
        Recurrence("15 1 * * *", "UTC", last_day=True),
        lambda day: day.day == monthrange(day.year, day.month)[1],
    ),
}
"""Rules of named hours, and the days of the calendar on which each comes."""


def offsets(time_zone: str) -> tuple[timedelta, ...]:
    """The offset of each hour of the ten years."""
    place = ZoneInfo(time_zone)
    hours = range((END - START) // HOUR)
    return tuple(
        offset
        for hour in hours
        if (offset := (START + hour * HOUR).astimezone(place).utcoffset()) is not None
    )


def kinds_of_zones() -> list[str]:
    """One zone of each list of transitions; a change of the offset is looked for once a day."""
    kinds: dict[tuple[object, ...], str] = {}
    for name in sorted(zone_names()):
        place = ZoneInfo(name)
        days = [(START + day * DAY).astimezone(place).utcoffset() for day in range(3652)]
        changes = [
            (day, after) for day, (before, after) in enumerate(pairwise(days)) if before != after
        ]
        kinds.setdefault((days[0], *changes), name)
    return list(kinds.values())


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """In `make soak`, every zone."""
    if "time_zone" in metafunc.fixturenames:
        every = metafunc.config.getoption("--soak")
        metafunc.parametrize("time_zone", sorted(zone_names()) if every else kinds_of_zones())


def instants(wall_time: datetime, place: ZoneInfo) -> list[datetime]:
    """The instants at which clocks show a wall time: none, one or two."""
    around = datetime.combine(wall_time.date(), wall_time.time(), UTC)
    near = {(around + shift * DAY).astimezone(place).utcoffset() for shift in (-1, 0, 1)}
    found = {around - offset for offset in near if offset is not None}
    return sorted(
        instant for instant in found if instant.astimezone(place).replace(tzinfo=None) == wall_time
    )


def expected(rule: str, time_zone: str) -> Iterator[datetime]:
    """One instant for each wall time: its first, or as the clock before the gap would have it."""
    recurrence, comes_on = RULES[rule]
    place = ZoneInfo(time_zone)
    minute, hours = recurrence.cron.split(" ")[:2]
    day = START.date() - DAY
    while day <= END.date() + DAY:
        for hour in hours.split(",") if comes_on(day) else ():
            wall_time = datetime.combine(day, time(int(hour), int(minute)))
            shown = instants(wall_time, place)
            if shown:
                yield shown[0]
            else:
                around = datetime.combine(day, wall_time.time(), UTC)
                before = (around - DAY).astimezone(place).utcoffset()
                assert before is not None
                yield around - before
        day += DAY


@pytest.mark.parametrize("rule", RULES)
def test_each_wall_time_of_ten_years_is_one_slot(time_zone: str, rule: str) -> None:
    recurrence, _ = RULES[rule]
    recurrence = Recurrence(recurrence.cron, time_zone, recurrence.last_day)
    found = list(slots(recurrence, START, END))
    assert found == sorted({one for one in expected(rule, time_zone) if START < one <= END})
    assert all(earlier < later for earlier, later in pairwise(found))


def test_an_hourly_rule_comes_whenever_the_clock_shows_its_minute(time_zone: str) -> None:
    """Over the weeks in which clocks change: elsewhere nothing is at stake."""
    place = ZoneInfo(time_zone)
    recurrence = Recurrence("0 * * * *", time_zone)
    changes = [
        START + hour * HOUR
        for hour, (before, after) in enumerate(pairwise(offsets(time_zone)))
        if before != after
    ]
    for change in changes or [START + 2 * DAY]:
        start, end = change - DAY, change + DAY
        minutes = (start + timedelta(minutes=count + 1) for count in range(2 * 24 * 60))
        shown = [one for one in minutes if one.astimezone(place).minute == 0]
        assert list(slots(recurrence, start, end)) == shown


def test_slots_are_the_same_from_wherever_one_asks(time_zone: str) -> None:
    """All at once, and by one step after any moment between two."""
    recurrence = Recurrence("30 1,2 * * *", time_zone)
    found = list(slots(recurrence, START, START + 800 * DAY))
    for earlier, later in pairwise(found):
        for after in (earlier, earlier + (later - earlier) / 2, later - timedelta(microseconds=1)):
            assert next_slot(recurrence, after) == later
