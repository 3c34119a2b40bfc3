"""A schedule is given to another owner."""

from __future__ import annotations

import pytest

from queries_orchestration.deliveries import schedule_changes
from queries_orchestration.model.errors import (
    NotFound,
    PermanentError,
)
from queries_orchestration.store import transfers
from queries_orchestration.store.schedules import Schedule
from queries_orchestration_tests.house import MONDAY, WEEK, House


def test_a_transfer_gives_the_schedule_to_who_can_open_its_source(house: House) -> None:
    house.apply(_AUTHORS)
    house.clock.at = MONDAY - WEEK

    changed = _transfer(house, to="gus", by="ada", reason="Ada leaves.")

    assert (changed.owner_id, changed.written_by) == (house.person("gus"), "other")
    assert (changed.next_slot, changed.state) == (MONDAY, "active")
    with house.backends.database.across.read() as connection:
        (one,) = transfers.of_schedule(connection, house.workspace_id, changed.id)
    assert (one.from_person_id, one.to_person_id, one.transferred_by) == (
        house.person("ada"),
        house.person("gus"),
        house.person("ada"),
    )
    assert (one.transferred_at, one.reason) == (MONDAY - WEEK, "Ada leaves.")
    house.deliver(MONDAY)
    assert house.history()[0].actor_id == house.person("gus")


def test_an_administrator_transfers_the_schedule_of_somebody_who_left(house: House) -> None:
    house.apply(_AUTHORS)
    house.apply(
        "workspace: {name: acme, title: Acme, time_zone: Europe/Berlin}\n"
        "people:\n  ada: {title: Ada Owner, address: ada@example.org, active: false}\n"
    )
    with pytest.raises(NotFound):
        _transfer(house, to="gus", by="ada")

    assert _transfer(house, to="gus", by="root").owner_id == house.person("gus")


@pytest.mark.parametrize(
    ("to", "by", "code"),
    [
        ("bob", "ada", "access_lost"),
        ("dan", "ada", "actor_inactive"),
        ("ada", "ada", "already_owner"),
        ("gus", "bob", "not_found"),
        ("gus", "gus", "not_found"),
    ],
)
def test_a_transfer_is_refused_with_the_reason(house: House, to: str, by: str, code: str) -> None:
    house.apply(_AUTHORS)

    with pytest.raises(PermanentError) as refused:
        _transfer(house, to=to, by=by)

    assert refused.value.code == code
    assert house.schedule().owner_id == house.person("ada")
    with house.backends.database.across.read() as connection:
        assert transfers.of_schedule(connection, house.workspace_id, house.schedule().id) == []


_AUTHORS = (
    "workspace: {name: acme, title: Acme, time_zone: Europe/Berlin}\n"
    "people:\n"
    "  gus: {title: Gus Author, address: gus@example.org, roles: [author]}\n"
    "  root: {title: Root Admin, address: root@example.org, roles: [administrator]}\n"
)


def _transfer(house: House, *, to: str, by: str, reason: str | None = None) -> Schedule:
    return schedule_changes.transfer(
        house.backends,
        house.workspace_id,
        schedule_id=house.schedule().id,
        to_person_id=house.person(to),
        by=house.by(by),
        reason=reason,
    )
