"""Who may backfill, what is refused, and what the audit trail tells of it."""

from __future__ import annotations

from datetime import timedelta

import pytest
import sqlalchemy as sa

from queries_orchestration.deliveries.backfill import Backfilled
from queries_orchestration.model.audit import By
from queries_orchestration.model.errors import NotFound, Refused
from queries_orchestration.store import tables
from queries_orchestration_tests.deliveries.audited import MORE, actions, only
from queries_orchestration_tests.deliveries.backfilled import (
    fill,
)
from queries_orchestration_tests.house import MONDAY, WEEK, House


def test_a_person_backfills_what_they_have_authority_over(house: House) -> None:
    house.apply(MORE)
    house.dispatch(MONDAY + WEEK + timedelta(hours=2))
    own = {"workspace_id": house.workspace_id}
    schedule_id = house.schedule().id

    for name in ("gus", "bob"):
        assert fill(house, MONDAY.date(), by=house.by(name), **own) == Backfilled()
    with pytest.raises(NotFound):  # who is not active any more
        fill(house, MONDAY.date(), by=house.by("dan"), **own)
    for name in ("gus", "bob", "dan"):
        with pytest.raises(NotFound, match="not yours"):
            fill(house, MONDAY.date(), by=house.by(name), schedule_id=schedule_id, **own)
    with pytest.raises(Refused) as refused:
        fill(house, MONDAY.date(), by=house.by("root"))
    assert refused.value.code == "no_workspace"
    assert actions(house) == []

    assert fill(house, MONDAY.date(), by=house.by("root"), **own) == Backfilled(missed=2)
    assert actions(house) == ["backfill_launched"] * 2


def test_who_asked_is_in_the_audit_trail_once_for_a_schedule_that_had_something(
    house: House,
) -> None:
    house.dispatch(MONDAY + WEEK)
    by = By(via="dagster-ui", person_id=house.person("ada"))
    asked = {"workspace_id": house.workspace_id, "schedule_id": house.schedule().id}

    for _ in range(2):
        fill(house, MONDAY.date(), by=by, **asked)

    event = only(house, "backfill_launched")
    assert (event.by, event.subject.kind, event.subject.id) == (
        by,
        "schedule",
        house.schedule().id,
    )
    assert event.at == house.history()[0].admitted_at


def test_of_unknown_workspaces_and_schedules_and_of_others_there_is_none(house: House) -> None:
    house.clock.at = MONDAY
    for asked in (
        {"workspace_id": "unknown"},
        {"workspace_id": house.workspace_id, "schedule_id": "unknown"},
        {"workspace_id": "other", "schedule_id": house.schedule().id},
        {"workspace_id": house.workspace_id, "by": By(via="dagster-ui", person_id="unknown")},
    ):
        with pytest.raises(NotFound):
            fill(house, MONDAY.date(), **asked)


def test_a_schedule_that_cannot_be_read_is_passed_over_and_stops_no_other(house: House) -> None:
    house.apply(MORE)
    house.dispatch(MONDAY + WEEK)
    second = house.schedule("second").id
    with house.backends.database.across.transaction() as connection:
        connection.execute(
            sa.update(tables.schedules)
            .where(tables.schedules.c.id == second)
            .values(time_zone="Mars/Olympus")
        )

    done = fill(house, MONDAY.date())

    assert done == Backfilled(missed=1, passed_over=((second, "unknown_time_zone"),))
