"""Claims: work is held by one receive at a time, ended once, and never begins again."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

import pytest
import sqlalchemy as sa
from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from queries_orchestration.model.errors import ReceiveLost
from queries_orchestration.store import claims, cross_workspace, database as store_database, tables
from queries_orchestration.store.claims import Claim, Receive
from queries_orchestration.store.cross_workspace import offer_one, offer_waiting
from queries_orchestration.store.database import Database
from queries_orchestration.store.offers import Offer, release, renew
from queries_orchestration_tests.store.valid_rows import set_up

KEY = "an-export"
LANE = "export"


@pytest.fixture
def waiting(database: Database) -> Database:
    """A store with one piece of work that waits, and a second workspace."""
    with database.across.transaction() as connection:
        set_up(connection, "acme")
        set_up(connection, "blue")
        claims.wait(connection, "acme", KEY, lane=LANE)
    return database


def claim(database: Database) -> Claim:
    with database.across.read() as connection:
        found = claims.get(connection, "acme", KEY)
    assert found is not None
    return found


def offer(database: Database, *, lease: float = 60) -> Offer:
    with database.across.transaction() as connection:
        made = offer_one(connection, "acme", KEY, live_limit=None, lease=lease)
    assert made is not None
    return made


def start(database: Database, number: int, *, workspace: str = "acme") -> Receive | None:
    with database.across.transaction() as connection:
        return claims.start(connection, workspace, KEY, offer_number=number, run_id="run")


def started(database: Database) -> Receive:
    receive = start(database, offer(database).number)
    assert receive is not None
    return receive


def wait_again(database: Database, receive: Receive, *, delay: float = 0) -> None:
    with database.across.transaction() as connection:
        claims.wait_again(connection, receive, code="source_unavailable", delay=delay)


def rows(database: Database) -> list[object]:
    """Return everything that claims write."""
    with database.across.read() as connection:
        return [
            sorted(map(tuple, connection.execute(sa.select(table))), key=repr)
            for table in (tables.claims, tables.offers, tables.receives)
        ]


def receives(database: Database) -> list[tuple[int, str | None, bool]]:
    """Return the attempts: number, code, whether it has ended."""
    table = tables.receives
    with database.across.read() as connection:
        found = connection.execute(sa.select(table).order_by(table.c.number)).all()
    return [(row.number, row.code, row.ended_at is not None) for row in found]


def offers(database: Database) -> list[tuple[int, str]]:
    table = tables.offers
    with database.across.read() as connection:
        found = connection.execute(sa.select(table).order_by(table.c.number)).all()
    return [(row.number, row.state) for row in found]


def between(
    database: Database, do: Callable[[Connection], object]
) -> tuple[datetime, object, datetime]:
    """Do something in a transaction; returns the database's instants around it, and the answer."""
    with database.across.transaction() as connection:
        before = store_database.now(connection)
        answer = do(connection)
        return before, answer, store_database.now(connection)


def set_silent(database: Database) -> None:
    with database.across.transaction() as connection:
        hour_ago = store_database.now(connection) - timedelta(hours=1)
        connection.execute(sa.update(tables.claims).values(heartbeat_at=hour_ago))


def test_new_work_waits_from_now_by_the_databases_clock_and_is_nobodys(database: Database) -> None:
    with database.across.transaction() as connection:
        set_up(connection, "acme")

    before, _, after = between(
        database, lambda connection: claims.wait(connection, "acme", KEY, lane=LANE)
    )

    found = claim(database)
    assert before <= found.not_before <= after
    assert found == Claim(
        workspace_id="acme",
        key=KEY,
        lane=LANE,
        state="waiting",
        not_before=found.not_before,
        offer_number=0,
        lease_until=None,
        receive_number=0,
        heartbeat_at=None,
        backfill=False,
    )
    with database.across.read() as connection:
        assert claims.get(connection, "blue", KEY) is None


def test_a_run_takes_the_live_offer_once(waiting: Database) -> None:
    assert start(waiting, 0) is None
    made = offer(waiting)
    assert start(waiting, made.number + 1) is None
    assert start(waiting, made.number, workspace="blue") is None

    before, receive, after = between(
        waiting,
        lambda connection: claims.start(
            connection, "acme", KEY, offer_number=made.number, run_id="run"
        ),
    )

    assert receive == Receive("acme", KEY, 1)
    found = claim(waiting)
    assert (found.state, found.receive_number, found.lease_until) == ("running", 1, None)
    assert found.heartbeat_at is not None
    assert before <= found.heartbeat_at <= after
    assert (offers(waiting), receives(waiting)) == ([(1, "taken")], [(1, None, False)])
    known = rows(waiting)
    assert start(waiting, made.number) is None
    assert rows(waiting) == known


