"""What a backfill takes back and lets wait, and that it stays behind all other work."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from queries_orchestration.model.ids import day_of_slot, slot_key
from queries_orchestration.settings import Settings
from queries_orchestration.store import backfills, claims, health, tables, vitals
from queries_orchestration.store.claims import Receive
from queries_orchestration.store.cross_workspace import (
    lanes_that_may_start,
    live_offers,
    offer_one,
    offer_waiting,
)
from queries_orchestration.store.database import Database
from queries_orchestration_tests.store.valid_rows import (
    LONG_AGO,
    SLOT,
    insert_slot,
    insert_waiting,
    set_up,
    valid_rows,
)

MANY = 10_000
LANE = "delivery"
PLACES = Settings().backfill_places(LANE)
LIMITS: dict[str, Any] = {"live_limit": 16, "lease": 60, "backfill_limit": PLACES}
MISSED = {"outcome": "missed", "settled_at": SLOT, "message": "It was missed."}


def insert_backfilled(
    connection: Connection, workspace: str, count: int, *, schedules: int = 1
) -> None:
    """Insert slots that a backfill let wait, of some schedules in turn."""
    common = valid_rows(workspace)
    names = [f"{workspace}-schedule-{number}" for number in range(schedules)]
    connection.execute(
        sa.insert(tables.schedules),
        [common["schedules"] | {"id": name, "name": name} for name in names],
    )
    begins = SLOT - timedelta(days=60)
    slots = [
        (names[number % schedules], begins + timedelta(minutes=5 * number))
        for number in range(count)
    ]
    row = common["occurrences"] | {"export_id": None, "via": "backfill"}
    connection.execute(
        sa.insert(tables.occurrences),
        [
            row | {"key": slot_key(schedule, slot), "schedule_id": schedule, "slot": slot}
            for schedule, slot in slots
        ],
    )
    claim = common["claims"] | {"backfill": True}
    connection.execute(
        sa.insert(tables.claims),
        [claim | {"key": slot_key(schedule, slot)} for schedule, slot in slots],
    )


@pytest.mark.parametrize("schedules", [1, 500])
def test_ten_thousand_that_wait_keep_nothing_of_today_from_its_offer(
    database: Database, schedules: int
) -> None:
    """Neither by their order, nor by their offers, nor by the time it takes to look."""
    with database.across.transaction() as connection:
        set_up(connection, "acme")
        set_up(connection, "blue")
        insert_backfilled(connection, "acme", MANY, schedules=schedules)
    with database.across.transaction() as connection:
        first = offer_waiting(connection, LANE, **LIMITS)
        again = offer_waiting(connection, LANE, **LIMITS)
    assert len(first) == min(PLACES, schedules)
    assert [one.priority for one in first] == [-1_000, -1_001][: len(first)]
    assert again == []

    with database.across.transaction() as connection:
        today = slot_key("acme-schedule-0", SLOT)
        insert_slot(connection, "acme", key=today, schedule_id="acme-schedule-0", slot=SLOT)
        others = insert_waiting(connection, "blue", 3)
    begun = time.monotonic()
    with database.across.transaction() as connection:
        made = offer_waiting(connection, LANE, **LIMITS)
    took = time.monotonic() - begun

    assert {one.key for one in made} == {today, *others}
    assert {one.key: one.priority for one in made}[today] == 0
    assert took < 2


def test_what_a_run_has_of_a_backfill_counts_among_its_places(database: Database) -> None:
    with database.across.transaction() as connection:
        set_up(connection, "acme")
        insert_backfilled(connection, "acme", 12, schedules=4)
        for offer in offer_waiting(connection, LANE, **LIMITS):
            assert claims.start(
                connection, "acme", offer.key, offer_number=offer.number, run_id="run"
            )
        assert offer_waiting(connection, LANE, **LIMITS) == []
        one = connection.scalar(
            sa.select(tables.claims.c.key).where(tables.claims.c.state == "running").limit(1)
        )
        claims.end(connection, Receive("acme", str(one), 1))
        settled = sa.update(tables.occurrences).where(tables.occurrences.c.key == one)
        connection.execute(settled.values(outcome="delivered", settled_at=SLOT))

        assert len(offer_waiting(connection, LANE, **LIMITS)) == 1


def test_they_take_turns_over_workspaces_and_are_offered_once_nothing_else_waits(
    database: Database,
) -> None:
    with database.across.transaction() as connection:
        for workspace in ("acme", "blue"):
            set_up(connection, workspace)
            insert_backfilled(connection, workspace, 6, schedules=3)
        others = insert_waiting(connection, "acme", 2)

        made = offer_waiting(connection, LANE, **LIMITS)
        few = offer_waiting(connection, LANE, live_limit=4, lease=60)

    assert [one.key for one in made[:2]] == others
    assert [one.workspace_id for one in made[2:]] == ["acme", "blue"]
    assert [one.priority for one in made] == [0, -1, -1_002, -1_000]
    assert few == []


def test_a_long_backfill_of_one_workspace_leaves_anothers_its_turns(database: Database) -> None:
    with database.across.transaction() as connection:
        for workspace, slots in (("acme", 40), ("blue", 4)):
            set_up(connection, workspace)
            insert_backfilled(connection, workspace, slots, schedules=4)
            # The place that is free first is acme's: it has waited for longer.
            if workspace == "acme":
                running = [one.key for one in offer_waiting(connection, LANE, **LIMITS)]
                for key in running:
                    assert claims.start(connection, "acme", key, offer_number=1, run_id="run")
        claims.end(connection, Receive("acme", running[0], 1))
        settled = sa.update(tables.occurrences).where(tables.occurrences.c.key == running[0])
        connection.execute(settled.values(outcome="delivered", settled_at=SLOT))

        (offer,) = offer_waiting(connection, LANE, **LIMITS)

    assert offer.workspace_id == "blue"


def test_however_much_waits_every_lane_with_work_is_told(database: Database) -> None:
    with database.across.transaction() as connection:
        set_up(connection, "acme")
        insert_backfilled(connection, "acme", 1_100, schedules=3)
        last = sa.insert(tables.claims).values(
            workspace_id="acme",
            key="a-render",
            lane="report",
            state="waiting",
            not_before=LONG_AGO + timedelta(days=1),
        )
        connection.execute(last)

        assert lanes_that_may_start(connection) == ["delivery", "report"]


def test_a_full_lane_offers_none_of_them(database: Database) -> None:
    with database.across.transaction() as connection:
        set_up(connection, "acme")
        insert_backfilled(connection, "acme", 6, schedules=3)
        insert_waiting(connection, "acme", 20)

        made = offer_waiting(connection, LANE, **LIMITS)

        assert [one.backfill for one in made] == [False] * 16
        assert len(live_offers(connection, LANE, limit=100)) == 16


def test_what_waits_for_its_turn_is_not_stuck_but_what_was_offered_long_ago(
    database: Database,
) -> None:
    with database.across.transaction() as connection:
        set_up(connection, "acme")
        insert_backfilled(connection, "acme", 6, schedules=3)
        assert health.waiting_long(connection, longer_than=timedelta(minutes=30)) == []

        (offer, _) = offer_waiting(connection, LANE, **LIMITS)
        this = sa.update(tables.offers).where(tables.offers.c.key == offer.key)
        connection.execute(this.values(offered_at=LONG_AGO))

        found = health.waiting_long(connection, longer_than=timedelta(minutes=30))
        assert [one.key for one in found] == [offer.key]


def test_one_that_somebody_works_by_hand_has_the_low_priority(database: Database) -> None:
    with database.across.transaction() as connection:
        set_up(connection, "acme")
        insert_backfilled(connection, "acme", 1)
        key = slot_key("acme-schedule-0", SLOT - timedelta(days=60))

        offer = offer_one(connection, "acme", key, live_limit=None, lease=60)

    assert offer is not None
    assert (offer.backfill, offer.priority) == (True, -1_000)
    assert day_of_slot(offer.key) == (SLOT - timedelta(days=60)).date()


def test_a_later_backfilled_slot_waits_for_an_earlier_one_of_today_and_not_the_other_way_round(
    database: Database,
) -> None:
    with database.across.transaction() as connection:
        set_up(connection, "acme")
        for day, via in ((1, "backfill"), (2, "recurrence"), (3, "backfill")):
            insert_slot(connection, "acme", key=f"{day}", slot=SLOT + timedelta(days=day), via=via)

        made = offer_waiting(connection, LANE, live_limit=16, lease=60)

    assert sorted(one.key for one in made) == ["1", "2"]


def take(connection: Connection, slots: list[datetime]) -> int:
    return backfills.admit_again(
        connection, "acme", "acme-schedule", slots, outcome="missed", at=SLOT
    )


def test_a_missed_slot_waits_again_and_keeps_the_number_of_its_receives(
    database: Database,
) -> None:
    with database.across.transaction() as connection:
        set_up(connection, "acme")
        for number in range(4):
            key = slot_key("acme-schedule", SLOT + timedelta(days=number))
            insert_slot(connection, "acme", key=key, slot=SLOT + timedelta(days=number), **MISSED)
            claim = sa.update(tables.claims).where(tables.claims.c.key == key)
            connection.execute(claim.values(state="done", receive_number=number, offer_number=4))
        bounds: dict[str, Any] = {
            "after": LONG_AGO,
            "until": SLOT + timedelta(days=9),
            "outcome": "missed",
        }

        found = backfills.settled_slots(connection, "acme", "acme-schedule", **bounds)
        done = take(connection, found)
        again = take(connection, found)

        assert found == [SLOT + timedelta(days=number) for number in range(3)]
        assert (done, again) == (3, 0)
        two = claims.get(connection, "acme", slot_key("acme-schedule", found[2]))
        assert two is not None
        assert (two.state, two.receive_number, two.offer_number) == ("waiting", 2, 4)
        assert two.backfill


def test_what_was_offered_in_vain_before_it_was_missed_makes_nobody_think_it_is_stuck(
    database: Database,
) -> None:
    """It waits for its turn since it was taken back, and perhaps for days."""
    with database.across.transaction() as connection:
        set_up(connection, "acme")
        key = slot_key("acme-schedule", SLOT)
        insert_slot(connection, "acme", key=key, slot=SLOT)
        offer_waiting(connection, LANE, **LIMITS)
        claims.end_waiting(connection, "acme", key)
        connection.execute(sa.update(tables.offers).values(offered_at=LONG_AGO))
        connection.execute(sa.update(tables.occurrences).values(**MISSED))

        assert take(connection, [SLOT]) == 1

        assert health.waiting_long(connection, longer_than=timedelta(minutes=30)) == []
        assert vitals.read(connection, at=SLOT, silence=60).lanes[LANE].oldest_waiting == 0
        (offer,) = offer_waiting(connection, LANE, **LIMITS)
        assert offer.number == 2


def test_only_what_a_backfill_failed_and_nobody_got_can_be_taken_back(database: Database) -> None:
    failed = {"outcome": "failed", "code": "test", "settled_at": SLOT}
    with database.across.transaction() as connection:
        set_up(connection, "acme")
        for number, via in enumerate(("backfill", "backfill", "recurrence")):
            slot = SLOT + timedelta(days=number)
            key = slot_key("acme-schedule", slot)
            insert_slot(connection, "acme", key=key, slot=slot, via=via, **failed)
        connection.execute(sa.update(tables.claims).values(state="done", receive_number=1))
        sent = valid_rows("acme")["deliveries"] | {
            "occurrence_key": slot_key("acme-schedule", SLOT)
        }
        connection.execute(sa.insert(tables.deliveries).values(sent | {"state": "sent"}))
        bounds: dict[str, Any] = {"after": LONG_AGO, "until": SLOT + timedelta(days=9)}

        found = backfills.settled_slots(
            connection, "acme", "acme-schedule", outcome="failed", **bounds
        )

        assert found == [SLOT + timedelta(days=1)]
        everything = [SLOT + timedelta(days=number) for number in range(3)]
        for expected in (1, 0):
            done = backfills.admit_again(
                connection, "acme", "acme-schedule", everything, outcome="failed", at=SLOT
            )
            assert done == expected
        codes = backfills.last_failures(connection, "acme", "acme-schedule", limit=2)
        assert codes == [None]


def test_a_slot_that_has_a_record_is_not_missing(database: Database) -> None:
    with database.across.transaction() as connection:
        set_up(connection, "acme")
        key = slot_key("acme-schedule", SLOT)
        insert_slot(connection, "acme", key=key)
        slots = [SLOT, SLOT + timedelta(days=1)]

        assert backfills.admit_missing(connection, "acme", "acme-schedule", slots, at=SLOT) == 1
        assert backfills.admit_missing(connection, "acme", "acme-schedule", slots, at=SLOT) == 0
        claim = claims.get(connection, "acme", key)
        assert claim is not None
        assert not claim.backfill


@pytest.mark.parametrize(
    ("before", "after", "via", "allowed"),
    [
        (None, "delivered", "recurrence", True),
        ("missed", None, "backfill", True),
        ("missed", None, "recurrence", False),
        ("missed", "delivered", "backfill", False),
        ("delivered", None, "backfill", False),
        ("failed", None, "recurrence", False),
        ("cancelled", "failed", "recurrence", False),
    ],
)
def test_the_database_lets_nobody_take_an_outcome_back_but_a_backfill_a_missed_one(
    database: Database, before: str | None, after: str | None, via: str, allowed: bool
) -> None:
    def settled(outcome: str | None) -> dict[str, object]:
        code = "test" if outcome == "failed" else None
        return {"outcome": outcome, "settled_at": SLOT if outcome else None, "code": code}

    with database.across.transaction() as connection:
        set_up(connection, "acme")
        insert_slot(connection, "acme", **settled(before))

    def change() -> None:
        with database.across.transaction() as connection:
            connection.execute(sa.update(tables.occurrences).values(via=via, **settled(after)))

    if allowed:
        change()
    else:
        with pytest.raises(IntegrityError, match="refused"):
            change()


def test_the_day_of_a_slot_is_that_of_utc_and_other_keys_have_none() -> None:
    late = datetime(2027, 1, 4, 23, 59, tzinfo=UTC)

    assert day_of_slot(slot_key("schedule", late)) == late.date()
    assert day_of_slot("schedule!request") is None
    assert day_of_slot("export") is None
