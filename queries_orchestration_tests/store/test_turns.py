"""What comes first among what waits, and what is overtaken by a newer slot."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
import sqlalchemy as sa

from queries_orchestration.store import missed as missed_slots, tables
from queries_orchestration.store.database import Database
from queries_orchestration_tests.store.test_offers import offer
from queries_orchestration_tests.store.valid_rows import (
    LONG_AGO,
    SLOT,
    insert_slot,
    set_up,
    valid_rows,
)


def test_within_a_workspace_the_longest_waiting_and_then_the_earliest_slot_come_first(
    database: Database,
) -> None:
    """Whatever their keys are called."""
    with database.transaction() as connection:
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

    assert [one.key for one in offer(database)] == ["z", "y", "a"]


@pytest.mark.parametrize(
    ("spared", "missed"),
    [
        ({}, 1),
        ({"receive_number": 1}, 0),
        ({"lease_until": datetime(2999, 1, 1, tzinfo=SLOT.tzinfo)}, 0),
    ],
)
def test_what_a_run_has_taken_or_may_take_is_not_overtaken(
    database: Database, spared: dict[str, object], missed: int
) -> None:
    with database.transaction() as connection:
        set_up(connection, "acme")
        insert_slot(connection, "acme", key="earlier", slot=SLOT - timedelta(days=1))
        insert_slot(connection, "acme", key="waits")
        if spared:
            claim = sa.update(tables.claims).where(tables.claims.c.key == "waits")
            connection.execute(claim.values(**spared))

        recorded = missed_slots.miss_overtaken(
            connection,
            "acme",
            "acme-schedule",
            before=SLOT + timedelta(days=1),
            because="overtaken",
            at=SLOT,
        )

    assert recorded == missed
