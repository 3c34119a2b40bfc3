"""Recurrences against an independent oracle that walks every minute around a transition, in zones
whose transitions are odd: half an hour, two hours, a whole day, at midnight."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cache
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings, strategies as st

from queries_orchestration.model.recurrences import Recurrence, next_slot, slots

MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)
REACH = 3 * DAY

TRANSITIONS = {
    "America/New_York": ["2027-03-14T07:00Z", "2027-11-07T06:00Z"],
    "Europe/Dublin": ["2027-03-28T01:00Z", "2027-10-31T01:00Z"],
    "Australia/Lord_Howe": ["2027-04-03T15:00Z", "2027-10-02T15:30Z"],
    "Asia/Beirut": ["2027-03-27T22:00Z", "2027-10-30T21:00Z"],  # at midnight
    "America/Sao_Paulo": ["2018-11-04T03:00Z", "2018-02-18T02:00Z"],  # at midnight
    "Pacific/Apia": ["2011-12-30T10:00Z", "2011-09-24T14:00Z"],
    "Pacific/Kwajalein": ["1993-08-21T12:00Z", "1969-09-30T13:00Z"],  # a day left out, one twice
    "Antarctica/Troll": ["2027-03-28T01:00Z", "2027-10-31T01:00Z"],  # by two hours
    "Asia/Pyongyang": ["2015-08-14T15:00Z", "2018-05-04T15:00Z"],
}


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


@cache
def minutes_around(time_zone: str, transition: str) -> tuple[tuple[datetime, datetime], ...]:
    """Every minute of the window, as (instant, naive local time)."""
    place = ZoneInfo(time_zone)
    start = at(transition) - REACH
    instants = [start + MINUTE * count for count in range(2 * REACH // MINUTE)]
    return tuple((one, one.astimezone(place).replace(tzinfo=None)) for one in instants)


@cache
def wall_times_around(time_zone: str, transition: str) -> tuple[tuple[datetime, datetime], ...]:
    """Every minute that a calendar has in the window, with the instant a named hour denotes."""
    minutes = minutes_around(time_zone, transition)
    first_shown: dict[datetime, datetime] = {}
    for instant, local in minutes:
        first_shown.setdefault(local, instant)
    found: list[tuple[datetime, datetime]] = []
    wall_time, last_shown = minutes[0][1], minutes[0]
    while wall_time <= minutes[-1][1]:
        if wall_time in first_shown:
            last_shown = (first_shown[wall_time], wall_time)
        # A wall time that no clock shows: as long after the last one shown as it says.
        found.append((wall_time, last_shown[0] + (wall_time - last_shown[1])))
        wall_time += MINUTE
    return tuple(found)


def matcher(cron: str) -> Callable[[datetime], bool]:
    """Cron matching from first principles, for numbers, lists, ranges and steps."""

    def named(text: str, low: int, high: int) -> set[int]:
        numbers: set[int] = set()
        for element in text.split(","):
            bounds, _, step = element.partition("/")
            first, _, last = bounds.partition("-")
            lowest, highest = (low, high) if bounds == "*" else (int(first), int(last or first))
            numbers.update(range(lowest, highest + 1, int(step or 1)))
        return numbers

    minute, hour, day, month, weekday = cron.split()
    minutes, hours, months = named(minute, 0, 59), named(hour, 0, 23), named(month, 1, 12)
    days, weekdays = named(day, 1, 31), {number % 7 for number in named(weekday, 0, 6)}
    either = day != "*" and weekday != "*"

    def matches(local: datetime) -> bool:
        if local.minute not in minutes or local.hour not in hours or local.month not in months:
            return False
        matching = (local.day in days, local.isoweekday() % 7 in weekdays)
        return any(matching) if either else all(matching)

    return matches


def oracle(cron: str, time_zone: str, transition: str) -> list[datetime]:
    minutes = minutes_around(time_zone, transition)
    matches = matcher(cron)
    if cron.split()[1].startswith("*"):
        return [instant for instant, local in minutes if matches(local)]
    return sorted(
        {
            instant
            for wall_time, instant in wall_times_around(time_zone, transition)
            if matches(wall_time)
        }
    )


def lists(low: int, high: int, *, most: int) -> st.SearchStrategy[str]:
    numbers = st.lists(st.integers(low, high), min_size=1, max_size=most, unique=True)
    return numbers.map(lambda chosen: ",".join(str(number) for number in sorted(chosen)))


def spans(low: int, high: int) -> st.SearchStrategy[str]:
    pairs = st.tuples(st.integers(low, high), st.integers(low, high))
    return pairs.map(lambda pair: f"{min(pair)}-{max(pair)}")


crons = st.tuples(
    st.sampled_from(["0", "30", "0,30", "15,45", "*/5", "*/20", "7-59/13", "10-50/20", "59"]),
    st.one_of(
        st.just("*"),
        st.integers(1, 6).map(lambda step: f"*/{step}"),
        lists(0, 4, most=3),
        lists(0, 23, most=6),
        spans(0, 23),
    ),
    st.one_of(st.just("*"), st.just("*/2"), lists(1, 31, most=4)),
    st.just("*"),
    st.one_of(st.just("*"), lists(0, 7, most=3), spans(0, 7), st.just("*/2")),
).map(" ".join)
windows = st.sampled_from(
    [(name, transition) for name, listed in TRANSITIONS.items() for transition in listed]
)


@pytest.mark.parametrize(
    ("time_zone", "transition"),
    [(name, transition) for name, listed in TRANSITIONS.items() for transition in listed],
)
def test_the_windows_of_the_oracle_hold_a_transition(time_zone: str, transition: str) -> None:
    place, instant = ZoneInfo(time_zone), at(transition)
    before = (instant - MINUTE).astimezone(place).utcoffset()
    assert before != instant.astimezone(place).utcoffset()


@settings(deadline=None)
@given(cron=crons, window=windows)
def test_slots_are_exactly_those_of_the_oracle_each_once_and_in_order(
    cron: str, window: tuple[str, str]
) -> None:
    time_zone, transition = window
    recurrence = Recurrence.parse(cron, time_zone)
    # One day in from the window's ends, where the oracle sees all that a slot depends on.
    after, until = at(transition) - REACH + DAY, at(transition) + REACH - DAY
    expected = [slot for slot in oracle(cron, time_zone, transition) if after < slot <= until]
    found = list(slots(recurrence, after, until))
    assert found == expected
    assert all(earlier < later for earlier, later in pairwise(found))


@settings(deadline=None)
@given(cron=crons, window=windows, minute=st.integers(0, 2 * 2 * 24 * 60 - 1))
def test_asking_from_any_instant_gives_the_oracles_next_slot(
    cron: str, window: tuple[str, str], minute: int
) -> None:
    time_zone, transition = window
    after = at(transition) - REACH + DAY + minute * MINUTE
    until = at(transition) + REACH - DAY
    expected = [slot for slot in oracle(cron, time_zone, transition) if after < slot <= until]
    found = next_slot(Recurrence.parse(cron, time_zone), after)
    if expected:
        assert found == expected[0]
    else:
        assert found is None or found > until
