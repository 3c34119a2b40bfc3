"""Who may see what became of an export."""

from __future__ import annotations

import pytest

from queries_orchestration.exports.look_up import look_up, own_exports
from queries_orchestration.model.errors import NotFound
from queries_orchestration_tests.downloads import STAFF, request_file
from queries_orchestration_tests.house import MONDAY, House


@pytest.fixture
def house(house: House) -> House:
    """The house with its staff, after its first delivery."""
    house.apply(STAFF)
    assert house.deliver(MONDAY) == ["delivered"]
    return house


def test_the_requester_and_an_administrator_see_an_export(house: House) -> None:
    own = request_file(house, "gus")

    assert [_sees(house, name, own) for name in ("gus", "eve", "ada", "bob")] == [
        True,
        True,
        False,
        False,
    ]


def test_the_owner_and_an_administrator_see_a_deliverys_file_and_no_recipient(
    house: House,
) -> None:
    (occurrence,) = house.history()
    delivered = house.export(occurrence.key).id

    assert [_sees(house, name, delivered) for name in ("ada", "fay", "gus", "bob")] == [
        True,
        True,
        False,
        False,
    ]
    own = own_exports(
        house.backends.database, house.workspace_id, person_id=house.person("ada"), limit=10
    )
    assert own == []


def test_who_is_no_longer_active_sees_nothing(house: House) -> None:
    own = request_file(house, "gus")
    assert _sees(house, "gus", own)
    house.apply(STAFF.replace("gus@example.org, roles: [author]", "g@example.org, active: false"))

    assert not _sees(house, "gus", own)


def _sees(house: House, person: str, export_id: str) -> bool:
    try:
        file = look_up(
            house.backends.database,
            house.workspace_id,
            person_id=house.person(person),
            export_id=export_id,
        )
    except NotFound:
        return False
    assert file.export.id == export_id
    return True
