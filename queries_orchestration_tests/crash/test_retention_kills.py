"""kill -9 at every step of a retention and an erasure: done again, all is done, nothing twice."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from queries_orchestration.model.audit import OPERATOR
from queries_orchestration.retention.erase import erase
from queries_orchestration_tests.crash.kills import kill_erasure_at, kill_retention_at
from queries_orchestration_tests.deliveries.audited import actions
from queries_orchestration_tests.downloads import request_file
from queries_orchestration_tests.house import MONDAY, WEEK, House
from queries_orchestration_tests.retention.retained import PAST, months, retained, rows
from queries_orchestration_tests.retention.test_audit_events import days, record
from queries_orchestration_tests.retention.test_files import stray

IN_RETENTION = (
    "file without a row removed, not the next",
    "old messages forgotten, not rolled up",
    "occurrences removed, not committed",
    "occurrences rolled up, not the next",
    "exports removed, not committed",
    "audit events removed, not committed",
)
IN_AN_ERASURE = ("messages of somebody forgotten, not erased", "erased, not committed")


@pytest.mark.parametrize("step", IN_RETENTION)
def test_a_retention_that_is_killed_is_done_by_the_next(house: House, step: str) -> None:
    for week in range(2):
        house.deliver(MONDAY + week * WEEK)
    request_file(house, "ada")
    retained(house, at=MONDAY + timedelta(days=60))  # the files go
    record(house, days=500)
    stray(house, at=datetime(2026, 1, 1, tzinfo=UTC))
    house.clock.at = PAST + 2 * WEEK

    kill_retention_at(house, step)
    retained(house)

    assert [one["occurrences"] for one in months(house)] == [2]
    kept = {"occurrences", "exports", "deliveries", "claims", "offers", "receives", "downloads"}
    assert kept.isdisjoint(rows(house))
    assert rows(house)["monthly_exports"] == 1
    assert days(house) == []
    assert house.messages() == []
    assert list(house.backends.storage.files("")) == []
    assert retained(house) == {}


@pytest.mark.parametrize("step", IN_AN_ERASURE)
def test_an_erasure_that_is_killed_is_done_by_the_next(house: House, step: str) -> None:
    house.deliver(MONDAY)
    bob = house.person("bob")

    kill_erasure_at(house, "bob", step)
    assert house.person("bob") == bob
    assert "person_erased" not in actions(house)

    erase(house.backends, house.workspace_id, bob, by=OPERATOR, do=True)
    assert actions(house).count("person_erased") == 1
    assert house.person(f"erased-{bob}") == bob
    assert house.addressees() == ["cyd@example.org"]
