"""In which order the work of one workspace is offered."""

from __future__ import annotations

from datetime import timedelta

import sqlalchemy as sa

from queries_orchestration.settings import DELIVERY_LANE, Settings
from queries_orchestration.store import claims, tables
from queries_orchestration.store.cross_workspace import offer_waiting
from queries_orchestration.store.database import Database
from queries_orchestration.store.offers import Offer
from queries_orchestration_tests.store.valid_rows import (
    LONG_AGO,
    SLOT,
    insert_slot,
    insert_waiting,
    set_up,
    valid_rows,
)


def test_within_a_workspace_the_longest_waiting_and_then_the_earliest_slot_come_first(
    database: Database,
) -> None:
    """Whatever their keys are called."""
    with database.across.transaction() as connection:
        set_up(connection, "acme")
        schedule = valid_rows("acme")["schedules"]
        for number, (key, not_before) in enumerate(
            [("z", LONG_AGO), ("y", LONG_AGO), ("a", LONG_AGO + timedelta(days=1))]
        ):
            other = f"schedule-{number}"
            connection.execute(
                sa.insert(tables.schedules).values(schedule | {"id": other, "name": other})
            )
            slot = SLOT + number * timedelta(days=1)
            insert_slot(connection, "acme", key=key, schedule_id=other, slot=slot)
            claim = sa.update(tables.claims).where(tables.claims.c.key == key)
            connection.execute(claim.values(not_before=not_before))

        made = offer_waiting(connection, "delivery", live_limit=16, lease=60)

    assert [one.key for one in made] == ["z", "y", "a"]


def test_a_thousand_due_of_one_workspace_delay_another_s_single_one_by_at_most_two_runs(
    database: Database,
) -> None:
    """Even if the lane was full of its offers when the single one came due."""
    limit = Settings().lane_offers(DELIVERY_LANE)
    with database.across.transaction() as connection:
        set_up(connection, "busy")
        set_up(connection, "small")
        insert_waiting(connection, "busy", 1_000)
        live = offer_waiting(connection, DELIVERY_LANE, live_limit=limit, lease=60)
        assert {offer.workspace_id for offer in live} == {"busy"}

        (single,) = insert_waiting(connection, "small", 1)
        started = []
        while single not in started:
            live += offer_waiting(connection, DELIVERY_LANE, live_limit=limit, lease=60)
            # A place is free: Dagster starts the run of the highest priority, of those the oldest.
            live.sort(key=lambda offer: -offer.priority)
            begun = live.pop(0)
            start(connection, begun)
            started.append(begun.key)

    assert started.index(single) <= 2


def start(connection: sa.Connection, offer: Offer) -> None:
    """Let a run take the work of an offer."""
    taken = claims.start(
        connection, offer.workspace_id, offer.key, offer_number=offer.number, run_id="a-run"
    )
    assert taken is not None
