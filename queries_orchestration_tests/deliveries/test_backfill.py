"""What nobody delivered is admitted for a day, once, and within its bounds."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from queries_orchestration.catalog.apply import apply_catalog
from queries_orchestration.deliveries import schedule_changes
from queries_orchestration.deliveries.backfill import BATCH_SECONDS, Backfilled, backfill_range
from queries_orchestration.deliveries.resolve import resolve
from queries_orchestration.deliveries.stop_dispatch import start_dispatch, stop_dispatch
from queries_orchestration.model.audit import OPERATOR
from queries_orchestration.model.backfills import CALLED_OFF, HISTORY
from queries_orchestration.model.errors import Refused
from queries_orchestration.receives.start import NothingToDo, start
from queries_orchestration.settings import DELIVERY_LANE, REPORT_LANE
from queries_orchestration.store import schedules, tables
from queries_orchestration.store.missed import miss_waiting, record_missed
from queries_orchestration_tests.deliveries.backfilled import (
    FRIDAY,
    HOURLY,
    SATURDAY,
    SUNDAY,
    at,
    fill,
    hours,
    of_hourly,
)
from queries_orchestration_tests.house import MONDAY, WEEK, House
from queries_orchestration_tests.report_house import build_report_house


@pytest.fixture
def hourly(house: House) -> House:
    """The house with an hourly schedule; nothing has been dispatched."""
    house.apply(HOURLY.format(cron="0 * * * *", more=""))
    return house


def paused_and_resumed(house: House, paused: datetime, resumed: datetime) -> None:
    """Lose what no pass has reached when the pause comes."""
    schedule_id = house.schedule("hourly").id
    house.clock.at = paused
    schedule_changes.pause(
        house.backends, house.workspace_id, schedule_id=schedule_id, by=OPERATOR, reason="Test."
    )
    house.clock.at = resumed
    schedule_changes.resume(
        house.backends, house.workspace_id, schedule_id=schedule_id, by=OPERATOR
    )


def test_a_missed_slot_is_delivered_once_however_often_it_is_asked_for(house: House) -> None:
    assert house.deliver(MONDAY + WEEK) == ["delivered"]
    (missed, _) = house.history()
    assert missed.outcome == "missed"

    assert fill(house, MONDAY.date()) == Backfilled(missed=1)
    again = house.occurrence(missed.key)
    assert fill(house, MONDAY.date()) == Backfilled()

    assert (again.state, again.outcome, again.via) == ("waiting", None, "backfill")
    assert again.reason == missed.message
    assert house.work(DELIVERY_LANE) == ["delivered"]
    assert fill(house, MONDAY.date()) == Backfilled()
    assert house.work(DELIVERY_LANE) == []
    assert house.occurrence(missed.key).outcome == "delivered"
    assert house.addressees() == ["bob@example.org"] * 2 + ["cyd@example.org"] * 2


def test_what_was_delivered_is_not_admitted_again(house: House) -> None:
    house.deliver(MONDAY)

    assert fill(house, MONDAY.date()) == Backfilled()
    assert len(house.history()) == 1


def test_what_came_due_before_the_pause_is_missing_and_nothing_of_the_pause_or_before_the_creation(
    hourly: House,
) -> None:
    paused_and_resumed(hourly, at(SATURDAY, 12, 30), at(SUNDAY, 5, 30))
    hourly.clock.at = at(SUNDAY, 10, 15)

    assert fill(hourly, FRIDAY - timedelta(days=1)) == Backfilled()
    done = [fill(hourly, day) for day in (FRIDAY, SATURDAY, SUNDAY)]

    assert done == [Backfilled(missing=16), Backfilled(missing=13), Backfilled()]
    assert hours(hourly, FRIDAY) == list(range(8, 24))
    assert hours(hourly, SATURDAY) == list(range(13))


def test_what_the_dispatcher_has_yet_to_reach_and_the_rest_of_today_are_its_own(
    hourly: House,
) -> None:
    hourly.clock.at = at(FRIDAY, 12, 30)
    assert fill(hourly, FRIDAY) == Backfilled()

    done = hourly.dispatch(at(FRIDAY, 12, 30))

    assert (done.admitted, done.missed) == (1, 4)
    assert fill(hourly, FRIDAY) == Backfilled(missed=4)
    assert hours(hourly, FRIDAY) == [8, 9, 10, 11]
    assert hours(hourly, FRIDAY, "recurrence") == [12]


def test_a_day_that_is_to_come_or_older_than_the_history_is_refused(house: House) -> None:
    house.clock.at = MONDAY
    for day, code in (
        (MONDAY.date() + timedelta(days=1), "future_day"),
        ((MONDAY - HISTORY).date() - timedelta(days=1), "before_history"),
    ):
        with pytest.raises(Refused) as refused:
            fill(house, day)
        assert refused.value.code == code


def test_what_is_older_than_the_history_stays_missed(house: House) -> None:
    house.dispatch(MONDAY + WEEK)
    house.clock.at = MONDAY + HISTORY

    assert fill(house, MONDAY.date()) == Backfilled()
    house.clock.at = MONDAY + HISTORY - timedelta(seconds=1)
    assert fill(house, MONDAY.date()) == Backfilled(missed=1)


def test_after_a_change_of_the_rule_recorded_misses_are_delivered_and_no_slot_is_made_up(
    hourly: House,
) -> None:
    hourly.deliver(at(FRIDAY, 12, 30))
    hourly.apply(HOURLY.format(cron="30 * * * *", more=""))
    hourly.dispatch(at(FRIDAY, 14, 45))

    assert fill(hourly, FRIDAY) == Backfilled(missed=5)

    slots = [one.slot for one in hourly.history("hourly") if one.is_backfilled]
    assert slots == [*(at(FRIDAY, hour) for hour in (8, 9, 10, 11)), at(FRIDAY, 13, 30)]


def test_a_paused_or_ended_schedule_is_left_alone_and_told(house: House) -> None:
    house.dispatch(MONDAY + WEEK)
    schedule = house.schedule()
    asked = {"workspace_id": house.workspace_id, "schedule_id": schedule.id}
    for state, code in (("paused", "schedule_paused"), ("ended", "schedule_ended")):
        with house.backends.database.across.transaction() as connection:
            connection.execute(
                sa.update(tables.schedules).values(
                    state=state,
                    next_slot=None,
                    pause_code="test" if state == "paused" else None,
                )
            )
        with pytest.raises(Refused) as refused:
            fill(house, MONDAY.date(), **asked)
        assert refused.value.code == code
        assert fill(house, MONDAY.date()) == Backfilled()


def test_no_lateness_limit_holds_for_it(house: House) -> None:
    with house.backends.database.across.transaction() as connection:
        connection.execute(sa.update(tables.schedules).values(lateness_limit=60))
    house.dispatch(MONDAY + timedelta(hours=1))

    assert fill(house, MONDAY.date()) == Backfilled(missed=1)
    assert house.work(DELIVERY_LANE) == ["delivered"]


def test_what_was_too_late_in_a_receive_is_delivered_with_a_new_file(house: House) -> None:
    with house.backends.database.across.transaction() as connection:
        connection.execute(sa.update(tables.schedules).values(lateness_limit=60))
    (offer,) = house.dispatch(MONDAY).offers
    house.clock.at = MONDAY + timedelta(hours=1)
    house.take(offer)
    (missed,) = house.history()
    assert (missed.outcome, missed.code, missed.receive_number) == ("missed", "too_late", 1)

    assert fill(house, MONDAY.date()) == Backfilled(missed=1)
    assert house.work(DELIVERY_LANE) == ["delivered"]
    assert house.occurrence(missed.key).receive_number == 2


def test_what_fails_alike_is_called_off_counts_for_no_streak_and_can_be_backfilled_again(
    hourly: House,
) -> None:
    hourly.deliver(at(FRIDAY, 15, 30))
    engine = sa.create_engine(hourly.environment["SHOP_URL"])
    with engine.begin() as connection:
        connection.execute(sa.text("ALTER TABLE orders RENAME TO elsewhere"))
    admitted = fill(hourly, FRIDAY).missed

    ended = [hourly.work(DELIVERY_LANE) for _ in range(3)]

    assert ended == [["source_broken"], ["source_broken"], []]
    rest = [one for one in hourly.history("hourly") if one.code == CALLED_OFF]
    assert len(rest) == admitted - 2
    assert {one.outcome for one in rest} == {"missed"}
    assert all("source_broken" in (one.message or "") for one in rest)
    schedule = hourly.schedule("hourly")
    assert (schedule.state, schedule.failure_streak) == ("active", 0)
    assert hourly.told() == []

    with hourly.backends.database.across.transaction() as connection:
        connection.execute(sa.update(tables.schedules).values(failure_streak=3))
    with engine.begin() as connection:
        connection.execute(sa.text("ALTER TABLE elsewhere RENAME TO orders"))
    engine.dispose()
    assert fill(hourly, FRIDAY) == Backfilled(called_off=admitted - 2, failed=2)
    assert fill(hourly, FRIDAY) == Backfilled()
    assert hourly.work(DELIVERY_LANE) == ["delivered"]
    assert hourly.schedule("hourly").failure_streak == 3


def test_its_slots_come_one_after_the_other_and_todays_waits_for_none_of_them(
    hourly: House,
) -> None:
    hourly.deliver(at(FRIDAY, 12, 30))
    fill(hourly, FRIDAY)

    (first,) = hourly.offer(DELIVERY_LANE)
    done = hourly.dispatch(at(FRIDAY, 13, 0))

    assert first.key.endswith("T080000Z")
    assert [(one.key[-7:], one.priority) for one in done.offers] == [("130000Z", 0)]
    assert (first.priority, first.backfill) == (-1_000, True)
    assert done.missed == 0
    assert hourly.dispatch(at(FRIDAY, 14, 0)).missed == 0


def test_what_it_admits_is_missed_by_no_newer_slot_but_by_a_pause_of_its_schedule(
    hourly: House,
) -> None:
    hourly.deliver(at(FRIDAY, 12, 30))
    fill(hourly, FRIDAY)
    for hour in (13, 14, 15):
        hourly.dispatch(at(FRIDAY, hour))
    assert [one.outcome for one in hourly.history("hourly") if one.is_backfilled] == [None] * 4

    with hourly.backends.database.across.transaction() as connection:
        connection.execute(sa.update(tables.claims).values(lease_until=None))
        missed = miss_waiting(
            connection, **of_hourly(hourly), because="It was paused.", at=hourly.clock()
        )

    assert missed > 4
    assert hours(hourly, FRIDAY) == [8, 9, 10, 11]
    overtaken = 1  # the slot of 14:00, which waited for that of 13:00
    assert fill(hourly, FRIDAY).missed == missed + overtaken


@pytest.mark.parametrize("how", ["pause", "delete", "prune", "delete what has ended"])
def test_who_pauses_or_deletes_the_schedule_calls_off_what_waits(hourly: House, how: str) -> None:
    hourly.deliver(at(FRIDAY, 12, 30))
    assert fill(hourly, FRIDAY).missed == 4
    asked: dict[str, Any] = {"schedule_id": hourly.schedule("hourly").id, "by": OPERATOR}
    if how == "pause":
        schedule_changes.pause(hourly.backends, hourly.workspace_id, reason="Enough.", **asked)
    elif how.startswith("delete"):
        if how != "delete":  # by its own rule, after its last slot
            with hourly.backends.database.transaction(hourly.workspace_id) as connection:
                schedules.advance(connection, {(hourly.workspace_id, asked["schedule_id"]): None})
        schedule_changes.delete_schedule(hourly.backends, hourly.workspace_id, **asked)
    else:
        apply_catalog(
            hourly.backends.database,
            [hourly.folder / "catalog.yaml"],
            clock=hourly.clock,
            environment=hourly.environment,
            by=OPERATOR,
            prune=True,
        )

    called_off = [one for one in hourly.history("hourly") if one.is_backfilled]
    assert [one.outcome for one in called_off] == ["missed"] * 4
    done = "paused" if how == "pause" else "deleted"
    why = f"The schedule was {done} before it could be delivered."
    assert {one.message for one in called_off} == {why}
    assert hourly.work(DELIVERY_LANE) == []
    if how == "pause":
        schedule_changes.resume(hourly.backends, hourly.workspace_id, **asked)
        assert fill(hourly, FRIDAY).missed == 4


def test_the_render_of_a_backfilled_report_waits_in_turn_as_its_delivery_waits_for_it(
    tmp_path: Path, store_url: str, source_url: str
) -> None:
    house = build_report_house(tmp_path, store_url, source_url)
    house.clock.at = MONDAY
    with house.backends.database.across.transaction() as connection:
        record_missed(
            connection,
            house.workspace_id,
            house.schedule().id,
            {MONDAY: "It was missed."},
            via="recurrence",
            at=MONDAY,
        )
    assert fill(house, MONDAY.date()) == Backfilled(missed=1)
    (offer,) = house.offer(DELIVERY_LANE)
    receive = start(
        house.backends, offer.key, lane=offer.lane, offer_number=offer.number, run_id="test"
    )
    assert not isinstance(receive, NothingToDo)
    resolve(house.backends, receive)
    asked = house.ask_export("sales", file_format="pdf")

    renders = house.offer(REPORT_LANE)

    assert sorted((one.key == asked, one.backfill, one.priority) for one in renders) == [
        (False, False, 0),
        (True, False, -1),
    ]


def test_while_all_dispatching_is_stopped_nothing_is_admitted(house: House) -> None:
    house.dispatch(MONDAY + WEEK)
    stop_dispatch(house.backends, by=OPERATOR, name="root", reason="Test.")

    for asked in ({}, {"workspace_id": house.workspace_id, "schedule_id": house.schedule().id}):
        with pytest.raises(Refused) as refused:
            fill(house, MONDAY.date(), **asked)
        assert refused.value.code == "dispatch_stopped"

    start_dispatch(house.backends, by=OPERATOR, name="root", reason="Test.")
    assert fill(house, MONDAY.date()) == Backfilled(missed=1)


class Slow:
    """Each look at the time finds that half a batch's has passed."""

    def __init__(self) -> None:
        self.looks = 0
        self.rests: list[float] = []

    def now(self) -> float:
        self.looks += 1
        return self.looks * BATCH_SECONDS / 2

    def sleep(self, seconds: float) -> None:
        self.rests.append(seconds)


