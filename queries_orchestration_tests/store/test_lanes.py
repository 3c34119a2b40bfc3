"""Lanes: each has its own bound and its own turns; one offer out of turn keeps to them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta

import pytest
import sqlalchemy as sa

from queries_orchestration.store import claims
from queries_orchestration.store.cross_workspace import live_offers, offer_one, offer_waiting
from queries_orchestration.store.database import Database
from queries_orchestration.store.offers import Offer
from queries_orchestration_tests.store.valid_rows import (
    LONG_AGO,
    SLOT,
    insert_slot,
    insert_waiting,
    set_up,
)

LANES = ("delivery", "export", "report")
DAY = timedelta(days=1)


@pytest.fixture
def acme(database: Database) -> Database:
    """A store with two workspaces in which nothing waits."""
    with database.across.transaction() as connection:
        set_up(connection, "acme")
        set_up(connection, "blue")
    return database


def insert(
    database: Database, lane: str, count: int, *, workspace: str = "acme", late: int = 0
) -> list[str]:
    """Let work wait in ``lane``, from ``late`` days after the other work; returns its keys."""
    with database.across.transaction() as connection:
        return insert_waiting(
            connection, workspace, count, lane=lane, not_before=LONG_AGO + late * DAY
        )


def offer(
    database: Database, lane: str, *, live_limit: int = 16, at_most: int | None = None
) -> list[Offer]:
    with database.across.transaction() as connection:
        return offer_waiting(connection, lane, live_limit=live_limit, lease=60, at_most=at_most)


def one(
    database: Database, key: str, *, live_limit: int | None, workspace: str = "acme"
) -> Offer | None:
    with database.across.transaction() as connection:
        return offer_one(connection, workspace, key, live_limit=live_limit, lease=60)


def test_an_offer_is_of_one_lane_and_of_no_other(acme: Database) -> None:
    keys = {lane: insert(acme, lane, 2) for lane in LANES}

    for lane in LANES:
        made = offer(acme, lane)
        assert [(each.key, each.lane) for each in made] == [(key, lane) for key in keys[lane]]
        assert {each.schedule_id for each in made} == {
            "acme-schedule" if lane == "delivery" else None
        }
        with acme.across.read() as connection:
            assert [each.key for each in live_offers(connection, lane, limit=9)] == keys[lane]


@pytest.mark.parametrize(("full", "other"), [("delivery", "export"), ("export", "delivery")])
def test_a_full_lane_takes_no_place_and_no_turn_from_another(
    acme: Database, full: str, other: str
) -> None:
    insert(acme, full, 20)
    assert len(offer(acme, full, live_limit=16)) == 16
    assert offer(acme, full, live_limit=16) == []
    busy = insert(acme, other, 3)
    (single,) = insert(acme, other, 1, workspace="blue", late=1)

    made = offer(acme, other, live_limit=4)

    # The sixteen of the other lane count neither as turns nor for the priority.
    assert [(each.key, each.priority) for each in made] == [
        (busy[0], 0),
        (single, 0),
        (busy[1], -1),
        (busy[2], -2),
    ]


@pytest.mark.parametrize("lane", LANES)
def test_the_turns_of_each_lane_are_fair_over_workspaces(acme: Database, lane: str) -> None:
    busy = insert(acme, lane, 30)
    assert [each.key for each in offer(acme, lane, at_most=3)] == busy[:3]
    late = insert(acme, lane, 5, workspace="blue", late=1)

    made = offer(acme, lane, live_limit=10)

    assert [each.key for each in made] == [*late[:3], busy[3], late[3], busy[4], late[4]]


def test_an_offer_out_of_turn_waits_for_room_in_its_own_lane(acme: Database) -> None:
    insert(acme, "delivery", 9)
    keys = insert(acme, "export", 3)
    offer(acme, "delivery")

    assert one(acme, keys[0], live_limit=2) is not None
    made = one(acme, keys[1], live_limit=2)
    assert made == Offer(
        workspace_id="acme", key=keys[1], schedule_id=None, lane="export", number=1, priority=-1
    )
    assert one(acme, keys[2], live_limit=2) is None
    with acme.across.transaction() as connection:
        assert claims.start(connection, "acme", keys[0], offer_number=1, run_id="run")
    assert one(acme, keys[2], live_limit=2) is not None


def test_a_run_that_is_there_already_needs_no_room(acme: Database) -> None:
    keys = insert(acme, "export", 3)
    assert len(offer(acme, "export", live_limit=2)) == 2

    assert one(acme, keys[2], live_limit=2) is None
    made = one(acme, keys[2], live_limit=None)
    assert made is not None
    assert made.run_key == f"{keys[2]}#1"


def test_an_offer_out_of_turn_is_of_its_workspace_and_of_what_may_start(acme: Database) -> None:
    (key,) = insert(acme, "export", 1)
    with acme.across.transaction() as connection:
        insert_slot(connection, "acme")
        insert_slot(connection, "acme", key="next", slot=SLOT + DAY)

    assert one(acme, key, live_limit=9, workspace="blue") is None
    assert one(acme, "unknown", live_limit=9) is None
    assert one(acme, "next", live_limit=9) is None  # the slot before it is not settled
    first = one(acme, "acme-key", live_limit=9)
    assert first is not None
    assert (first.schedule_id, first.lane) == ("acme-schedule", "delivery")
    assert one(acme, "acme-key", live_limit=9) is None  # it has a live offer


def _sensor(database: Database, _: str) -> list[Offer]:
    return offer(database, "export", live_limit=1)


def _another_click(database: Database, key: str) -> list[Offer]:
    made = one(database, key, live_limit=1)
    return [made] if made else []


@pytest.mark.parametrize("other", [_sensor, _another_click])
def test_an_offer_out_of_turn_and_another_keep_within_the_limit_together(
    acme: Database, other: Callable[[Database, str], list[Offer]]
) -> None:
    """The other begins between the first one's count of live offers and its write."""
    first, second = insert(acme, "export", 2)
    made_by_other: list[list[Offer]] = []
    thread = threading.Thread(
        target=lambda: made_by_other.append(other(Database(acme.url), second))
    )

    with acme.across.transaction() as connection:

        def let_the_other_in(*arguments: object) -> None:
            if str(arguments[2]).startswith("UPDATE") and not thread.ident:
                thread.start()
                thread.join(0.2)

        sa.event.listen(connection, "before_cursor_execute", let_the_other_in)
        made = offer_one(connection, "acme", first, live_limit=1, lease=60)
    thread.join(10)

    assert made is not None
    assert made_by_other == [[]]