def test_an_offer_that_nobody_made_again_can_be_taken_late(waiting: Database) -> None:
    """The run was long in Dagster's queue; better it works than a second one is launched."""
    made = offer(waiting, lease=0.001)
    time.sleep(0.01)

    assert start(waiting, made.number) == Receive("acme", KEY, 1)


def test_holding_writes_a_heartbeat_by_the_databases_clock(waiting: Database) -> None:
    receive = started(waiting)
    set_silent(waiting)

    before, _, after = between(waiting, lambda connection: claims.hold(connection, receive))

    found = claim(waiting)
    assert found.heartbeat_at is not None
    assert before <= found.heartbeat_at <= after
    assert found.state == "running"


def test_work_that_waits_again_waits_its_delay_and_is_taken_under_the_next_number(
    waiting: Database,
) -> None:
    receive = started(waiting)

    before, _, after = between(
        waiting,
        lambda connection: claims.wait_again(connection, receive, code="out_of_reach", delay=60),
    )

    found = claim(waiting)
    minute = timedelta(seconds=60)
    assert before + minute <= found.not_before <= after + minute
    assert (found.state, found.heartbeat_at, found.lease_until) == ("waiting", None, None)
    assert receives(waiting) == [(1, "out_of_reach", True)]
    with waiting.across.transaction() as connection:
        assert offer_one(connection, "acme", KEY, live_limit=None, lease=60) is None
        connection.execute(sa.update(tables.claims).values(not_before=before))
    assert start(waiting, 1) is None
    assert started(waiting) == Receive("acme", KEY, 2)
    assert receives(waiting) == [(1, "out_of_reach", True), (2, None, False)]


def test_the_database_itself_begins_no_fourth_receive(waiting: Database) -> None:
    for number in (1, 2, 3):
        receive = started(waiting)
        assert receive.number == number
        wait_again(waiting, receive)
    made = offer(waiting)
    known = rows(waiting)

    with pytest.raises(IntegrityError):
        start(waiting, made.number)

    assert rows(waiting) == known


def test_work_that_waits_is_ended_with_its_offer(waiting: Database) -> None:
    made = offer(waiting)

    with waiting.across.transaction() as connection:
        assert not claims.end_running(connection, "acme", KEY)
        assert not claims.end_waiting(connection, "blue", KEY)
        assert claims.end_waiting(connection, "acme", KEY)
        assert not claims.end_waiting(connection, "acme", KEY)

    found = claim(waiting)
    assert (found.state, found.lease_until) == ("done", None)
    assert (offers(waiting), receives(waiting)) == ([(made.number, "released")], [])


def test_work_that_a_run_holds_is_ended_against_its_will(waiting: Database) -> None:
    receive = started(waiting)

    with waiting.across.transaction() as connection:
        assert not claims.end_waiting(connection, "acme", KEY)
        assert not claims.end_running(connection, "blue", KEY)
        assert claims.end_running(connection, "acme", KEY)
        assert not claims.end_running(connection, "acme", KEY)

    found = claim(waiting)
    assert (found.state, found.heartbeat_at) == ("done", None)
    assert (offers(waiting), receives(waiting)) == ([(1, "taken")], [(1, None, True)])
    known = rows(waiting)
    with pytest.raises(ReceiveLost), waiting.across.transaction() as connection:
        claims.hold(connection, receive)
    assert rows(waiting) == known


def _starts(connection: Connection, made: Offer, _: Receive | None) -> None:
    assert claims.start(connection, "acme", KEY, offer_number=made.number, run_id="run")


def _fails(connection: Connection, _: Offer, receive: Receive | None) -> None:
    assert receive is not None
    claims.wait_again(connection, receive, code="source_unavailable", delay=60)


def _ends(connection: Connection, _: Offer, receive: Receive | None) -> None:
    assert receive is not None
    claims.end(connection, receive)


@pytest.mark.parametrize(("does", "ended"), [(_starts, True), (_fails, True), (_ends, False)])
def test_work_that_changes_hands_meanwhile_is_not_overlooked(
    waiting: Database,
    does: Callable[[Connection, Offer, Receive | None], None],
    ended: bool,
) -> None:
    """Whoever ends it comes while a worker's start, failure or end is not committed yet."""
    made = offer(waiting)
    receive = None if does is _starts else start(waiting, made.number)

    def end() -> bool:
        with Database(waiting.url).across.transaction() as connection:
            return claims.end_held_or_not(connection, "acme", KEY)

    with ThreadPoolExecutor(1) as thread:
        with waiting.across.transaction() as connection:
            does(connection, made, receive)
            ending = thread.submit(end)
            time.sleep(0.1)
        assert ending.result(10) is ended

    assert claim(waiting).state == "done"
    assert all(has_ended for _, _, has_ended in receives(waiting))


