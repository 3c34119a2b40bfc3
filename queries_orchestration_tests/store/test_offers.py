"""Offers: fair turns, a bound, leases by the database's clock, and never twice."""

from __future__ import annotations

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

import pytest
import sqlalchemy as sa
from sqlalchemy import Connection

from queries_orchestration.store import (
    claims,
    database as store_database,
    missed as missed_slots,
    occurrences,
    tables,
)
from queries_orchestration.store.cross_workspace import offer_one, offer_waiting
from queries_orchestration.store.database import Database
from queries_orchestration.store.offers import Offer, release, renew
from queries_orchestration_tests.store.valid_rows import (
    LONG_AGO,
    SLOT,
    insert_slot,
    insert_waiting,
    set_up,
)

LANE = "delivery"


def insert(
    database: Database, workspace: str, count: int, *, not_before: datetime = LONG_AGO
) -> list[str]:
    """Set a workspace up with waiting occurrences; returns their keys in turn."""
    with database.across.transaction() as connection:
        set_up(connection, workspace)
        return insert_waiting(connection, workspace, count, not_before=not_before)


def offer(
    database: Database, *, live_limit: int = 16, lease: float = 60, at_most: int | None = None
) -> list[Offer]:
    """Make offers in a transaction of their own."""
    with database.across.transaction() as connection:
        return offer_waiting(connection, LANE, live_limit=live_limit, lease=lease, at_most=at_most)


def take(database: Database, made: Offer) -> None:
    with database.across.transaction() as connection:
        assert claims.start(
            connection,
            made.workspace_id,
            made.key,
            offer_number=made.number,
            run_id="run",
        )


def rows_of(database: Database, key: str) -> list[tuple[int, str, bool]]:
    """Return the offers of a piece of work: number, state, whether it has ended."""
    with database.across.read() as connection:
        found = connection.execute(
            sa.select(tables.offers.c.number, tables.offers.c.state, tables.offers.c.ended_at)
            .where(tables.offers.c.key == key)
            .order_by(tables.offers.c.number)
        )
        return [(row.number, row.state, row.ended_at is not None) for row in found]


def lease_end(connection: Connection, key: str) -> datetime:
    found = claims.get(connection, "acme", key)
    assert found is not None
    assert found.lease_until is not None
    return found.lease_until


def test_one_workspace_with_much_work_does_not_starve_another(database: Database) -> None:
    busy = insert(database, "acme", 30)
    (single,) = insert(database, "blue", 1, not_before=LONG_AGO + timedelta(days=1))

    made = offer(database, live_limit=16)

    assert [one.key for one in made] == [busy[0], single, *busy[1:15]]


def test_a_workspace_that_has_live_offers_has_had_its_turns(database: Database) -> None:
    busy = insert(database, "acme", 30)
    assert len(offer(database, live_limit=16, at_most=5)) == 5
    late = insert(database, "blue", 6, not_before=LONG_AGO + timedelta(days=1))

    made = offer(database, live_limit=16, at_most=7)

    assert [one.key for one in made] == [*late[:5], busy[5], late[5]]


def test_the_priority_is_minus_what_the_workspace_has_live_already(database: Database) -> None:
    insert(database, "acme", 3)
    insert(database, "blue", 1)
    offer(database, at_most=1)

    made = offer(database)

    assert Counter((one.workspace_id, one.priority) for one in made) == {
        ("acme", -1): 1,
        ("acme", -2): 1,
        ("blue", 0): 1,
    }


def test_no_more_offers_are_live_than_the_limit(database: Database) -> None:
    insert(database, "acme", 30)

    assert len(offer(database, live_limit=16, at_most=10)) == 10
    made = offer(database, live_limit=16)
    assert len(made) == 6
    assert offer(database, live_limit=16) == []

    take(database, made[0])
    take(database, made[1])
    assert len(offer(database, live_limit=16)) == 2


def test_two_that_offer_at_once_keep_within_the_limit_together(database: Database) -> None:
    """The second begins between the first one's count of live offers and its choice."""
    insert(database, "acme", 30)
    second: list[list[Offer]] = []
    thread = threading.Thread(target=lambda: second.append(offer(Database(database.url))))

    with database.across.transaction() as connection:

        def let_the_second_in(*arguments: object) -> None:
            if "RECURSIVE" in str(arguments[2]) and not thread.ident:
                thread.start()
                thread.join(0.2)

        sa.event.listen(connection, "before_cursor_execute", let_the_second_in)
        first = offer_waiting(connection, LANE, live_limit=16, lease=60)
    thread.join(10)

    assert [len(first), *map(len, second)] == [16, 0]


