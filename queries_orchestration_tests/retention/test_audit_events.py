"""The audit trail goes after its days, and the database refuses whoever goes further."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from queries_orchestration.model.audit import SYSTEM, AuditEvent, Subject
from queries_orchestration.retention import history
from queries_orchestration.store import audit
from queries_orchestration.store.tables import audit_events
from queries_orchestration_tests.house import House
from queries_orchestration_tests.retention.retained import PAST, retained


def record(house: House, *, days: int) -> None:
    with house.backends.database.across.transaction() as connection:
        audit.record(
            connection,
            AuditEvent(
                workspace_id=house.workspace_id,
                at=datetime.now(UTC) - timedelta(days=days),
                by=SYSTEM,
                action="dispatch_stopped",
                subject=Subject("workspace", house.workspace_id),
            ),
        )


def days(house: House) -> list[int]:
    """How old the events of the tests are, the youngest first."""
    with house.backends.database.across.read() as connection:
        found = audit.listing(connection, house.workspace_id, limit=1_000)
    return [(datetime.now(UTC) - one.at).days for one in found if one.action == "dispatch_stopped"]


@pytest.fixture
def house(house: House) -> House:
    house.clock.at = datetime.now(UTC)
    for age in (10, 398, 402, 500, 600):
        record(house, days=age)
    return house


def test_events_past_their_days_go(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "EVENTS_A_BATCH", 2)
    assert retained(house, do=False) == {"audit_events": 3}
    assert days(house) == [10, 398, 402, 500, 600]
    assert retained(house) == {"audit_events": 3}
    assert days(house) == [10, 398]
    assert retained(house) == {}


def test_a_calendar_that_runs_ahead_takes_no_younger_ones(house: House) -> None:
    assert retained(house, at=PAST) == {"audit_events": 3}
    assert days(house) == [10, 398]


def test_the_database_refuses_to_delete_a_younger_one(house: House) -> None:
    with pytest.raises(IntegrityError), house.backends.database.across.transaction() as connection:
        audit.remove_old(connection, house.workspace_id, before=datetime.now(UTC), limit=1_000)
    assert days(house) == [10, 398, 402, 500, 600]
    with house.backends.database.across.read() as connection:
        counted = connection.scalar(sa.select(sa.func.count()).select_from(audit_events))
    assert (counted or 0) > 5
