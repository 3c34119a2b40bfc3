"""Hop 1: what a dispatcher pass admits, misses and offers."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

from queries_orchestration.deliveries.dispatch import run_pass
from queries_orchestration.deliveries.settle import settle
from queries_orchestration.deliveries.streaks import Settlement
from queries_orchestration.model.ids import slot_key
from queries_orchestration.store import claims, dispatchers, schedules, tables
from queries_orchestration.store.dispatchers import DELIVERY_DISPATCHER
from queries_orchestration_tests.house import MONDAY, WEEK, House
from queries_orchestration_tests.no_runs import NoRuns


def test_a_due_slot_becomes_one_occurrence_and_the_recurrence_moves_on(house: House) -> None:
    done = house.dispatch(MONDAY)

    (occurrence,) = house.history()
    assert (done.admitted, done.missed, len(done.offers)) == (1, 0, 1)
    assert occurrence.key == slot_key(house.schedule().id, MONDAY)
    assert (occurrence.slot, occurrence.state, occurrence.via) == (MONDAY, "waiting", "recurrence")
    assert house.schedule().next_slot == MONDAY + WEEK


def test_a_slot_is_not_admitted_a_second_before_it_is_due(house: House) -> None:
    assert house.dispatch(MONDAY - timedelta(seconds=1)).admitted == 0
    assert house.history() == []


def test_a_slot_admitted_already_is_not_admitted_again_though_the_recurrence_went_back(
    house: House,
) -> None:
    house.dispatch(MONDAY)
    with house.backends.database.across.transaction() as connection:
        connection.execute(
            sa.text("UPDATE schedules SET next_slot = :slot").bindparams(
                sa.bindparam("slot", MONDAY, type_=tables.schedules.c.next_slot.type)
            )
        )

    assert house.dispatch(MONDAY).admitted == 0
    assert len(house.history()) == 1
    assert house.schedule().next_slot == MONDAY + WEEK


def test_after_downtime_the_newest_slot_is_delivered_and_each_older_one_recorded_missed(
    house: House,
) -> None:
    done = house.dispatch(MONDAY + 3 * WEEK + timedelta(hours=5))

    assert (done.admitted, done.missed) == (1, 3)
    assert [(one.slot, one.outcome) for one in house.history()] == [
        (MONDAY, "missed"),
        (MONDAY + WEEK, "missed"),
        (MONDAY + 2 * WEEK, "missed"),
        (MONDAY + 3 * WEEK, None),
    ]
    assert house.schedule().failure_streak == 0


def test_more_missed_slots_than_a_batch_are_all_rows(house: House) -> None:
    house.apply(
        "workspace: {name: acme, title: Acme, time_zone: Europe/Berlin}\n"
        "schedules:\n  hourly: {title: Hourly, query: all-orders, owner: ada, cron: 0 * * * *,"
        " format: csv, recipients: [bob]}\n"
    )
    first = house.schedule("hourly").next_slot
    assert first is not None

    house.dispatch(first + timedelta(hours=449))

    history = house.history("hourly")
    assert [one.slot for one in history] == [first + timedelta(hours=n) for n in range(450)]
    assert [one.outcome for one in history[-2:]] == ["missed", None]


def test_a_slot_waits_for_its_predecessor_and_is_missed_when_the_next_comes_due(
    house: House,
) -> None:
    house.dispatch(MONDAY)

    second = house.dispatch(MONDAY + WEEK)
    assert second.admitted == 1
    assert house.history()[1].key not in [offer.key for offer in second.offers]

    third = house.dispatch(MONDAY + 2 * WEEK)
    assert (third.admitted, third.missed) == (1, 1)
    assert [(one.state, one.outcome) for one in house.history()] == [
        ("waiting", None),
        ("settled", "missed"),
        ("waiting", None),
    ]


def test_under_all_a_slot_that_waits_is_not_missed_when_the_next_comes_due(house: House) -> None:
    with house.backends.database.across.transaction() as connection:
        connection.execute(sa.text("UPDATE schedules SET missed_slots = 'all'"))

    for week in range(3):
        house.dispatch(MONDAY + week * WEEK)

    assert [one.outcome for one in house.history()] == [None, None, None]


def test_a_schedule_whose_rule_cannot_be_read_is_paused_and_stops_nobody_else(
    house: House,
) -> None:
    house.apply(
        "workspace: {name: acme, title: Acme, time_zone: Europe/Berlin}\n"
        "schedules:\n  broken: {title: Broken, query: all-orders, owner: ada, cron: 0 8 * * 1,"
        " format: csv, recipients: [bob]}\n"
    )
    with house.backends.database.across.transaction() as connection:
        connection.execute(
            sa.text("UPDATE schedules SET time_zone = 'Mars/Olympus' WHERE name = 'broken'")
        )

    done = house.dispatch(MONDAY)

    assert done.admitted == 1
    broken = house.schedule("broken")
    assert (broken.state, broken.pause_code) == ("paused", "unknown_time_zone")
    assert "resume" in (broken.pause_reason or "")


def test_a_schedule_whose_rule_has_no_further_slot_ends(house: House) -> None:
    with house.backends.database.across.transaction() as connection:
        schedules.advance(connection, {(house.workspace_id, house.schedule().id): None})
    assert (house.schedule().state, house.schedule().next_slot) == ("ended", None)


def test_a_schedule_with_a_last_date_delivers_on_it_and_ends(house: House) -> None:
    """R10: three days, the last one among them; ended, not failed."""
    house.apply(
        "workspace: {name: acme, title: Acme, time_zone: Europe/Berlin}\n"
        "schedules:\n  brief: {title: Brief, query: all-orders, owner: ada, cron: 30 23 * * *,"
        " time_zone: America/Los_Angeles, starts_on: 2027-01-04, ends_on: 2027-01-06,"
        " missed_slots: all, format: csv, recipients: [bob]}\n"
    )
    house.dispatch(MONDAY + timedelta(days=5))
    assert [one.slot for one in house.history("brief")] == [
        datetime(2027, 1, day, 7, 30, tzinfo=UTC) for day in (5, 6, 7)
    ]
    brief = house.schedule("brief")
    assert (brief.state, brief.next_slot, brief.failure_streak) == ("ended", None, 0)


def test_a_second_pass_ends_at_once_and_says_who_holds_the_first(house: House) -> None:
    holding, release = threading.Event(), threading.Event()

    def hold() -> None:
        with dispatchers.only_pass(house.backends.database) as alone:
            assert alone
            with house.backends.database.across.transaction() as connection:
                dispatchers.begin_pass(connection, DELIVERY_DISPATCHER, "process 7 on test")
            holding.set()
            release.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        assert holding.wait(10)
        done = house.dispatch(MONDAY)
    finally:
        release.set()
        thread.join()

    assert done.held_by == "process 7 on test"
    assert house.history() == []
    assert house.dispatch(MONDAY).admitted == 1


def test_each_pass_writes_what_it_did_as_a_heartbeat(house: House) -> None:
    house.dispatch(MONDAY + WEEK)

    with house.backends.database.across.read() as connection:
        last = dispatchers.heartbeat(connection, DELIVERY_DISPATCHER)
    assert last is not None
    assert (last.admitted, last.missed, last.recovered, last.offered) == (1, 1, 0, 1)
    assert last.pass_ended_at is not None
    assert last.pass_started_at <= last.pass_ended_at


def test_a_pass_that_nobody_stands_behind_offers_nothing(house: House) -> None:
    house.clock.at = MONDAY
    done = run_pass(house.backends, NoRuns(), at=MONDAY, offer=False)

    assert done.admitted == 1
    assert done.offers == ()
    assert house.claim(house.history()[0].key).offer_number == 0


def test_all_delivers_what_was_missed_within_a_week(house: House) -> None:
    with house.backends.database.across.transaction() as connection:
        connection.execute(sa.text("UPDATE schedules SET missed_slots = 'all'"))

    house.dispatch(MONDAY + 2 * WEEK)

    assert [one.outcome for one in house.history()] == ["missed", None, None]


@pytest.mark.parametrize(
    ("policy", "outcomes"),
    [
        ("latest", ["missed", "missed", "missed", None]),
        ("all", ["missed", "missed", "missed", None]),
        ("none", ["missed", "missed", "missed", "missed"]),
    ],
)
def test_the_policy_says_which_missed_slots_are_delivered(
    house: House, policy: str, outcomes: list[str | None]
) -> None:
    with house.backends.database.across.transaction() as connection:
        connection.execute(
            sa.text("UPDATE schedules SET missed_slots = :policy"), {"policy": policy}
        )

    house.dispatch(MONDAY + 3 * WEEK + timedelta(minutes=11))

    assert [one.outcome for one in house.history()] == outcomes


@pytest.mark.parametrize(
    ("policy", "outcomes"),
    [
        ("latest", ["missed", "missed", None]),
        ("none", ["missed", "missed", None]),
        ("all", [None, None, None]),
    ],
)
def test_a_clock_that_is_ahead_takes_what_it_shows_as_due_by_the_policy(
    house: House, policy: str, outcomes: list[str | None]
) -> None:
    house.apply(
        _one("often", cron='"*/5 * * * *"').replace("[bob]", f"[bob], missed_slots: {policy}")
    )
    first = house.schedule("often").next_slot
    assert first is not None

    house.dispatch(first + timedelta(minutes=11))
    for minutes in (0, 5, 10):
        # The right time comes: each slot has its row.
        assert house.dispatch(first + timedelta(minutes=minutes)).admitted == 0

    assert [one.outcome for one in house.history("often")] == outcomes


def test_a_slot_beyond_the_lateness_limit_is_missed(house: House) -> None:
    with house.backends.database.across.transaction() as connection:
        connection.execute(sa.text("UPDATE schedules SET lateness_limit = 3600"))

    house.dispatch(MONDAY + timedelta(seconds=3601))

    (occurrence,) = house.history()
    assert occurrence.outcome == "missed"
    assert "lateness limit" in (occurrence.message or "")


def test_slots_keep_local_time_over_the_clock_change(house: House) -> None:
    before = datetime(2027, 3, 22, 7, 0, tzinfo=UTC)
    after = datetime(2027, 3, 29, 6, 0, tzinfo=UTC)

    house.dispatch(before)
    house.dispatch(after)

    assert [one.slot for one in house.history()[-2:]] == [before, after]


def test_slots_come_from_the_rule_not_from_when_the_last_one_was_done(house: House) -> None:
    """A05: a job of 70 seconds every five minutes does not drift."""
    house.apply(_one("often", cron='"*/5 * * * *"'))
    first = house.schedule("often").next_slot
    assert first is not None

    for number in range(6):
        slot = first + number * timedelta(minutes=5)
        house.clock.at = slot
        for offer in house.dispatch(slot + timedelta(seconds=20)).offers:
            house.clock.at = slot + timedelta(seconds=90)
            house.take(offer)

    assert [one.slot for one in house.history("often")] == [
        first + number * timedelta(minutes=5) for number in range(6)
    ]
    assert house.schedule("often").next_slot == first + timedelta(minutes=30)


def test_slots_that_come_due_while_one_runs_wait_and_are_missed_by_the_next(house: House) -> None:
    """A10: slot N+1 comes due while N still runs: it waits, N+2 takes its place."""
    house.apply(_one("often", cron='"*/5 * * * *"'))
    first = house.schedule("often").next_slot
    assert first is not None
    slots = [first + number * timedelta(minutes=5) for number in range(3)]
    (running,) = house.dispatch(slots[0]).offers
    with house.backends.database.across.transaction() as connection:
        receive = claims.start(
            connection, house.workspace_id, running.key, offer_number=1, run_id="long"
        )
    assert receive is not None

    assert house.dispatch(slots[1]).offers == ()
    assert house.dispatch(slots[2]).offers == ()
    assert [(one.state, one.outcome) for one in house.history("often")] == [
        ("running", None),
        ("settled", "missed"),
        ("waiting", None),
    ]
    assert "still being delivered" in (house.history("often")[1].message or "")

    with house.backends.database.across.transaction() as connection:
        settle(connection, receive, Settlement(outcome="delivered"), at=slots[2])
    assert house.deliver(slots[2]) == ["delivered"]


def test_the_pending_slot_of_an_edited_schedule_follows_the_new_rule(house: House) -> None:
    house.apply(_one("weekly", cron="0 9 * * 2", query="all-orders"))

    assert house.dispatch(MONDAY).admitted == 0
    tuesday = MONDAY + timedelta(days=1, hours=1)
    assert house.dispatch(tuesday).admitted == 1
    assert [one.slot for one in house.history()] == [tuesday]


@pytest.mark.parametrize("database_kind", ["postgresql"])
def test_a_pass_that_meets_an_edit_advances_by_the_new_rule(house: House) -> None:
    """The edit leaves the next slot where it is: only what follows is another one."""
    database = house.backends.database
    passing = threading.Thread(target=house.dispatch, args=(MONDAY,))
    with database.across.transaction() as connection:
        connection.execute(sa.text("UPDATE schedules SET cron = '0 8 * * *'"))
        passing.start()
        waiting = sa.text("SELECT count(*) FROM pg_locks WHERE NOT granted")
        with database.session() as watcher:
            while not watcher.scalar(waiting):
                assert passing.is_alive()
    passing.join(30)

    assert house.schedule().next_slot == MONDAY + timedelta(days=1)
    assert len(house.history()) == 1


def _one(name: str, *, cron: str, query: str = "no-orders") -> str:
    return (
        "workspace: {name: acme, title: Acme, time_zone: Europe/Berlin}\n"
        f"schedules:\n  {name}: {{title: One, query: {query}, owner: ada, cron: {cron},"
        " time_zone: Europe/Berlin, format: csv, recipients: [bob]}\n"
    )
