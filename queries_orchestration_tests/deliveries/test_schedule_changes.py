"""Pause, resume, another version: what a person changes in a schedule beside its file."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from queries_orchestration.deliveries import schedule_changes
from queries_orchestration.deliveries.run_now import run_now
from queries_orchestration.model.audit import OPERATOR
from queries_orchestration.model.errors import (
    AccessLost,
    InvalidRecurrence,
    InvalidRuntimeValue,
    NotFound,
    QueriesError,
    Refused,
    SourceGone,
)
from queries_orchestration.model.ids import new_id
from queries_orchestration.store import schedules, sources
from queries_orchestration.store.schedules import Schedule
from queries_orchestration.store.tables import people, schedules as schedules_table
from queries_orchestration_tests.house import CATALOG, MONDAY, SET_UP, WEEK, House

TWO_VERSIONS = CATALOG.replace(
    "fields: [{field: id, label: Order}, {field: region, label: Region}, {field: amount}]",
    "fields: [{field: id}]\n"
    "    filters: [{field: region, op: eq, value: {parameter: region}}]\n"
    "    parameters: [{name: region, type: text, required: false}]",
)


def test_a_person_pauses_a_schedule_with_the_reason_and_nothing_more_is_due(house: House) -> None:
    paused = _pause(house)

    assert paused == replace(
        house.schedule(),
        state="paused",
        pause_code="paused",
        pause_reason="holiday",
        paused_at=SET_UP,
        next_slot=None,
        written_by="other",
    )
    assert house.deliver(MONDAY + WEEK) == []


def test_what_was_admitted_before_a_pause_is_still_delivered(house: House) -> None:
    (offer,) = house.dispatch(MONDAY).offers

    _pause(house)

    assert house.take(offer) == "delivered"
    assert house.schedule().state == "paused"


def test_a_schedule_is_paused_once(house: House) -> None:
    _pause(house)

    with pytest.raises(Refused, match="paused already, with paused: holiday") as refused:
        _pause(house, reason="again")

    assert refused.value.code == "already_paused"
    assert house.schedule().pause_reason == "holiday"


def test_resuming_goes_on_with_the_next_slot_and_fires_no_past_one(house: House) -> None:
    with house.backends.database.across.transaction() as connection:
        for _ in range(4):
            schedules.extend_streak(connection, house.workspace_id, house.schedule().id)
    before = _pause(house)
    house.clock.at = MONDAY + 3 * WEEK

    resumed = _resume(house)

    assert resumed == replace(
        before,
        state="active",
        pause_code=None,
        pause_reason=None,
        paused_at=None,
        failure_streak=0,
        next_slot=MONDAY + 4 * WEEK,  # strictly after now, although now is a slot
    )
    assert house.schedule() == resumed
    assert house.deliver(MONDAY + 4 * WEEK - timedelta(seconds=1)) == []
    assert house.deliver(MONDAY + 4 * WEEK) == ["delivered"]
    assert [one.slot for one in house.history()] == [MONDAY + 4 * WEEK]


def test_an_automatic_pause_is_resumed_too_and_the_catalog_may_still_be_applied(
    house: House,
) -> None:
    _change_person(house, "ada", roles=[])
    assert house.deliver(MONDAY) == ["access_lost"]
    _change_person(house, "ada", roles=["author"])

    assert _resume(house).next_slot == MONDAY + WEEK

    house.apply(CATALOG)
    assert house.deliver(MONDAY + WEEK) == ["delivered"]


def test_an_owner_who_cannot_open_the_source_keeps_the_schedule_paused(house: House) -> None:
    before = _pause(house)
    _change_person(house, "ada", active=False)
    with pytest.raises(AccessLost):
        _resume(house)
    _change_person(house, "ada", active=True, roles=[])
    with pytest.raises(AccessLost):
        _resume(house)
    _change_person(house, "ada", roles=["author"])
    _archive(house)
    with pytest.raises(SourceGone):
        _resume(house)

    assert house.schedule() == before


def test_whether_the_workers_know_the_connections_url_is_not_asked_here(house: House) -> None:
    _pause(house)
    here = house.with_backends(replace(house.backends, environment={}))

    assert _resume(here).state == "active"


def test_a_rule_that_cannot_be_read_or_never_comes_again_is_not_resumed(house: House) -> None:
    _pause(house)
    _change(house, cron="0 8 * *")
    with pytest.raises(InvalidRecurrence):
        _resume(house)
    _change(house, cron="0 8 * * 1")
    house.clock.at = house.clock.at.replace(year=9950)
    with pytest.raises(Refused) as refused:
        _resume(house)

    assert refused.value.code == "schedule_ended"
    assert house.schedule().state == "paused"


def test_what_is_not_paused_is_not_resumed_and_what_has_ended_is_not_changed(
    house: House,
) -> None:
    assert _code(lambda: _resume(house)) == "not_paused"
    _change(house, state="ended", next_slot=None)

    assert _code(lambda: _resume(house)) == "schedule_ended"
    assert _code(lambda: _pause(house)) == "schedule_ended"
    assert house.schedule().state == "ended"


def test_a_schedule_of_another_workspace_is_unknown(house: House) -> None:
    before, elsewhere = house.schedule(), new_id()

    with pytest.raises(NotFound):
        schedule_changes.pause(
            house.backends, elsewhere, schedule_id=before.id, reason="x", by=OPERATOR
        )
    with pytest.raises(NotFound):
        schedule_changes.resume(house.backends, elsewhere, schedule_id=before.id, by=OPERATOR)
    with pytest.raises(NotFound):
        schedule_changes.repin(house.backends, elsewhere, schedule_id=before.id, by=OPERATOR)

    assert house.schedule() == before


def test_a_new_version_is_delivered_only_after_the_schedule_is_moved_to_it(house: House) -> None:
    house.apply(TWO_VERSIONS)
    before = house.schedule()
    assert before.pinned_version == 1

    moved = _repin(house)
    assert house.deliver(MONDAY) == ["delivered"]
    back = _repin(house, version=1)

    assert moved == replace(before, pinned_version=2, written_by="other")
    (occurrence,) = house.history()
    assert house.file(occurrence.key).splitlines()[0] == b"id"
    assert not occurrence.source_changed
    assert back.pinned_version == 1


def test_new_values_take_the_place_of_the_old_ones(house: House) -> None:
    house.apply(TWO_VERSIONS)

    assert _repin(house, values={"region": "r3"}).runtime_values == {"region": "r3"}
    assert _repin(house).runtime_values == {"region": "r3"}
    assert house.deliver(MONDAY) == ["delivered"]
    (occurrence,) = house.history()
    assert len(house.file(occurrence.key).splitlines()) == 358
    with pytest.raises(InvalidRuntimeValue):
        _repin(house, version=1)
    assert house.schedule().pinned_version == 2
    assert _repin(house, version=1, values={}).runtime_values == {}


def test_a_version_or_values_that_the_owner_cannot_open_are_refused(house: House) -> None:
    house.apply(TWO_VERSIONS)
    before = house.schedule()

    with pytest.raises(NotFound, match="no version 3; its current one is 2"):
        _repin(house, version=3)
    with pytest.raises(InvalidRuntimeValue):
        _repin(house, values={"area": "r3"})
    _change_person(house, "ada", roles=[])
    with pytest.raises(AccessLost):
        _repin(house)

    assert house.schedule() == before


def test_a_schedule_that_is_paused_or_has_ended_is_moved_as_well(house: House) -> None:
    house.apply(TWO_VERSIONS)
    _pause(house)
    assert (_repin(house).state, house.schedule().pinned_version) == ("paused", 2)
    _change(house, state="ended", pause_code=None, pause_reason=None, paused_at=None)
    assert (_repin(house, version=1).state, house.schedule().pinned_version) == ("ended", 1)


def test_to_move_a_schedule_to_where_it_is_writes_nothing(house: House) -> None:
    before = house.schedule()

    assert _repin(house) == before
    assert before.written_by == "file"


def test_a_paused_schedule_can_still_be_run_by_hand(house: House) -> None:
    _pause(house)
    key = run_now(
        house.backends,
        house.workspace_id,
        schedule_id=house.schedule().id,
        by=house.by("ada"),
    )

    assert house.work("delivery") == ["delivered"]
    assert house.occurrence(key).outcome == "delivered"
    assert house.schedule().state == "paused"


@pytest.mark.parametrize("reason", ["", " \n"])
def test_a_pause_without_a_reason_is_refused(house: House, reason: str) -> None:
    assert _code(lambda: _pause(house, reason=reason)) == "no_reason"
    assert house.schedule().state == "active"


def _pause(house: House, *, reason: str = "holiday") -> Schedule:
    return schedule_changes.pause(
        house.backends,
        house.workspace_id,
        schedule_id=house.schedule().id,
        reason=reason,
        by=OPERATOR,
    )


def _resume(house: House) -> Schedule:
    return schedule_changes.resume(
        house.backends, house.workspace_id, schedule_id=house.schedule().id, by=OPERATOR
    )


def _repin(house: House, **options: Any) -> Schedule:
    return schedule_changes.repin(
        house.backends, house.workspace_id, schedule_id=house.schedule().id, by=OPERATOR, **options
    )


def _change(house: House, **values: Any) -> None:
    with house.backends.database.across.transaction() as connection:
        connection.execute(sa.update(schedules_table).values(**values))


def _change_person(house: House, name: str, **values: Any) -> None:
    with house.backends.database.across.transaction() as connection:
        connection.execute(sa.update(people).where(people.c.name == name).values(**values))


def _archive(house: House) -> None:
    with house.backends.database.across.transaction() as connection:
        source = sources.get(connection, house.workspace_id, house.schedule().source_id)
        assert source is not None
        sources.change(connection, replace(source, archived=True))


def _code(change: Any) -> str:
    with pytest.raises(QueriesError) as refused:
        change()
    return refused.value.code
