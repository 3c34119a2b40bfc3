"""Occurrences: taken by one run at a time, and closed to every worker that lost its claim."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from queries_orchestration.deliveries.dispatch import run_pass
from queries_orchestration.deliveries.recover import recover_silent
from queries_orchestration.model.errors import ReceiveLost
from queries_orchestration.model.ids import slot_key
from queries_orchestration.receives.backends import Backends
from queries_orchestration.receives.start import NothingToDo, start as start_run
from queries_orchestration.store import (
    admissions,
    claims,
    cross_workspace,
    database as store_database,
    occurrences,
    tables,
)
from queries_orchestration.store.claims import Claim, Receive
from queries_orchestration.store.cross_workspace import offer_one
from queries_orchestration.store.database import Database
from queries_orchestration.store.occurrences import Occurrence
from queries_orchestration.store.tables import metadata, receives
from queries_orchestration_tests.no_runs import NoRuns
from queries_orchestration_tests.store.valid_rows import (
    SLOT,
    insert_slot,
    insert_waiting,
    set_up,
    valid_rows,
)

DAY = timedelta(days=1)


@pytest.fixture
def key(database: Database) -> str:
    """An occurrence that waits."""
    with database.across.transaction() as connection:
        set_up(connection, "acme")
        return insert_waiting(connection, "acme", 1)[0]


def offer(database: Database, key: str, *, lease: float = 60) -> int:
    with database.across.transaction() as connection:
        made = offer_one(connection, "acme", key, live_limit=None, lease=lease)
    assert made is not None
    return made.number


def start(database: Database, key: str, number: int, *, run: str = "run") -> Receive | None:
    with database.across.transaction() as connection:
        return claims.start(connection, "acme", key, offer_number=number, run_id=run)


def offered_and_started(database: Database, key: str) -> Receive:
    receive = start(database, key, offer(database, key))
    assert receive is not None
    return receive


def found(database: Database, key: str) -> Occurrence:
    with database.across.read() as connection:
        occurrence = occurrences.get(connection, "acme", key)
    assert occurrence is not None
    return occurrence


def claim(database: Database, key: str) -> Claim:
    with database.across.read() as connection:
        held = claims.get(connection, "acme", key)
    assert held is not None
    return held


def everything(database: Database) -> dict[str, list[tuple[Any, ...]]]:
    """Return all rows of the store."""
    with database.across.read() as connection:
        return {
            table.name: sorted(map(tuple, connection.execute(sa.select(table))), key=repr)
            for table in metadata.sorted_tables
        }


def fall_silent(database: Database) -> None:
    """Let the last heartbeat of every running receive be an hour old."""
    table = tables.claims
    with database.across.transaction() as connection:
        long_ago = store_database.now(connection) - timedelta(hours=1)
        silenced = connection.execute(
            sa.update(table).where(table.c.state == "running").values(heartbeat_at=long_ago)
        )
    assert silenced.rowcount == 1


def test_a_slot_is_admitted_once(database: Database) -> None:
    with database.across.transaction() as connection:
        set_up(connection, "acme")

    def admit(*slots: datetime) -> set[str]:
        with database.across.transaction() as connection:
            named = [("acme", "acme-schedule", slot) for slot in slots]
            return admissions.admit_slots(connection, named, via="recurrence", at=SLOT)

    assert admit(SLOT) == {slot_key("acme-schedule", SLOT)}
    known = everything(database)
    assert admit(SLOT) == admit() == set()
    assert everything(database) == known
    assert admit(SLOT, SLOT + DAY) == {slot_key("acme-schedule", SLOT + DAY)}


def test_of_two_runs_that_start_the_same_offer_one_receives(database: Database) -> None:
    with database.across.transaction() as connection:
        set_up(connection, "acme")
        keys = insert_waiting(connection, "acme", 5)
    ready = threading.Barrier(2)

    def run(name: str) -> list[Receive | None]:
        own = Database(database.url)
        taken = []
        for key in keys:
            ready.wait(10)
            taken.append(start(own, key, 1, run=name))
        return taken

    for key in keys:
        offer(database, key)
    with ThreadPoolExecutor(2) as threads:
        one, other = threads.map(run, ["one", "other"])

    for key, pair in zip(keys, zip(one, other, strict=True), strict=True):
        assert [receive for receive in pair if receive] == [Receive("acme", key, 1)]
    with database.across.read() as connection:
        rows = connection.execute(sa.select(receives.c.key, receives.c.number))
        assert sorted(map(tuple, rows)) == [(key, 1) for key in keys]


def test_what_was_not_offered_cannot_be_started(database: Database, key: str) -> None:
    assert start(database, key, 0) is None
    assert start(database, key, 1) is None
    assert found(database, key).state == "waiting"


def test_a_receive_is_a_row_of_the_history(database: Database, key: str) -> None:
    first = offered_and_started(database, key)
    with database.across.transaction() as connection:
        claims.wait_again(connection, first, code="source_unavailable", delay=0)
    second = offered_and_started(database, key)

    with database.across.read() as connection:
        rows = connection.execute(sa.select(receives).order_by(receives.c.number)).all()
    assert [(row.number, row.code, row.ended_at is None) for row in rows] == [
        (1, "source_unavailable", False),
        (2, None, True),
    ]
    assert second.number == 2
    assert rows[0].started_at <= rows[0].ended_at <= rows[1].started_at


def settle(database: Database, receive: Receive) -> None:
    with database.across.transaction() as connection:
        occurrences.settle(
            connection, receive, outcome="failed", code="late", message="late", at=SLOT
        )


def hold(database: Database, receive: Receive) -> None:
    with database.across.transaction() as connection:
        claims.hold(connection, receive)


def change(database: Database, receive: Receive) -> None:
    with database.across.transaction() as connection:
        occurrences.change(connection, receive, source_changed=True)


def wait_again(database: Database, receive: Receive) -> None:
    with database.across.transaction() as connection:
        claims.wait_again(connection, receive, code="late", delay=0)


@pytest.mark.parametrize("write", [hold, change, wait_again, settle])
@pytest.mark.parametrize("lost_to", ["a newer receive", "the wait for one", "a settlement"])
def test_a_worker_that_lost_its_claim_writes_nothing(
    database: Database, key: str, lost_to: str, write: Callable[[Database, Receive], None]
) -> None:
    lost = offered_and_started(database, key)
    if lost_to == "a settlement":
        with database.across.transaction() as connection:
            occurrences.settle(
                connection, lost, outcome="delivered", code=None, message=None, at=SLOT
            )
    else:
        wait_again(database, lost)
    if lost_to == "a newer receive":
        assert offered_and_started(database, key).number == 2
    known = everything(database)

    with pytest.raises(ReceiveLost):
        write(database, lost)

    assert everything(database) == known


def test_the_worker_that_holds_the_claim_may_write(database: Database, key: str) -> None:
    """The same calls, so that the refusals above are not refusals of everything."""
    receive = offered_and_started(database, key)

    hold(database, receive)
    change(database, receive)
    assert found(database, key).source_changed
    wait_again(database, receive)
    assert found(database, key).state == "waiting"
    settle(database, offered_and_started(database, key))
    assert (found(database, key).outcome, found(database, key).code) == ("failed", "late")


def test_a_retry_waits_its_delay_by_the_databases_clock(database: Database, key: str) -> None:
    receive = offered_and_started(database, key)
    with database.across.transaction() as connection:
        before = store_database.now(connection)
        claims.wait_again(connection, receive, code="source_unavailable", delay=60)
        after = store_database.now(connection)

    delay = timedelta(seconds=60)
    assert before + delay <= claim(database, key).not_before <= after + delay
    with database.across.transaction() as connection:
        assert offer_one(connection, "acme", key, live_limit=None, lease=60) is None


def test_history_tells_the_newest_first(database: Database) -> None:
    table = tables.occurrences
    common = valid_rows("acme")["occurrences"] | {"export_id": None}
    rows = [  # key, slot, admitted at
        ("a", SLOT, SLOT),
        ("b", SLOT + 2 * DAY, SLOT + 3 * DAY),
        ("c", SLOT + 3 * DAY, SLOT + 3 * DAY),
        ("d", SLOT + DAY, SLOT + DAY),
        ("e", SLOT - DAY, SLOT + 4 * DAY),
    ]
    with database.across.transaction() as connection:
        for workspace in ("acme", "blue"):
            set_up(connection, workspace)
        connection.execute(
            sa.insert(table),
            [common | {"key": key, "slot": slot, "admitted_at": at} for key, slot, at in rows],
        )

    def keys(workspace: str, schedule: str | None, limit: int = 10) -> list[str]:
        with database.across.read() as connection:
            history = occurrences.history(connection, workspace, schedule, limit=limit)
        return [one.key for one in history]

    assert keys("acme", "acme-schedule") == keys("acme", None) == ["e", "c", "b", "d", "a"]
    assert keys("acme", None, limit=2) == ["e", "c"]
    assert keys("acme", "another") == keys("blue", None) == keys("blue", "acme-schedule") == []


def test_a_silent_worker_s_occurrence_waits_again(backends: Backends, key: str) -> None:
    database = backends.database
    receive = offered_and_started(database, key)
    assert recover_silent(backends, NoRuns()) == 0
    fall_silent(database)

    assert recover_silent(backends, NoRuns()) == 1

    assert found(database, key).state == "waiting"
    with pytest.raises(ReceiveLost):
        hold(database, receive)


def test_a_heartbeat_that_comes_while_recovery_runs_is_respected(
    backends: Backends, key: str
) -> None:
    database = backends.database
    receive = offered_and_started(database, key)
    fall_silent(database)

    with ThreadPoolExecutor(1) as thread:
        with database.across.transaction() as connection:
            claims.hold(connection, receive)
            recovery = thread.submit(recover_silent, backends, NoRuns())
            time.sleep(0.1)
        assert recovery.result() == 0

    assert (found(database, key).state, found(database, key).receive_number) == ("running", 1)
    hold(database, receive)


def test_a_heartbeat_that_comes_after_recovery_has_begun_is_told_that_the_work_is_lost(
    backends: Backends, key: str
) -> None:
    database = backends.database
    receive = offered_and_started(database, key)
    fall_silent(database)

    with ThreadPoolExecutor(1) as thread:
        with database.across.transaction() as connection:
            silent = cross_workspace.silent_receives(connection, silence=60, limit=10)
            assert claims.take_silent(connection, silent[0].receive, silence=60)
            heartbeat = thread.submit(hold, Database(database.url), receive)
            time.sleep(0.1)
            assert not heartbeat.done()
            claims.wait_again(connection, silent[0].receive, code="worker_lost", delay=0)
        with pytest.raises(ReceiveLost):
            heartbeat.result()

    assert [(one.receive, one.lane, one.run_id) for one in silent] == [(receive, "delivery", "run")]
    assert found(database, key).state == "waiting"


@pytest.mark.parametrize("wrong", [timedelta(minutes=10), timedelta(days=4_000), -DAY])
def test_a_worker_with_a_wrong_clock_takes_no_live_offer_and_no_running_receive(
    backends: Backends, key: str, wrong: timedelta
) -> None:
    """Case Q06: leases and heartbeats are judged by the database's clock alone."""
    database = backends.database
    with database.across.transaction() as connection:
        insert_slot(connection, "acme")
        connection.execute(sa.update(metadata.tables["schedules"]).values(next_slot=None))
    number = offer(database, key)
    receive = start(database, key, number)
    assert receive is not None
    offer(database, "acme-key")
    known = [claim(database, key), claim(database, "acme-key")]
    told = [found(database, key), found(database, "acme-key")]
    astray = SLOT + wrong

    other = replace(backends, clock=lambda: astray)
    done = run_pass(other, NoRuns(), at=astray, offer=True)
    again = start_run(other, key, lane="delivery", offer_number=number, run_id="other")

    assert (done.admitted, done.recovered, done.offers) == (0, 0, ())
    assert isinstance(again, NothingToDo)
    assert [claim(database, key), claim(database, "acme-key")] == known
    assert [found(database, key), found(database, "acme-key")] == told
    with database.across.read() as connection:
        at = store_database.now(connection)
    assert known[1].lease_until is not None
    assert at < known[1].lease_until <= at + timedelta(seconds=60)


def test_a_worker_with_a_wrong_clock_writes_leases_by_the_databases(
    backends: Backends, key: str
) -> None:
    astray = SLOT + timedelta(days=4_000)
    other = replace(backends, clock=lambda: astray)
    with backends.database.across.transaction() as connection:
        connection.execute(sa.update(metadata.tables["schedules"]).values(next_slot=None))

    (made,) = run_pass(other, NoRuns(), at=astray, offer=True).offers
    offered = claim(backends.database, key)
    receive = start_run(other, key, lane="delivery", offer_number=made.number, run_id="other")
    started = claim(backends.database, key)

    with backends.database.across.read() as connection:
        at = store_database.now(connection)
    minute = timedelta(seconds=60)
    assert isinstance(receive, Receive)
    assert offered.lease_until is not None
    assert started.heartbeat_at is not None
    assert at < offered.lease_until <= at + minute
    assert at - minute < started.heartbeat_at <= at
