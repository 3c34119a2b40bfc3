"""``queries backfill``: the days that nobody delivered, for operators."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from queries_orchestration.deliveries.backfill import backfill_range
from queries_orchestration.model.audit import OPERATOR
from queries_orchestration.model.backfills import CALLED_OFF
from queries_orchestration.model.clock import system_clock
from queries_orchestration.model.errors import StoreUnavailable
from queries_orchestration.store import tables
from queries_orchestration_tests.cli.conftest import Call
from queries_orchestration_tests.deliveries.audited import only, trail
from queries_orchestration_tests.house import House


@pytest.fixture
def late_house(small_house: House) -> House:
    """The small house as of today; its noon of two days ago was missed."""
    today = system_clock().replace(hour=13, minute=0)
    small_house.clock.at = today - timedelta(days=4)
    small_house.apply(
        "workspace: {name: acme}\n"
        "schedules:\n  daily: {title: Daily, query: all-orders, owner: ada, cron: 0 12 * * *,"
        " time_zone: UTC, format: csv, recipients: [bob]}\n"
    )
    small_house.deliver(today - timedelta(days=1))
    return small_house


def day(ago: int) -> str:
    return (system_clock() - timedelta(days=ago)).date().isoformat()


def test_it_tells_what_it_admits_of_each_day_and_does_it_once(
    late_house: House, call: Call
) -> None:
    asked = ("backfill", day(3), day(1), "--schedule", "daily")

    told = call(late_house.environment, *asked, "--json").json()

    assert told["admitted"] == 2
    found = [(one["day"], one["missed"], one["missing"], one["failed"]) for one in told["days"]]
    assert found == [(day(3), 1, 0, 0), (day(2), 1, 0, 0), (day(1), 0, 0, 0)]
    again = call(late_house.environment, *asked)
    assert again.status == 0
    assert again.out.splitlines()[0].split() == [
        "DAY",
        "MISSED",
        "MISSING",
        "CALLED",
        "OFF",
        "FAILED",
    ]
    assert again.out.splitlines()[1].split() == [day(3), "0", "0", "0", "0"]
    history = call(late_house.environment, "history", "daily").out
    assert " ".join(history.split()).count("backfilled, admitted at") == 2
    assert "missed before: A newer slot" in " ".join(history.split())
    events = [one for one in trail(late_house) if one.action == "backfill_launched"]
    assert [one.by for one in events] == [OPERATOR] * 2


def test_it_tells_apart_what_an_earlier_one_called_off(late_house: House, call: Call) -> None:
    asked = ("backfill", day(3), day(1), "--schedule", "daily", "--json")
    call(late_house.environment, *asked)
    with late_house.backends.database.across.transaction() as connection:
        waiting = tables.occurrences.c.outcome.is_(None)
        connection.execute(sa.update(tables.claims).values(state="done", lease_until=None))
        connection.execute(
            sa.update(tables.occurrences)
            .where(waiting)
            .values(outcome="missed", code=CALLED_OFF, settled_at=late_house.clock.at)
        )

    told = call(late_house.environment, *asked).json()

    assert told["admitted"] == 2
    assert [(one["missed"], one["called_off"]) for one in told["days"]] == [(0, 1), (0, 1), (0, 0)]


@pytest.mark.parametrize("as_json", [False, True])
def test_a_schedule_that_it_could_not_look_at_is_told_and_is_no_success(
    late_house: House, call: Call, as_json: bool
) -> None:
    schedule_id = late_house.schedule("daily").id
    with late_house.backends.database.across.transaction() as connection:
        spoilt = sa.update(tables.schedules).where(tables.schedules.c.id == schedule_id)
        connection.execute(spoilt.values(time_zone="Mars/Olympus"))

    told = call(late_house.environment, "backfill", day(2), *(["--json"] if as_json else []))

    assert told.status == 1
    passed_over = {"schedule": schedule_id, "code": "unknown_time_zone"}
    if as_json:
        assert json.loads(told.out)["days"][0]["passed_over"] == [passed_over]
    else:
        assert f"{day(2)}: passed over the schedule {schedule_id}: unknown_time_zone" in told.err


def test_what_was_admitted_before_it_fails_is_told(
    late_house: House, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:

    def failing(*args: Any, **asked: Any) -> Iterator[Any]:
        yield next(backfill_range(*args, **asked))
        raise StoreUnavailable("The database is gone.")

    monkeypatch.setattr("queries_orchestration.cli.backfill.backfill_range", failing)

    told = call(late_house.environment, "backfill", day(3), day(1), "--schedule", "daily")

    assert told.status == 1
    assert f"Up to {day(3)}, 1 slots were admitted" in told.err
    assert "The database is gone." in told.err


def test_a_person_without_authority_is_refused_and_recorded(late_house: House, call: Call) -> None:
    told = call(
        late_house.environment, "backfill", day(2), "--schedule", "daily", "--as", "bob", "--json"
    )

    assert (told.status, told.refusal()["code"]) == (2, "not_found")
    assert only(late_house, "refused").attempted == "backfill_launched"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("yesterday",), "usage"),
        (("9999-01-01",), "usage"),
        ((day(-2),), "future_day"),
        (("2020-01-01",), "before_history"),
        ((day(1), day(2)), "empty_range"),
        ((day(1), "--schedule", "unknown"), "not_found"),
    ],
)
def test_what_cannot_be_is_refused(
    words: tuple[str, ...], code: str, late_house: House, call: Call
) -> None:
    assert call(late_house.environment, "backfill", *words, "--json").refusal()["code"] == code
