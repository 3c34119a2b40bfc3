"""Relative values are counted from the slot in the schedule's zone (case P05)."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest

from queries_orchestration.model.errors import InvalidRuntimeValue
from queries_orchestration.model.runtime_values import (
    Parameter,
    dump_values,
    load_values,
    parse_parameter,
    resolve_values,
)

LOS_ANGELES = "America/Los_Angeles"
# The slot of 2027-02-01 00:05 in Los Angeles.
SLOT = datetime.fromisoformat("2027-02-01T00:05:00-08:00")
LAST_MONTH = {"start_of": "month", "shift": -1}


def wall(text: str) -> datetime:
    return datetime.fromisoformat(text)


def parameter(type_: str, **keys: object) -> Parameter:
    return parse_parameter({"name": "value", "type": type_, **keys})


def resolved(
    one: Parameter, given_value: object, *, moment: datetime = SLOT, zone: str = LOS_ANGELES
) -> object:
    return resolve_values([one], {"value": given_value}, moment=moment, time_zone=zone)["value"]


def test_last_month_is_counted_from_the_slot_in_the_schedules_zone() -> None:
    since = parse_parameter({"name": "since", "type": "timestamptz", "default": LAST_MONTH})
    until = parse_parameter(
        {"name": "until", "type": "timestamptz", "default": {"start_of": "month"}}
    )
    window = resolve_values([since, until], {}, moment=SLOT, time_zone=LOS_ANGELES)
    assert window == {
        "since": datetime.fromisoformat("2027-01-01T00:00:00-08:00"),
        "until": datetime.fromisoformat("2027-02-01T00:00:00-08:00"),
    }
    assert load_values(dump_values(window), [since, until]) == window
    last_row = datetime.fromisoformat("2027-01-31T23:59:59.999999-08:00")
    assert window["since"] <= last_row < window["until"]  # type: ignore[operator]


def test_the_zone_decides_which_month_it_is() -> None:
    moment = datetime(2027, 2, 1, 5, tzinfo=UTC)  # still January in Los Angeles
    this_month = {"start_of": "month"}
    assert resolved(parameter("date"), this_month, moment=moment) == date(2027, 1, 1)
    assert resolved(parameter("date"), this_month, moment=moment, zone="UTC") == date(2027, 2, 1)


@pytest.mark.parametrize("day", [29, 30, 31])
def test_one_month_before_the_end_of_march_is_the_first_of_february(day: int) -> None:
    moment = datetime(2027, 3, day, 20, tzinfo=UTC)
    assert resolved(parameter("date"), LAST_MONTH, moment=moment) == date(2027, 2, 1)


@pytest.mark.parametrize(
    ("unit", "shift", "expected"),
    [
        ("day", 0, "2027-02-01"),
        ("day", -1, "2027-01-31"),
        ("day", 28, "2027-03-01"),
        ("week", 0, "2027-02-01"),  # a Monday
        ("week", -1, "2027-01-25"),
        ("month", -2, "2026-12-01"),
        ("month", 11, "2028-01-01"),
        ("month", -14, "2025-12-01"),
        ("quarter", 0, "2027-01-01"),
        ("quarter", -1, "2026-10-01"),
        ("quarter", 1, "2027-04-01"),
        ("year", 0, "2027-01-01"),
        ("year", -1, "2026-01-01"),
    ],
)
def test_a_start_is_shifted_by_its_own_units(unit: str, shift: int, expected: str) -> None:
    as_mapping = {"start_of": unit, "shift": shift}
    on_the_command_line = f"start_of:{unit},shift:{shift}"
    midnight = wall(f"{expected}T00:00")
    for given_value in (as_mapping, on_the_command_line):
        assert resolved(parameter("date"), given_value) == midnight.date()
        assert resolved(parameter("timestamp"), given_value) == midnight
        assert resolved(parameter("timestamptz"), given_value) == midnight.replace(
            tzinfo=ZoneInfo(LOS_ANGELES)
        )


@pytest.mark.parametrize(("day", "monday"), [(6, 1), (7, 1), (8, 8), (14, 8)])
def test_a_week_starts_on_monday(day: int, monday: int) -> None:
    moment = datetime(2027, 2, day, 20, tzinfo=UTC)
    assert resolved(parameter("date"), {"start_of": "week"}, moment=moment) == date(2027, 2, monday)


def test_a_start_of_without_shift_is_the_present_unit() -> None:
    assert resolved(parameter("date"), "start_of:quarter") == date(2027, 1, 1)


def test_a_midnight_in_the_gap_is_read_with_the_offset_before_it() -> None:
    moment = datetime(2018, 11, 4, 15, tzinfo=UTC)  # Sao Paulo went from 00:00 to 01:00
    start = resolved(
        parameter("timestamptz"), {"start_of": "day"}, moment=moment, zone="America/Sao_Paulo"
    )
    assert start == datetime(2018, 11, 4, 3, tzinfo=UTC)


@pytest.mark.parametrize(
    "malformed",
    [
        {"start_of": "fortnight"},
        {"start_of": "month", "shift": "-1"},
        {"start_of": "month", "shift": 1.0},
        {"start_of": "month", "shift": True},
        {"start_of": "month", "shift": 1001},
        {"start_of": "month", "by": 1},
        {"start_of": ["month"]},
        {"shift": 1},
        {},
        "start_of:month,shift:",
        "start_of:month,shift:99999",
        "start_of: month",
        "start_of:month shift:-1",
        "yesterday",
    ],
)
@pytest.mark.parametrize("type_", ["date", "timestamp", "timestamptz"])
def test_a_malformed_start_is_refused_with_the_right_form(type_: str, malformed: object) -> None:
    with pytest.raises(InvalidRuntimeValue, match=r"'value': give .*start_of: month, shift: -1"):
        resolved(parameter(type_), malformed)


def test_a_relative_value_must_be_allowed_too() -> None:
    first_days = parameter("date", allowed=["2027-01-01"])
    assert resolved(first_days, {"start_of": "year"}) == date(2027, 1, 1)
    with pytest.raises(InvalidRuntimeValue, match="give one of"):
        resolved(first_days, {"start_of": "month"})


def test_values_as_a_person_gave_them_are_stored_relative() -> None:
    since = parse_parameter({"name": "since", "type": "date"})
    stored = dump_values({"since": LAST_MONTH})
    assert stored == '{"since": {"start_of": "month", "shift": -1}}'
    given_again = json.loads(stored)
    for month in (2, 3):
        moment = datetime(2027, month, 15, tzinfo=UTC)
        values = resolve_values([since], given_again, moment=moment, time_zone="UTC")
        assert values == {"since": date(2027, month - 1, 1)}
