"""Recurrences: which instants a rule names (cases R01, R02, R05, R06, R08, R13), by example;
``test_recurrence_oracle.py`` has the property tests."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import pytest

from queries_orchestration.model.errors import InvalidRecurrence, UnknownTimeZone
from queries_orchestration.model.recurrences import Recurrence, local_time, next_slot, slots

DAY = timedelta(days=1)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


def local_slots(cron: str, time_zone: str, after: str, count: int) -> list[str]:
    """The first ``count`` slots after the local time ``after``, as local times with offsets."""
    recurrence = Recurrence.parse(cron, time_zone)
    start = at(after).replace(tzinfo=ZoneInfo(time_zone))
    found = islice(slots(recurrence, start, start + 6000 * DAY), count)
    return [local_time(recurrence, slot).isoformat(timespec="minutes") for slot in found]


def local_days(cron: str, after: str, count: int) -> list[str]:
    return [slot[:10] for slot in local_slots(cron, "Europe/Paris", after, count)]


# --- R01: a local time that does not exist


def test_a_daily_slot_in_the_gap_is_read_with_the_offset_before_it() -> None:
    assert local_slots("30 2 * * *", "America/New_York", "2027-03-13T12:00", 2) == [
        "2027-03-14T03:30-04:00",
        "2027-03-15T02:30-04:00",
    ]


def test_a_weekly_slot_in_the_gap_is_read_with_the_offset_before_it() -> None:
    assert local_slots("30 2 * * SUN", "America/New_York", "2027-03-13T12:00", 2) == [
        "2027-03-14T03:30-04:00",
        "2027-03-21T02:30-04:00",
    ]


def test_two_local_times_on_one_instant_are_one_slot() -> None:
    assert local_slots("30 2,3 * * *", "America/New_York", "2027-03-14T00:00", 3) == [
        "2027-03-14T03:30-04:00",
        "2027-03-15T02:30-04:00",
        "2027-03-15T03:30-04:00",
    ]


def test_slots_around_the_gap_come_in_the_order_of_instants() -> None:
    # 02:45 is read as 03:45, after 03:00 and 03:15 of the same morning.
    assert local_slots("0,15,45 2,3 * * *", "America/New_York", "2027-03-14T00:00", 4) == [
        "2027-03-14T03:00-04:00",
        "2027-03-14T03:15-04:00",
        "2027-03-14T03:45-04:00",
        "2027-03-15T02:00-04:00",
    ]


def test_a_slot_in_the_gap_is_found_from_after_the_gap() -> None:
    recurrence = Recurrence.parse("30 2 * * *", "America/New_York")
    assert next_slot(recurrence, at("2027-03-14T03:29:59-04:00")) == at("2027-03-14T07:30Z")
    assert next_slot(recurrence, at("2027-03-14T03:30:00-04:00")) == at("2027-03-15T06:30Z")


def test_an_hourly_rule_leaves_the_missing_hour_out() -> None:
    recurrence = Recurrence.parse("0 * * * *", "America/New_York")
    day = list(slots(recurrence, at("2027-03-14T04:59Z"), at("2027-03-15T03:59Z")))
    assert len(day) == 23
    assert {later - earlier for earlier, later in pairwise(day)} == {timedelta(hours=1)}
    assert local_slots("0 */2 * * *", "America/New_York", "2027-03-14T00:00", 2) == [
        "2027-03-14T04:00-04:00",
        "2027-03-14T06:00-04:00",
    ]


# --- R02: a local time that exists twice


def test_a_daily_slot_in_the_repeated_hour_is_its_first() -> None:
    recurrence = Recurrence.parse("30 1 * * *", "America/New_York")
    night = list(slots(recurrence, at("2027-11-07T00:00Z"), at("2027-11-08T12:00Z")))
    assert night == [at("2027-11-07T05:30Z"), at("2027-11-08T06:30Z")]


def test_an_hourly_rule_counts_the_repeated_hour_twice() -> None:
    recurrence = Recurrence.parse("30 * * * *", "America/New_York")
    day = list(slots(recurrence, at("2027-11-07T04:00Z"), at("2027-11-08T05:00Z")))
    assert len(day) == 25
    assert {later - earlier for earlier, later in pairwise(day)} == {timedelta(hours=1)}


def test_a_rule_of_named_hours_takes_the_repeated_hour_once() -> None:
    assert local_slots("15,45 0-2 * * *", "Europe/Berlin", "2027-10-31T00:20", 6) == [
        "2027-10-31T00:45+02:00",
        "2027-10-31T01:15+02:00",
        "2027-10-31T01:45+02:00",
        "2027-10-31T02:15+02:00",
        "2027-10-31T02:45+02:00",
        "2027-11-01T00:15+01:00",
    ]


# --- zones with unusual transitions


def test_lord_howe_shifts_by_half_an_hour() -> None:
    assert local_slots("15 2 * * *", "Australia/Lord_Howe", "2027-10-02T12:00", 2) == [
        "2027-10-03T02:45+11:00",
        "2027-10-04T02:15+11:00",
    ]
    assert local_slots("45 * * * *", "Australia/Lord_Howe", "2027-04-04T01:00", 3) == [
        "2027-04-04T01:45+11:00",
        "2027-04-04T01:45+10:30",
        "2027-04-04T02:45+10:30",
    ]


@pytest.mark.parametrize("time_zone", ["Pacific/Apia", "Pacific/Fakaofo"])
def test_the_day_that_samoa_skipped_is_read_with_the_offset_before_it(time_zone: str) -> None:
    days = [slot[:16] for slot in local_slots("0 9 * * *", time_zone, "2011-12-28T12:00", 3)]
    # 30 December 09:00 does not exist and is the instant of 31 December 09:00: one slot.
    assert days == ["2011-12-29T09:00", "2011-12-31T09:00", "2012-01-01T09:00"]


def test_an_hourly_rule_has_no_slot_on_the_day_that_samoa_skipped() -> None:
    recurrence = Recurrence.parse("0 * * * *", "Pacific/Apia")
    found = list(slots(recurrence, at("2011-12-29T09:30Z"), at("2011-12-31T12:30Z")))
    assert {later - earlier for earlier, later in pairwise(found)} == {timedelta(hours=1)}
    assert "2011-12-30" not in {local_time(recurrence, slot).date().isoformat() for slot in found}


# --- R05: days that a month lacks


def test_a_monthly_rule_on_the_31st_skips_shorter_months() -> None:
    assert local_days("0 9 31 * *", "2027-01-01T00:00", 5) == [
        "2027-01-31",
        "2027-03-31",
        "2027-05-31",
        "2027-07-31",
        "2027-08-31",
    ]


def test_a_monthly_rule_on_the_30th_skips_february() -> None:
    assert local_days("0 9 30 * *", "2027-01-01T00:00", 3) == [
        "2027-01-30",
        "2027-03-30",
        "2027-04-30",
    ]


def test_the_29th_of_february_comes_every_leap_year() -> None:
    assert local_days("0 0 29 2 *", "2027-01-01T00:00", 2) == ["2028-02-29", "2032-02-29"]
    assert local_days("0 0 29 2 *", "2096-03-01T00:00", 1) == ["2104-02-29"]


# --- R06: day-of-month and day-of-week


def test_both_day_fields_restricted_mean_either() -> None:
    friday_or_13th = ["2027-09-03", "2027-09-10", "2027-09-13", "2027-09-17", "2027-09-24"]
    assert local_days("0 9 13 * 5", "2027-09-01T00:00", 5) == friday_or_13th


def test_a_step_restricts_a_day_field_too() -> None:
    odd_days_or_mondays = ["2027-09-01", "2027-09-03", "2027-09-05", "2027-09-06", "2027-09-07"]
    assert local_days("0 9 */2 * 1", "2027-08-31T12:00", 5) == odd_days_or_mondays
    assert local_days("0 9 1 * */3", "2027-08-31T12:00", 3) == [
        "2027-09-01",  # the 1st, and a Wednesday
        "2027-09-04",
        "2027-09-05",
    ]


def test_a_step_of_one_restricts_nothing() -> None:
    assert local_days("0 9 */1 * 1", "2027-09-01T00:00", 2) == ["2027-09-06", "2027-09-13"]


@pytest.mark.parametrize("sunday", ["0", "7", "SUN", "sun"])
def test_sunday_is_0_and_7(sunday: str) -> None:
    assert local_days(f"0 9 * * {sunday}", "2027-09-01T00:00", 2) == ["2027-09-05", "2027-09-12"]


def test_names_of_weekdays_and_months_are_read() -> None:
    week = ["2027-02-26", "2027-12-01", "2027-12-02", "2027-12-03", "2027-12-06"]
    assert local_days("0 9 * feb,DEC MON-FRI", "2027-02-25T12:00", 5) == week


# --- R08: what is refused


@pytest.mark.parametrize(
    "cron", ["0 0 30 2 *", "0 0 31 4,6,9,11 *", "0 0 31 2 *", "0 0 30-31 FEB *", "0 0 31 2 */1"]
)
def test_a_rule_that_never_comes_is_refused_at_once_with_the_reason(cron: str) -> None:
    started = time.monotonic()
    with pytest.raises(InvalidRecurrence, match=r"never comes: no month of .* has a day 3"):
        Recurrence.parse(cron, "Europe/Paris")
    assert time.monotonic() - started < 1


@pytest.mark.parametrize(
    "cron", ["", "   ", "0 9 * *", "0 0 9 * * *", "0 9 * * * 2027", "@daily", "0 9 * * * ; ls"]
)
def test_anything_but_five_fields_is_refused(cron: str) -> None:
    with pytest.raises(InvalidRecurrence, match="give exactly five"):
        Recurrence.parse(cron, "Europe/Paris")


@pytest.mark.parametrize(
    ("cron", "field"),
    [
        ("60 9 * * *", "minute"),
        ("-1 9 * * *", "minute"),
        ("5/15 9 * * *", "minute"),
        ("*/60 9 * * *", "minute"),
        ("*/0 9 * * *", "minute"),
        ("5-5/2 9 * * *", "minute"),
        ("0, 9 * * *", "minute"),
        ("*,5 9 * * *", "minute"),
        ("٣ 9 * * *", "minute"),
        ("9" * 5000 + " 9 * * *", "minute"),
        ("0 24 * * *", "hour"),
        ("0 22-2 * * *", "hour"),
        ("0 9h * * *", "hour"),
        ("0 9 0 * *", "day-of-month"),
        ("0 9 32 * *", "day-of-month"),
        ("0 9 L * *", "day-of-month"),
        ("0 9 LW * *", "day-of-month"),
        ("0 9 15W * *", "day-of-month"),
        ("0 9 ? * MON", "day-of-month"),
        ("0 9 * 13 *", "month"),
        ("0 9 * 0 *", "month"),
        ("0 9 * MON *", "month"),
        ("0 9 * * 8", "day-of-week"),
        ("0 9 * * 5L", "day-of-week"),
        ("0 9 * * 5#2", "day-of-week"),
        ("0 9 * * MONDAY", "day-of-week"),
        ("0 9 * * FRI-MON", "day-of-week"),
        ("0 9 * * \N{LATIN SMALL LETTER LONG S}UN", "day-of-week"),
    ],
)
def test_text_outside_the_grammar_is_refused_and_the_field_is_named(cron: str, field: str) -> None:
    with pytest.raises(InvalidRecurrence, match=f"recurrence's {field} ") as refusal:
        Recurrence.parse(cron, "Europe/Paris")
    assert len(refusal.value.message) < 300


@pytest.mark.parametrize(
    "cron",
    [
        "* * * * *",
        "*/4 * * * *",
        "*/7 * * * *",  # 56 and 00
        "0-59/5,3 * * * *",
        "1,5 9 * * *",
        "0,58 9,10 * * *",  # 09:58 and 10:00
        "0,58 0,23 * * *",  # 23:58 and 00:00
        "0,58 0,23 28,29 * *",
        "0,58 0,23 31,1 * *",  # over the end of a month
        "0,58 0,23 29 2 THU",  # over the rare days on which both come
    ],
)
def test_a_rule_finer_than_five_minutes_is_refused(cron: str) -> None:
    with pytest.raises(InvalidRecurrence, match="five minutes"):
        Recurrence.parse(cron, "Europe/Paris")


@pytest.mark.parametrize(
    "cron",
    [
        "*/5 * * * *",
        "3-59/5 * * * *",
        "0,55 * * * *",
        "0,58 9 * * *",
        "0,58 9,11 * * *",
        "0,58 0,23 1 * *",  # 23:58 and 00:00, but never on days in a row
        "0,58 0,23 * * MON,WED,FRI",
        "0,58 0,23 29 2 *",
    ],
)
def test_a_rule_of_five_minutes_or_more_is_accepted(cron: str) -> None:
    started = time.monotonic()
    Recurrence.parse(cron, "Europe/Paris")
    assert time.monotonic() - started < 1


def test_an_unknown_zone_is_refused() -> None:
    with pytest.raises(UnknownTimeZone):
        Recurrence.parse("0 9 * * *", "EST")


def test_one_rule_has_one_spelling() -> None:
    parsed = Recurrence.parse("  0 9\t* * mon ", "Europe/Paris")
    assert parsed == Recurrence("0 9 * * MON", "Europe/Paris")


# --- asking


def test_a_slot_is_strictly_after_the_instant_asked_from() -> None:
    recurrence = Recurrence.parse("0 9 * * *", "Asia/Kathmandu")
    slot = at("2027-01-01T03:15Z")
    assert next_slot(recurrence, slot - timedelta(microseconds=1)) == slot
    assert next_slot(recurrence, slot) == slot + DAY
    assert list(slots(recurrence, slot, slot + DAY)) == [slot + DAY]
    assert list(slots(recurrence, slot, slot + DAY - timedelta(microseconds=1))) == []


def test_slots_are_utc_instants_whatever_zone_the_question_is_in() -> None:
    recurrence = Recurrence.parse("0 9 * * *", "Europe/Paris")
    slot = next_slot(recurrence, at("2027-01-01T20:00:00+14:00"))
    assert slot is not None
    assert slot.tzinfo is UTC
    assert slot == at("2027-01-01T08:00Z")


def test_a_naive_instant_is_a_programming_error() -> None:
    recurrence = Recurrence.parse("0 9 * * *", "Europe/Paris")
    with pytest.raises(ValueError, match="aware"):
        next_slot(recurrence, datetime(2027, 1, 1))  # noqa: DTZ001 that is the point


def test_beyond_the_horizon_there_is_no_slot() -> None:
    recurrence = Recurrence.parse("0 0 29 2 *", "Europe/Paris")
    assert next_slot(recurrence, datetime.max.replace(tzinfo=UTC)) is None


def test_asking_is_fast() -> None:
    recurrence = Recurrence.parse("*/5 * * * *", "Europe/Paris")
    started = time.process_time()
    found = list(slots(recurrence, at("2027-06-01T00:00Z"), at("2027-06-04T12:00Z")))
    assert len(found) == 1008
    assert time.process_time() - started < 1
