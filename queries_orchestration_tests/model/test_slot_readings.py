"""How local times are read where clocks change, as a preview tells it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice

import pytest
from hypothesis import given, strategies as st

from queries_orchestration.model.recurrences import Recurrence, slots
from queries_orchestration.model.slot_readings import ReadSlot, preview
from queries_orchestration.model.time_zones import instant_of, zone

ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "UTC")


def _next(cron: str, time_zone: str, after: str, count: int = 1) -> list[ReadSlot]:
    rule = Recurrence.parse(cron, time_zone)
    return list(islice(preview(rule, after=datetime.fromisoformat(after)), count))


@pytest.mark.parametrize(
    ("cron", "time_zone", "after", "slot", "named", "reading"),
    [
        # Berlin, 28 March 2027: 02:00 becomes 03:00.
        ("30 2 * * *", "Europe/Berlin", "2027-03-27T12:00Z", "2027-03-28T01:30Z", "02:30", "gap"),
        ("30 3 * * *", "Europe/Berlin", "2027-03-27T12:00Z", "2027-03-28T01:30Z", "03:30", "plain"),
        ("30 2,3 * * *", "Europe/Berlin", "2027-03-27T12:00Z", "2027-03-28T01:30Z", "02:30", "gap"),
        ("30 * * * *", "Europe/Berlin", "2027-03-28T01:00Z", "2027-03-28T01:30Z", "03:30", "plain"),
        # 31 October 2027: 03:00 becomes 02:00.
        (
            "30 2 * * *",
            "Europe/Berlin",
            "2027-10-30T12:00Z",
            "2027-10-31T00:30Z",
            "02:30",
            "first_of_two",
        ),
        (
            "30 * * * *",
            "Europe/Berlin",
            "2027-10-31T01:00Z",
            "2027-10-31T01:30Z",
            "02:30",
            "second_of_two",
        ),
        # Lord Howe shifts by half an hour.
        (
            "15 2 * * *",
            "Australia/Lord_Howe",
            "2027-10-02T00:00Z",
            "2027-10-02T15:45Z",
            "02:15",
            "gap",
        ),
        ("0 9 * * *", "UTC", "2027-03-28T00:00Z", "2027-03-28T09:00Z", "09:00", "plain"),
    ],
)
def test_each_reading_is_told_on_the_day_of_a_change(
    cron: str, time_zone: str, after: str, slot: str, named: str, reading: str
) -> None:
    (one,) = _next(cron, time_zone, after)

    assert one.slot == datetime.fromisoformat(slot)
    assert (f"{one.named:%H:%M}", one.reading) == (named, reading)
    assert one.local.astimezone(UTC) == one.slot
    assert one.local.tzinfo == zone(time_zone)


def test_a_daily_time_in_the_gap_is_the_only_one_of_the_year_that_is_read_so() -> None:
    year = _next("30 2 * * *", "Europe/Berlin", "2026-12-31T23:00Z", 365)

    assert [(one.named.month, one.reading) for one in year if one.reading != "plain"] == [
        (3, "gap"),
        (10, "first_of_two"),
    ]


def test_a_date_that_was_left_out_is_read_on_the_next_day() -> None:
    (one,) = _next("0 9 30 12 *", "Pacific/Apia", "2011-12-01T00:00Z")

    assert (one.reading, one.named.day, one.local.day) == ("gap", 30, 31)


@given(
    st.sampled_from(("30 2 * * *", "*/15 1-3 * * *", "30 * * * *", "45 */2 * * 0")),
    st.sampled_from(ZONES),
    st.datetimes(datetime(2026, 1, 1), datetime(2029, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001 hypothesis adds it
)
def test_the_slots_are_the_dispatchers_own_and_each_reading_denotes_its_slot(
    cron: str, time_zone: str, after: datetime
) -> None:
    rule = Recurrence.parse(cron, time_zone)
    found = list(islice(preview(rule, after=after), 20))

    assert [one.slot for one in found] == list(
        islice(slots(rule, after, after + timedelta(days=400)), 20)
    )
    for one in found:
        fold = 1 if one.reading == "second_of_two" else 0
        assert instant_of(one.named, zone(time_zone), fold=fold) == one.slot
        assert (one.named == one.local.replace(tzinfo=None)) == (one.reading != "gap")