def test_it_holds_schedules_for_a_second_at_most_however_many_there_are(house: House) -> None:
    """A pass, a settlement or an edit that wants one of them waits for no longer."""
    one = HOURLY.format(cron="0 8 * * 1", more="").split("schedules:\n")[1]
    house.apply(
        "workspace: {name: acme}\nschedules:\n"
        + "".join(one.replace("hourly:", f"s{number}:") for number in range(4))
    )
    house.dispatch(MONDAY + WEEK + timedelta(hours=1))
    committed: list[int] = []

    def reached(step: str) -> None:
        if step == "schedules backfilled, not the next":
            with house.backends.database.across.read() as connection:
                waiting = sa.select(sa.func.count()).where(tables.claims.c.backfill)
                committed.append(connection.scalar(waiting) or 0)

    time = Slow()
    slow = house.with_backends(replace(house.backends, waiting=time, reached=reached))

    assert fill(slow, MONDAY.date()) == Backfilled(missed=5)
    assert committed == [2, 4, 5]
    # SQLite has one writer: without a rest nobody else would come to write for the whole backfill.
    assert [rest > 0 for rest in time.rests] == [True] * (
        3 if house.backends.database.is_sqlite else 0
    )


def test_a_range_is_each_of_its_days_and_refused_before_anything_is_admitted(
    hourly: House,
) -> None:
    paused_and_resumed(hourly, at(SATURDAY, 12, 30), at(SUNDAY, 5, 30))

    def filled(first: date, last: date) -> list[tuple[date, int]]:
        done = backfill_range(hourly.backends, first, last, by=OPERATOR, **of_hourly(hourly))
        return [(day, one.admitted) for day, one in done]

    for first, last, code in (
        (FRIDAY, SUNDAY + timedelta(days=1), "future_day"),
        (FRIDAY - 2 * HISTORY, SUNDAY, "before_history"),
        (SUNDAY, FRIDAY, "empty_range"),
    ):
        with pytest.raises(Refused) as refused:
            filled(first, last)
        assert refused.value.code == code
    assert hourly.history("hourly") == []
    assert filled(FRIDAY, SUNDAY) == [(FRIDAY, 16), (SATURDAY, 13), (SUNDAY, 0)]
    assert filled(FRIDAY, SUNDAY) == [(FRIDAY, 0), (SATURDAY, 0), (SUNDAY, 0)]
