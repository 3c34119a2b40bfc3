"""Names of time zones: IANA's, exactly (case R13)."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest

from queries_orchestration.model.errors import UnknownTimeZone
from queries_orchestration.model.time_zones import instant_of, zone


@pytest.mark.parametrize(
    "name", ["Europe/Kiev", "Europe/Kyiv", "Asia/Kathmandu", "UTC", "America/Indiana/Knox"]
)
def test_an_iana_name_is_accepted(name: str) -> None:
    assert zone(name).key == name


def test_both_spellings_of_kyiv_give_the_same_instants() -> None:
    for month in range(1, 13):
        noon = datetime(2027, month, 15, 12)  # noqa: DTZ001 a wall time
        assert instant_of(noon, zone("Europe/Kiev")) == instant_of(noon, zone("Europe/Kyiv"))


def test_kathmandu_is_five_hours_and_three_quarters_ahead() -> None:
    moment = datetime(2027, 1, 1, tzinfo=zone("Asia/Kathmandu"))
    assert moment.utcoffset() == timedelta(hours=5, minutes=45)


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        "EST",
        "EST5EDT",
        "CET",
        "GB",
        "utc",
        "UTC+5.5",
        "+05:30",
        "GMT Standard Time",
        "europe/berlin",
        "Europe/Berlin ",
        "../etc/passwd",
        "/etc/passwd",
        "Europe/../Europe/Berlin",
        "posix/Europe/Berlin",
        "Europe/Berlin\0",
        "Europe",
        "x" * 100_000,
    ],
)
def test_any_other_name_is_refused(name: str) -> None:
    with pytest.raises(UnknownTimeZone) as refusal:
        zone(name)
    assert "IANA name" in refusal.value.message
    assert len(refusal.value.message) < 250


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("europe/berlin", "Europe/Berlin"),
        ("Berlin", "Europe/Berlin"),
        ("new york", "America/New_York"),
        ("Europe/Belrin", "Europe/Berlin"),
        ("EST", "America/New_York"),
        ("GMT Standard Time", "Europe/London"),
        ("utc", "UTC"),
    ],
)
def test_a_refusal_suggests_the_nearest_name(name: str, suggestion: str) -> None:
    with pytest.raises(UnknownTimeZone, match=f"did you mean {suggestion}"):
        zone(name)


def test_a_wall_time_in_the_gap_is_read_with_the_offset_before_it() -> None:
    half_past_two = datetime(2027, 3, 14, 2, 30)  # noqa: DTZ001 a wall time
    instant = instant_of(half_past_two, zone("America/New_York"))
    assert instant == datetime(2027, 3, 14, 7, 30, tzinfo=UTC)


def test_a_wall_time_that_exists_twice_is_its_first() -> None:
    half_past_one = datetime(2027, 11, 7, 1, 30)  # noqa: DTZ001 a wall time
    instant = instant_of(half_past_one, zone("America/New_York"))
    assert instant == datetime(2027, 11, 7, 5, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("offset", "suggestion"),
    [
        ("UTC+5.5", "Asia/Kolkata"),
        ("UTC+05:30", "Asia/Kolkata"),
        ("GMT+0545", "Asia/Kathmandu"),
        ("-3:30", "America/St_Johns"),
        ("UTC+5", "Etc/GMT-5"),
        ("+01:00", "Etc/GMT-1"),
        ("GMT-8", "Etc/GMT+8"),
        ("UTC+0", "UTC"),
    ],
)
def test_an_offset_suggests_a_zone_that_far_from_utc(offset: str, suggestion: str) -> None:
    with pytest.raises(UnknownTimeZone, match=f"did you mean {re.escape(suggestion)}\\?"):
        zone(offset)


@pytest.mark.parametrize("offset", ["", "UTC+99", "UTC+5:17", "+-5"])
def test_what_is_like_nothing_is_refused_with_examples(offset: str) -> None:
    with pytest.raises(UnknownTimeZone, match="such as Europe/Berlin or America/New_York, or UTC"):
        zone(offset)
