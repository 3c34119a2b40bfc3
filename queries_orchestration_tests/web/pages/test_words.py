"""How pages put times, rules and numbers."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from queries_orchestration.model.outcomes import Outcome
from queries_orchestration.model.recurrences import Recurrence
from queries_orchestration.store.occurrences import Ended
from queries_orchestration.telling.days import WORST_FIRST, days_of, first_day, midnight
from queries_orchestration.web.pages import words
from queries_orchestration.web.pages.chart import HEIGHT, WIDTH, bars_of, round_top

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2027, 3, 28, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("cron", "said"),
    [
        ("0 8 * * 1", "Every Monday at 08:00"),
        ("5 23 * * SUN", "Every Sunday at 23:05"),
        ("5 23 * * 7", "Every Sunday at 23:05"),
        ("30 6 * * *", "Every day at 06:30"),
        ("30 6 * * MON-FRI", "Monday to Friday at 06:30"),
        ("0 7 15 * *", "On day 15 of each month at 07:00"),
        ("*/5 * * * *", "Every 5 minutes"),
        ("0 7 1 1 *", "0 7 1 1 *"),
        ("0 7,9 * * *", "0 7,9 * * *"),
        ("0 7 13 * FRI", "0 7 13 * FRI"),
    ],
)
def test_a_plain_rule_is_put_in_words_and_any_other_as_it_is(cron: str, said: str) -> None:
    assert words.rule(Recurrence.parse(cron, "Europe/Berlin")) == said


def test_the_last_day_of_the_month() -> None:
    rule = Recurrence.parse("0 7 * * *", "Europe/Berlin", last_day=True)
    assert words.rule(rule) == "On the last day of the month at 07:00"


def test_a_time_says_its_offset() -> None:
    assert words.moment(NOW, BERLIN) == "Sun 28 Mar 2027, 14:00 +02:00"
    assert words.moment(NOW - timedelta(days=1), BERLIN) == "Sat 27 Mar 2027, 13:00 +01:00"


@pytest.mark.parametrize(
    ("apart", "said"),
    [
        (timedelta(0), "just now"),
        (timedelta(seconds=-50), "just now"),
        (timedelta(seconds=50), "in less than a minute"),
        (timedelta(minutes=1), "in 1 minute"),
        (timedelta(hours=-5), "5 hours ago"),
        (timedelta(days=2, hours=3), "in 2 days"),
    ],
)
def test_how_far_ahead_or_ago(apart: timedelta, said: str) -> None:
    assert words.from_now(NOW + apart, NOW) == said


def test_relative_values_are_put_in_words() -> None:
    assert words.value({"start_of": "month", "shift": -1}) == "start of the month, 1 before"
    assert words.value({"start_of": "day", "shift": 0}) == "start of the day"
    assert words.value(["a", 1]) == "a, 1"


def test_an_outside_address_without_a_name_stays_unnamed() -> None:
    told = {"person": None, "outside": "abcdefghij", "title": None}
    assert words.recipient(told) == "Outside address abcdef"


def test_every_outcome_has_a_word_and_a_place_among_the_worst() -> None:
    outcomes = set(Outcome.__args__)  # type: ignore[attr-defined]
    assert outcomes | {"unsettled"} == set(WORST_FIRST)
    assert set(WORST_FIRST) <= set(words.OUTCOMES)


def test_a_day_shows_its_worst_by_the_clocks_of_the_schedule() -> None:
    def ended(hour: int, outcome: str | None) -> Ended:
        at = datetime(2027, 3, 27, hour, 30, tzinfo=UTC)
        return Ended(f"{hour}", at, outcome)

    days = days_of(
        [ended(1, "delivered"), ended(2, "failed"), ended(3, None), ended(23, "delivered")],
        first=date(2027, 3, 26),
        last=date(2027, 3, 28),
        clocks=BERLIN,
    )
    told = [(one.outcome, one.count, one.key) for one in days]
    # Half past eleven in the night of UTC is the next day in Berlin.
    assert told == [(None, 0, None), ("failed", 3, "2"), ("delivered", 1, "23")]


def test_weeks_begin_on_monday_and_days_at_local_midnight() -> None:
    assert first_day(date(2027, 3, 28), 2) == date(2027, 3, 15)
    assert midnight(date(2027, 3, 29), BERLIN).astimezone(UTC).hour == 22


@pytest.mark.parametrize(
    ("largest", "top"), [(0, 1), (1, 1), (3, 5), (21, 25), (99, 100), (101, 200), (0.03, 0.05)]
)
def test_the_top_is_round(largest: float, top: float) -> None:
    assert round_top(largest) == pytest.approx(top)


def test_bars_stay_in_the_drawing_and_what_is_something_can_be_seen() -> None:
    drawn = bars_of([0, 1, 1_000_000])
    assert drawn.top == 1_000_000
    assert drawn.bars[0].height == 0 < drawn.bars[1].height
    assert drawn.bars[2].height == HEIGHT
    assert all(bar.x >= 0 and bar.x + bar.width <= WIDTH for bar in drawn.bars)
    assert bars_of([]).bars == ()