def test_an_offer_is_not_made_again_while_its_lease_lasts(database: Database) -> None:
    (key,) = insert(database, "acme", 1)
    with database.across.transaction() as connection:
        before = store_database.now(connection)
        offer_waiting(connection, LANE, live_limit=16, lease=60)
        after = store_database.now(connection)

    with database.across.read() as connection:
        lease = timedelta(seconds=60)
        assert before + lease <= lease_end(connection, key) <= after + lease
    assert offer(database) == []
    assert rows_of(database, key) == [(1, "live", False)]


def test_an_offer_is_made_again_under_the_next_number_when_its_lease_has_ended(
    database: Database,
) -> None:
    (key,) = insert(database, "acme", 1)
    numbers = []
    for lease in (0.05, 0.05, 60):
        made: list[Offer] = []
        while not made:
            with database.across.read() as connection:
                known = claims.get(connection, "acme", key)
            made = offer(database, lease=lease)
            time.sleep(0.01)
        with database.across.read() as connection:
            assert known is not None
            remade_at = lease_end(connection, key) - timedelta(seconds=lease)
            assert known.lease_until is None or remade_at >= known.lease_until
        numbers += [one.number for one in made]

    assert numbers == [1, 2, 3]
    assert made[0].run_key == f"{key}#3"
    assert rows_of(database, key) == [(1, "lost", True), (2, "lost", True), (3, "live", False)]


def test_an_offer_that_was_made_again_cannot_be_taken_but_the_new_one_can(
    database: Database,
) -> None:
    (key,) = insert(database, "acme", 1)
    (old,) = offer(database, lease=0.001)
    time.sleep(0.01)
    (new,) = offer(database)

    with database.across.transaction() as connection:
        late = claims.start(connection, "acme", key, offer_number=old.number, run_id="late")
    assert late is None
    take(database, new)
    assert rows_of(database, key) == [(1, "lost", True), (2, "taken", True)]


def test_two_that_offer_at_once_never_offer_the_same_occurrence(database: Database) -> None:
    keys = insert(database, "acme", 12) + insert(database, "blue", 12)
    ready = threading.Barrier(2)

    def offer_some() -> list[str]:
        own = Database(database.url)
        made: list[str] = []
        for _ in range(6):
            ready.wait(10)
            made += [one.key for one in offer(own, live_limit=100, at_most=3)]
        return made

    with ThreadPoolExecutor(2) as threads:
        both = [threads.submit(offer_some) for _ in range(2)]
        made = [key for one in both for key in one.result()]

    assert sorted(made) == sorted(keys)
    assert all(rows_of(database, key) == [(1, "live", False)] for key in keys)


def test_a_person_s_own_run_and_the_dispatcher_never_offer_the_same_occurrence(
    database: Database,
) -> None:
    """The person's run comes between the dispatcher's choice and its first write."""
    (key,) = insert(database, "acme", 1)
    to_person: list[Offer | None] = []

    def offer_to_person() -> None:
        with Database(database.url).across.transaction() as connection:
            to_person.append(offer_one(connection, "acme", key, live_limit=None, lease=60))

    thread = threading.Thread(target=offer_to_person)
    with database.across.transaction() as connection:

        def let_the_person_in(*arguments: object) -> None:
            if str(arguments[2]).startswith("UPDATE") and not thread.ident:
                thread.start()
                thread.join(0.2)

        sa.event.listen(connection, "before_cursor_execute", let_the_person_in)
        made = offer_waiting(connection, LANE, live_limit=16, lease=60)
    thread.join(10)

    assert len(made) + len([one for one in to_person if one]) == 1
    assert rows_of(database, key) == [(1, "live", False)]


def test_what_may_not_start_yet_is_not_offered(database: Database) -> None:
    with database.across.transaction() as connection:
        set_up(connection, "acme")
        soon = store_database.now(connection) + timedelta(seconds=60)
        (key,) = insert_waiting(connection, "acme", 1, not_before=soon)

    assert offer(database) == []
    with database.across.transaction() as connection:
        assert offer_one(connection, "acme", key, live_limit=None, lease=60) is None


