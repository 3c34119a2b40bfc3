"""When a schedule was active, and which slots of a UTC day were due then."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from queries_orchestration.model.backfills import (
    HISTORY,
    Change,
    Life,
    Turn,
    day_of,
    life_of,
    missing_slots,
)
from queries_orchestration.model.recurrences import Recurrence

CREATED = datetime(2027, 1, 1, 7, tzinfo=UTC)
NOW = datetime(2027, 1, 10, 12, 30, tzinfo=UTC)


def at(day: int, hour: int = 0, minute: int = 0) -> datetime:
    return datetime(2027, 1, day, hour, minute, tzinfo=UTC)


def life(*changes: tuple[int, int, Turn], created_at: datetime = CREATED) -> Life:
    """The life of a schedule whose turns came on these days of January at these hours."""
    return life_of(
        created_at, [Change(at(day, hour), turn) for day, hour, turn in changes], now=NOW
    )


def due(of: Life, *slots: datetime) -> list[bool]:
    return [of.was_due(slot) for slot in slots]


def hours(of: Life, day: date, *, before: datetime | None = None) -> list[int]:
    """The hours of a UTC day at which an hourly schedule had slots."""
    recurrence = Recurrence.parse("0 * * * *", "UTC")
    return [slot.hour for slot in missing_slots(recurrence, of, day, before=before)]


def test_nothing_was_due_before_the_creation_or_is_after_now() -> None:
    found = life()

    assert due(found, CREATED, CREATED + timedelta(minutes=1)) == [False, True]
    assert due(found, NOW, NOW + timedelta(minutes=1)) == [True, False]
    assert hours(found, date(2027, 1, 1)) == list(range(8, 24))
    assert hours(found, date(2027, 1, 10)) == list(range(13))


def test_a_day_begins_at_midnight_by_utc_and_ends_before_the_next() -> None:
    day = day_of(date(2027, 1, 4))

    assert [one in day for one in (at(4), at(5) - timedelta(microseconds=1), at(5))] == [
        True,
        True,
        False,
    ]
    assert hours(life(), date(2027, 1, 4)) == list(range(24))


def test_a_slot_at_the_instant_of_a_pause_was_due_and_one_at_that_of_the_resumption_not() -> None:
    found = life((3, 5, "paused"), (3, 20, "resumed"))

    assert hours(found, date(2027, 1, 3)) == [*range(6), 21, 22, 23]
    assert due(found, at(3, 5), at(3, 6), at(3, 20), at(3, 21)) == [True, False, False, True]


def test_several_pauses_are_each_left_out() -> None:
    found = life(
        (3, 5, "paused"), (3, 8, "resumed"), (3, 10, "paused"), (3, 11, "paused"), (5, 0, "resumed")
    )

    assert hours(found, date(2027, 1, 3)) == [*range(6), 9, 10]
    assert hours(found, date(2027, 1, 4)) == []


def test_a_pause_that_nobody_told_of_is_as_long_as_it_can_have_been() -> None:
    """It is older than the trail, or came with a definition that took an unreadable row's place."""
    assert hours(life((3, 20, "resumed")), date(2027, 1, 2)) == []
    after_change = life((3, 5, "changed"), (3, 20, "resumed"))
    assert due(after_change, at(3, 4), at(3, 6), at(3, 21)) == [True, False, True]
    assert hours(after_change, date(2027, 1, 3)) == [21, 22, 23]


def test_what_is_recorded_was_due_before_a_change_but_no_slot_is_made_by_the_new_rule() -> None:
    found = life((3, 12, "changed"))

    assert found.was_due(at(3, 5))
    assert hours(found, date(2027, 1, 3)) == list(range(13, 24))
    assert hours(found, date(2027, 1, 2)) == []


def test_a_schedule_that_had_ended_was_not_active_until_it_was_defined_anew() -> None:
    found = life((3, 5, "ended"), (4, 5, "changed"))

    assert due(found, at(3, 4), at(3, 6), at(4, 5), at(4, 6)) == [True, False, False, True]


def test_one_that_had_ended_while_it_was_paused_goes_on_when_it_is_defined_anew() -> None:
    found = life((3, 5, "paused"), (3, 8, "ended"), (4, 5, "changed"))

    assert due(found, at(3, 4), at(3, 6), at(3, 9), at(4, 6)) == [True, False, False, True]


def test_a_change_while_it_is_paused_does_not_resume_it() -> None:
    found = life((3, 5, "paused"), (3, 8, "changed"), (3, 12, "resumed"))

    assert hours(found, date(2027, 1, 3)) == list(range(13, 24))
    assert due(found, at(3, 4), at(3, 10)) == [True, False]


def test_turns_of_one_instant_are_read_in_the_order_that_makes_sense() -> None:
    turns: tuple[Turn, ...] = ("resumed", "paused")
    found = life_of(CREATED, [Change(at(3, 5), turn) for turn in turns], now=NOW)

    assert due(found, at(3, 5), at(3, 6)) == [True, True]


def test_the_history_reaches_back_a_year() -> None:
    created = NOW - 2 * HISTORY
    found = life_of(created, [Change(created + HISTORY / 2, "paused")], now=NOW)

    assert due(found, NOW - HISTORY, NOW - HISTORY + timedelta(minutes=1)) == [False, True]
    assert hours(found, (NOW - HISTORY).date()) == list(range(13, 24))


def test_what_the_dispatcher_has_yet_to_reach_is_its_own() -> None:
    assert hours(life(), date(2027, 1, 10), before=at(10, 9)) == list(range(9))


@pytest.mark.parametrize(
    ("cron", "zone", "day", "slots"),
    [
        # A gap: 02:30 is read as 03:30, 01:30 by UTC; and the hour that comes twice: its first.
        ("30 2 * * *", "Europe/Berlin", date(2027, 3, 28), ["01:30"]),
        ("30 2 * * *", "Europe/Berlin", date(2027, 10, 31), ["00:30"]),
        ("0 */6 * * *", "Europe/Berlin", date(2027, 10, 31), ["05:00", "11:00", "17:00", "23:00"]),
        # Local days that are not those of UTC.
        ("30 23 * * 0", "America/Los_Angeles", date(2027, 1, 4), ["07:30"]),
        ("0 9 * * 2", "Pacific/Kiritimati", date(2027, 1, 4), ["19:00"]),
        ("0 9 * * 1", "Pacific/Kiritimati", date(2027, 1, 4), []),
        ("0 0,12 * * *", "Asia/Kathmandu", date(2027, 1, 4), ["06:15", "18:15"]),
    ],
)
def test_a_slot_is_of_the_utc_day_that_its_instant_is_in(
    cron: str, zone: str, day: date, slots: list[str]
) -> None:
    always = life_of(datetime(2026, 12, 1, tzinfo=UTC), [], now=datetime(2027, 11, 20, tzinfo=UTC))

    found = missing_slots(Recurrence.parse(cron, zone), always, day, before=None)

    assert [f"{slot:%H:%M}" for slot in found] == slots