def test_a_silent_receive_is_taken_over_by_one_recovery_only(waiting: Database) -> None:
    receive = started(waiting)

    def take(number: int = receive.number) -> bool:
        with Database(waiting.url).across.transaction() as connection:
            return claims.take_silent(connection, Receive("acme", KEY, number), silence=60)

    assert not take()  # it is not silent
    set_silent(waiting)
    assert not take(receive.number + 1)
    with waiting.across.transaction() as connection:
        strange = Receive("blue", KEY, receive.number)
        assert not claims.take_silent(connection, strange, silence=60)
    with ThreadPoolExecutor(4) as threads:
        assert sorted(threads.map(lambda _: take(), range(4))) == [False, False, False, True]
    assert claim(waiting).state == "running"

    set_silent(waiting)
    with waiting.across.transaction() as connection:
        claims.hold(connection, receive)  # the worker is alive after all
    assert not take()


def test_of_silent_receives_the_longest_silent_come_first(database: Database) -> None:
    with database.across.transaction() as connection:
        set_up(connection, "acme")
        for key in ("a", "b", "c", "waits"):
            claims.wait(connection, "acme", key, lane=LANE)
        for key in ("a", "b", "c"):
            made = offer_one(connection, "acme", key, live_limit=None, lease=60)
            assert made is not None
            assert claims.start(connection, "acme", key, offer_number=1, run_id=f"run-{key}")
        at = store_database.now(connection)
        for key, seconds in (("a", 61), ("b", 3_600), ("c", 50)):
            table = tables.claims
            connection.execute(
                sa.update(table)
                .where(table.c.key == key)
                .values(heartbeat_at=at - timedelta(seconds=seconds))
            )

    with database.across.read() as connection:
        silent = cross_workspace.silent_receives(connection, silence=60, limit=10)
        first = cross_workspace.silent_receives(connection, silence=60, limit=1)

    assert [(one.receive.key, one.run_id, one.lane) for one in silent] == [
        ("b", "run-b", LANE),
        ("a", "run-a", LANE),
    ]
    assert first == silent[:1]


@pytest.mark.parametrize("lost_to", ["waiting", "newer", "ended", "cancelled", "number", "tenant"])
def test_only_the_receive_that_holds_the_claim_may_write(waiting: Database, lost_to: str) -> None:
    receive = started(waiting)
    if lost_to in ("waiting", "newer"):
        wait_again(waiting, receive)
    if lost_to == "newer":
        assert started(waiting).number == 2
    with waiting.across.transaction() as connection:
        if lost_to == "ended":
            claims.end(connection, receive)
        if lost_to == "cancelled":
            assert claims.end_running(connection, "acme", KEY)
    if lost_to == "number":
        receive = Receive("acme", KEY, 2)
    if lost_to == "tenant":
        receive = Receive("blue", KEY, 1)
    known = rows(waiting)

    writes: list[Callable[[Connection], None]] = [
        lambda connection: claims.hold(connection, receive),
        lambda connection: claims.wait_again(connection, receive, code="late", delay=0),
        lambda connection: claims.end(connection, receive),
    ]
    for write in writes:
        with waiting.across.transaction() as connection, pytest.raises(ReceiveLost):
            write(connection)

    assert rows(waiting) == known


@pytest.mark.parametrize("end", ["ended", "ended while it waited", "ended while it ran"])
def test_a_finished_claim_never_starts_again(waiting: Database, end: str) -> None:
    made = offer(waiting)
    receive = Receive("acme", KEY, 1)
    if end != "ended while it waited":
        assert start(waiting, made.number) == receive
    with waiting.across.transaction() as connection:
        if end == "ended":
            claims.end(connection, receive)
        else:
            assert claims.end_held_or_not(connection, "acme", KEY)
    known = rows(waiting)

    with waiting.across.transaction() as connection:
        assert not claims.end_held_or_not(connection, "acme", KEY)
        assert not claims.end_waiting(connection, "acme", KEY)
        assert not claims.end_running(connection, "acme", KEY)
        assert not release(connection, made)
        assert not renew(connection, made, lease=60)
        assert not claims.take_silent(connection, receive, silence=-60)
        assert offer_one(connection, "acme", KEY, live_limit=None, lease=60) is None
        assert offer_waiting(connection, LANE, live_limit=99, lease=60) == []
        assert cross_workspace.live_offers(connection, LANE, limit=9) == []
        assert cross_workspace.silent_receives(connection, silence=-60, limit=9) == []
        assert cross_workspace.unfinished(connection, silence=60) == []
        for number in range(made.number + 2):
            assert not claims.start(connection, "acme", KEY, offer_number=number, run_id="late")

    assert rows(waiting) == known
