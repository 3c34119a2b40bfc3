"""A restore of the application database: what was delivered after the backup comes due again."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
import sqlalchemy as sa

from queries_orchestration.deliveries import schedule_changes
from queries_orchestration.model.audit import OPERATOR
from queries_orchestration.store import tables
from queries_orchestration.store.database import Database
from queries_orchestration_tests.emptied import empty_tables
from queries_orchestration_tests.house import MONDAY, House
from queries_orchestration_tests.postgres import as_owner

HOURS_LATER = MONDAY + timedelta(hours=5)
Restore = Callable[[], None]


@pytest.fixture
def backup(house: House) -> Restore:
    """Back the application database up, as it is before the first slot."""
    with house.backends.database.across.read() as connection:
        kept = {
            table: [dict(row._mapping) for row in connection.execute(sa.select(table))]
            for table in tables.metadata.sorted_tables
        }

    def restore() -> None:
        owned = Database(as_owner(house.backends.database.url))
        with owned.across.transaction() as connection:
            empty_tables(connection)
            for table, rows in kept.items():
                if rows:
                    connection.execute(sa.insert(table), rows)

    return restore


def test_a_slot_that_was_delivered_after_the_backup_is_delivered_again_under_the_same_keys(
    house: House, backup: Restore
) -> None:
    """The mailbox knows the communication key, and keeps one message; a mail server would not."""
    house.deliver(MONDAY)
    (before,) = house.history()
    backup()
    assert house.history() == []

    assert house.deliver(HOURS_LATER) == ["delivered"]

    (again,) = house.history()
    assert (again.key, again.slot) == (before.key, before.slot)
    assert house.addressees() == ["bob@example.org", "cyd@example.org"]


def test_the_policy_none_sends_nothing_again(house: House, backup: Restore) -> None:
    house.deliver(MONDAY)
    backup()
    with house.backends.database.across.transaction() as connection:
        connection.execute(sa.text("UPDATE schedules SET missed_slots = 'none'"))

    assert house.deliver(HOURS_LATER) == []

    assert [one.outcome for one in house.history()] == ["missed"]


def test_pausing_and_resuming_moves_the_recurrence_on_and_nothing_is_sent_again(
    house: House, backup: Restore
) -> None:
    house.deliver(MONDAY)
    backup()
    house.clock.at = HOURS_LATER
    schedule_id = house.schedule().id
    schedule_changes.pause(
        house.backends, house.workspace_id, schedule_id=schedule_id, reason="restored", by=OPERATOR
    )
    schedule_changes.resume(
        house.backends, house.workspace_id, schedule_id=schedule_id, by=OPERATOR
    )

    assert house.deliver(HOURS_LATER) == []
    assert house.history() == []
