"""Recurrences that start and end on a date, and the last day of a month (cases R05, R10)."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, strategies as st

from queries_orchestration.model.errors import InvalidRecurrence
from queries_orchestration.model.recurrences import Recurrence, local_time, next_slot, slots
from queries_orchestration.model.slot_readings import preview

DAY = timedelta(days=1)
EARLY = datetime(2026, 1, 1, tzinfo=UTC)
LATE = datetime(2036, 1, 1, tzinfo=UTC)


def local_slots(recurrence: Recurrence, after: datetime = EARLY) -> list[str]:
    found = slots(recurrence, after, LATE)
    return [local_time(recurrence, slot).isoformat(timespec="minutes") for slot in found]


@pytest.mark.parametrize(
    ("cron", "time_zone", "slot_times"),
    [
        ("0 10 * * *", "Europe/Paris", ["04T10:00+01:00", "05T10:00+01:00", "06T10:00+01:00"]),
        ("30 23 * * *", "America/Los_Angeles", [f"0{day}T23:30-08:00" for day in (4, 5, 6)]),
        ("30 0 * * *", "Pacific/Auckland", [f"0{day}T00:30+13:00" for day in (4, 5, 6)]),
    ],
)
def test_both_dates_are_local_and_have_slots(
    cron: str, time_zone: str, slot_times: list[str]
) -> None:
    recurrence = Recurrence.parse(
        cron, time_zone, starts_on=date(2027, 1, 4), ends_on=date(2027, 1, 6)
    )
    assert local_slots(recurrence) == [f"2027-01-{one}" for one in slot_times]
    last = datetime.fromisoformat(f"2027-01-{slot_times[-1]}")
    assert next_slot(recurrence, last) is None


def test_a_recurrence_of_one_day_comes_on_it() -> None:
    day = date(2027, 1, 4)
    recurrence = Recurrence.parse("0 10 * * *", "Europe/Paris", starts_on=day, ends_on=day)
    assert local_slots(recurrence) == ["2027-01-04T10:00+01:00"]


def test_a_start_in_the_past_changes_nothing() -> None:
    started = Recurrence.parse("0 10 * * *", "Europe/Paris", starts_on=date(2020, 1, 1))
    always = Recurrence.parse("0 10 * * *", "Europe/Paris")
    now = datetime(2027, 1, 4, 12, tzinfo=UTC)
    assert next_slot(started, now) == next_slot(always, now)


def test_a_slot_in_the_gap_of_the_last_day_is_the_last_one() -> None:
    """23:30 does not exist there: it is read with the offset before, on the next day."""
    recurrence = Recurrence.parse(
        "30 23 * * *",
        "America/Scoresbysund",
        starts_on=date(2027, 3, 26),
        ends_on=date(2027, 3, 27),
    )
    assert local_slots(recurrence) == ["2027-03-26T23:30-02:00", "2027-03-28T00:30-01:00"]


def test_midnight_that_does_not_exist_is_the_first_slot() -> None:
    recurrence = Recurrence.parse("0 0 * * *", "Asia/Beirut", starts_on=date(2027, 3, 28))
    assert local_slots(recurrence)[:2] == ["2027-03-28T01:00+03:00", "2027-03-29T00:00+03:00"]


def test_the_last_day_of_each_month_never_drifts() -> None:
    recurrence = Recurrence.parse(
        "0 9 * * *", "Europe/Paris", last_day=True, starts_on=date(2027, 1, 31)
    )
    days = [slot[:10] for slot in local_slots(recurrence)]
    assert days[:5] == ["2027-01-31", "2027-02-28", "2027-03-31", "2027-04-30", "2027-05-31"]
    assert [day for day in days if day[5:7] == "02"][:2] == ["2027-02-28", "2028-02-29"]


def test_the_last_day_of_some_months() -> None:
    recurrence = Recurrence.parse("0 9 * FEB,JUN *", "Europe/Paris", last_day=True)
    assert [slot[:10] for slot in local_slots(recurrence)[:3]] == [
        "2026-02-28",
        "2026-06-30",
        "2027-02-28",
    ]


def test_a_preview_ends_with_the_recurrence() -> None:
    recurrence = Recurrence.parse(
        "0 9 * * *", "Europe/Paris", last_day=True, ends_on=date(2026, 3, 30)
    )
    assert [one.local.date().isoformat() for one in preview(recurrence, after=EARLY)] == [
        "2026-01-31",
        "2026-02-28",
    ]


@pytest.mark.parametrize("cron", ["0 9 1 * *", "0 9 * * MON", "0 9 31 * 5"])
def test_the_last_day_beside_other_days_is_refused(cron: str) -> None:
    with pytest.raises(InvalidRecurrence, match="last day of the month: leave"):
        Recurrence.parse(cron, "Europe/Paris", last_day=True)


def test_an_end_before_the_start_is_refused() -> None:
    with pytest.raises(InvalidRecurrence, match="ends on 2027-01-03, before it starts"):
        Recurrence.parse(
            "0 9 * * *", "Europe/Paris", starts_on=date(2027, 1, 4), ends_on=date(2027, 1, 3)
        )


@given(
    st.dates(date(2026, 1, 2), date(2034, 1, 1)),
    st.integers(0, 500),
    st.sampled_from(["30 2 * * *", "0 * * * SUN", "15 0,23 1 * *"]),
    st.sampled_from(["Europe/Berlin", "America/St_Johns", "Australia/Lord_Howe"]),
)
def test_dates_cut_the_slots_of_the_rule_and_change_none(
    starts_on: date, days: int, cron: str, time_zone: str
) -> None:
    ends_on = date.fromordinal(starts_on.toordinal() + days)
    recurrence = Recurrence.parse(cron, time_zone, starts_on=starts_on, ends_on=ends_on)
    rule = Recurrence.parse(cron, time_zone)
    place = ZoneInfo(time_zone)
    start, until = (
        datetime(day.year, day.month, day.day, 12, tzinfo=place).astimezone(UTC) + shift * DAY
        for day, shift in ((starts_on, -2), (min(ends_on, starts_on + 40 * DAY), 2))
    )
    expected = [
        slot
        for slot in slots(rule, start, until)
        if starts_on <= slot.astimezone(place).date() <= ends_on
    ]
    assert list(slots(recurrence, EARLY, until)) == expected
