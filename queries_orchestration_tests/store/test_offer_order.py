"""In which order the work of one workspace is offered."""

from __future__ import annotations

from datetime import timedelta

import sqlalchemy as sa

from queries_orchestration.store import tables
from queries_orchestration.store.cross_workspace import offer_waiting
from queries_orchestration.store.database import Database
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