def test_a_person_s_own_run_is_offered_the_occurrence_unless_somebody_has_it(
    database: Database,
) -> None:
    (key,) = insert(database, "acme", 1)

    def offer_to_person(workspace: str = "acme", *, lease: float = 60) -> int | None:
        with database.across.transaction() as connection:
            made = offer_one(connection, workspace, key, live_limit=None, lease=lease)
        return made.number if made else None

    assert offer_to_person("blue") is None
    assert offer_to_person(lease=0.001) == 1
    time.sleep(0.01)
    assert offer_to_person() == 2
    assert offer_to_person() is None
    with database.across.transaction() as connection:
        assert claims.start(connection, "acme", key, offer_number=2, run_id="run")
    assert offer_to_person() is None


@pytest.mark.parametrize("end", ["taken", "lost"])
def test_no_offer_of_a_settled_occurrence_stays_live(database: Database, end: str) -> None:
    """Settled by the receive that took it, or recorded missed after its offer was lost."""
    with database.across.transaction() as connection:
        set_up(connection, "acme")
        insert_slot(connection, "acme")
        assert offer_one(connection, "acme", "acme-key", live_limit=None, lease=0.001)
    if end == "taken":
        with database.across.transaction() as connection:
            receive = claims.start(connection, "acme", "acme-key", offer_number=1, run_id="r")
            assert receive is not None
            occurrences.settle(
                connection, receive, outcome="delivered", code=None, message=None, at=SLOT
            )
    else:
        time.sleep(0.01)
        with database.across.transaction() as connection:
            insert_slot(connection, "acme", key="earlier", slot=SLOT - timedelta(days=1))
            missed = missed_slots.miss_overtaken(
                connection,
                "acme",
                "acme-schedule",
                before=SLOT + timedelta(days=1),
                because="overtaken",
                at=SLOT,
            )
        assert missed == 1

    assert rows_of(database, "acme-key") == [(1, end, True)]


def test_an_offer_taken_back_is_made_again_at_once_under_the_next_number(
    database: Database,
) -> None:
    (key,) = insert(database, "acme", 1)
    (made,) = offer(database)

    with database.across.transaction() as connection:
        assert release(connection, made)
        assert not release(connection, made)  # it was the live one only once
        assert not renew(connection, made, lease=60)
        assert not claims.start(connection, "acme", key, offer_number=1, run_id="late")

    assert [one.number for one in offer(database)] == [2]
    assert rows_of(database, key) == [(1, "released", True), (2, "live", False)]
    with database.across.transaction() as connection:
        assert not release(connection, made)  # nor does the old one take the new one back
        assert not renew(connection, made, lease=60)
    assert rows_of(database, key)[-1] == (2, "live", False)


def test_an_offer_taken_back_with_a_delay_waits_it_by_the_databases_clock(
    database: Database,
) -> None:
    (key,) = insert(database, "acme", 1)
    (made,) = offer(database)

    with database.across.transaction() as connection:
        before = store_database.now(connection)
        assert release(connection, made, delay=60)
        after = store_database.now(connection)
        claim = claims.get(connection, "acme", key)
    delay = timedelta(seconds=60)
    assert claim is not None
    assert before + delay <= claim.not_before <= after + delay
    assert (claim.state, claim.lease_until) == ("waiting", None)
    assert offer(database) == []

    with database.across.transaction() as connection:
        connection.execute(sa.update(tables.claims).values(not_before=LONG_AGO))
    assert [one.number for one in offer(database)] == [2]


def test_a_renewed_lease_counts_from_now_and_keeps_the_offer(database: Database) -> None:
    (key,) = insert(database, "acme", 1)
    (made,) = offer(database, lease=0.001)
    time.sleep(0.01)  # a lease that has ended can be renewed until the offer is made again

    with database.across.transaction() as connection:
        before = store_database.now(connection)
        assert renew(connection, made, lease=60)
        after = store_database.now(connection)
        until = lease_end(connection, key)

    lease = timedelta(seconds=60)
    assert before + lease <= until <= after + lease
    assert offer(database) == []
    assert rows_of(database, key) == [(1, "live", False)]
    take(database, made)


def test_an_offer_that_a_run_took_is_neither_taken_back_nor_renewed(database: Database) -> None:
    (key,) = insert(database, "acme", 1)
    (made,) = offer(database)
    take(database, made)

    with database.across.transaction() as connection:
        known = claims.get(connection, "acme", key)
        assert not release(connection, made, delay=60)
        assert not renew(connection, made, lease=60)
        assert claims.get(connection, "acme", key) == known
    assert rows_of(database, key) == [(1, "taken", True)]
