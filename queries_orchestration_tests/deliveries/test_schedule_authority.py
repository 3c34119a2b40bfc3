"""Who may change a schedule, delete it, and read the audit trail."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa

from queries_orchestration.deliveries import schedule_changes
from queries_orchestration.deliveries.audit_trail import audit_trail
from queries_orchestration.model.audit import OPERATOR, AuditEvent, By, Subject
from queries_orchestration.model.errors import QueriesError, Refused
from queries_orchestration.model.ids import new_id
from queries_orchestration.store import audit, outside_addresses
from queries_orchestration_tests.deliveries.audited import (
    MORE,
    REASON,
    actions,
    by,
    trail,
)
from queries_orchestration_tests.house import MONDAY, WEEK, House


@pytest.fixture
def house(house: House) -> House:
    """The house with two schedules, an administrator and an outside address."""
    house.apply(MORE)
    house.clock.at = MONDAY
    return house


def _change(house: House, change: str, schedule_id: str, who: By) -> str:
    """Ask for a change; returns the refusal, or nothing."""
    asked: dict[str, Any] = {"schedule_id": schedule_id, "by": who}
    if change == "pause":
        asked["reason"] = REASON
    if change == "transfer":
        asked["to_person_id"] = house.person("gus")
    try:
        getattr(schedule_changes, change)(house.backends, house.workspace_id, **asked)
    except QueriesError as refusal:
        return f"{refusal.code}: {refusal.message}"
    return ""


@pytest.mark.parametrize("change", ["pause", "resume", "repin", "transfer", "delete_schedule"])
def test_a_person_without_authority_changes_nothing_and_learns_nothing(
    house: House, change: str
) -> None:
    if change == "resume":
        _change(house, "pause", house.schedule().id, OPERATOR)
    before, events = house.schedule(), trail(house)
    nobody = By(via="api", person_id=new_id())

    refusals = {
        _change(house, change, schedule_id, who)
        for schedule_id in (before.id, new_id(), "weekly")
        for who in (by(house, "gus"), by(house, "bob"), by(house, "dan"), nobody)
    }

    (refusal,) = refusals
    assert refusal.startswith("not_found: ")
    assert house.schedule() == before
    assert trail(house) == events


@pytest.mark.parametrize("change", ["pause", "resume", "repin", "transfer", "delete_schedule"])
@pytest.mark.parametrize("who", ["ada", "root", "the operator"])
def test_its_owner_an_administrator_and_the_operator_govern_a_schedule(
    house: House, change: str, who: str
) -> None:
    if change == "resume":
        _change(house, "pause", house.schedule().id, OPERATOR)

    asker = OPERATOR if who == "the operator" else by(house, who)

    refusal = _change(house, change, house.schedule().id, asker)
    # A transfer says by whom: the history has a row of it.
    needs_person = change == "transfer" and who == "the operator"
    assert refusal.split(":")[0] == ("person_required" if needs_person else "")


def test_a_schedule_without_a_history_is_deleted_with_the_addresses_it_alone_had(
    house: House,
) -> None:
    second = house.schedule("second").id

    assert _change(house, "delete_schedule", second, by(house, "ada")) == ""

    assert _change(house, "delete_schedule", second, by(house, "ada")).startswith("not_found")
    with house.backends.database.across.read() as connection:
        assert outside_addresses.listing(connection, house.workspace_id) == []
    assert actions(house) == ["schedule_deleted"]


def test_a_schedule_with_a_history_ends_and_keeps_it(house: House) -> None:
    house.deliver(MONDAY)
    before = house.schedule()

    assert _change(house, "delete_schedule", before.id, by(house, "ada")) == ""

    ended = replace(before, state="ended", next_slot=None, written_by="other")
    assert house.schedule() == ended
    house.deliver(MONDAY + WEEK)
    assert len(house.history()) == 1
    again = _change(house, "delete_schedule", before.id, by(house, "ada"))
    assert again.startswith("schedule_ended: ")
    assert actions(house) == ["schedule_deleted"]


def test_administrators_who_are_active_read_the_trail_and_nobody_else(house: House) -> None:
    for name in ("weekly", "second"):
        _change(house, "pause", house.schedule(name).id, OPERATOR)

    def read(person: str, **options: Any) -> list[AuditEvent]:
        return audit_trail(house.backends.database, house.workspace_id, person_id=person, **options)

    root = house.person("root")
    everything = read(root, limit=100)
    assert everything == trail(house)[::-1]
    assert read(root, limit=1) + read(root, before=audit.place_of(everything[0]), limit=100) == (
        everything
    )
    paused = Subject("schedule", house.schedule().id)
    assert {one.subject for one in read(root, subject=paused, limit=100)} == {paused}
    for person in (house.person("ada"), house.person("bob"), new_id()):
        with pytest.raises(Refused) as refused:
            read(person, limit=1)
        assert refused.value.code == "not_allowed"
    with house.backends.database.across.transaction() as connection:
        connection.execute(sa.text("UPDATE people SET active = false WHERE name = 'root'"))
    with pytest.raises(Refused):
        read(root, limit=1)
