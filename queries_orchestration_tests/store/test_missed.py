"""What waits is recorded as missed only if no run has it or may take it."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
import sqlalchemy as sa

from queries_orchestration.store import missed as missed_slots, tables
from queries_orchestration.store.database import Database
from queries_orchestration_tests.store.valid_rows import SLOT, insert_slot, set_up


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
    with database.across.transaction() as connection:
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
