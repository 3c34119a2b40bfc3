"""Hop 6 of an export: who gets a link to a file, and what everybody else is told. Case T01."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from queries_orchestration.exports.download import download
from queries_orchestration.exports.download_link import DownloadLink
from queries_orchestration.model.audit import By
from queries_orchestration.model.errors import ACCESS_CODES, LinkRefused, NotFound, QueriesError
from queries_orchestration.model.ids import new_id
from queries_orchestration.storage.local import LocalStorage
from queries_orchestration.store.tables import schedules, sources
from queries_orchestration_tests.downloads import (
    CONTENT,
    INTERACTIVE_LIFETIME,
    STAFF,
    change_export,
    click,
    export_of,
    person_id,
    put_file,
    recorded,
    request_file,
)
from queries_orchestration_tests.house import CATALOG, MONDAY, House
from queries_orchestration_tests.storage.files import Folder

NOT_FOUND = (
    NotFound,
    "not_found",
    "There is no such export, or it is not yours to download.",
)
FIVE_MINUTES, TWO_DAYS = timedelta(minutes=5), timedelta(days=2)


@pytest.fixture
def house(house: House) -> House:
    """The house with its staff, at its first slot."""
    house.apply(STAFF)
    house.clock.at = MONDAY
    return house


@pytest.fixture
def delivered(house: House) -> str:
    """The export of the weekly schedule's first occurrence."""
    assert house.deliver(MONDAY) == ["delivered"]
    (occurrence,) = house.history()
    return house.export(occurrence.key).id


def test_the_requester_gets_a_link_of_five_minutes_to_the_whole_file(house: House) -> None:
    export_id = request_file(house, "ada")
    house.clock.at += timedelta(hours=1, microseconds=5)

    link = get(house, "ada", export_id)

    assert click(house, link) == (CONTENT, "All orders 2027-01-04.csv", "text/csv; charset=utf-8")
    assert link.file_name == "All orders 2027-01-04.csv"
    assert link.expires_at == MONDAY + timedelta(hours=1) + FIVE_MINUTES
    house.clock.at = link.expires_at
    with pytest.raises(LinkRefused):
        click(house, link)


def test_owner_and_administrator_get_a_delivery_under_the_schedules_title_and_slot(
    house: House,
) -> None:
    house.deliver(MONDAY + timedelta(days=1))
    (late,) = house.history()
    house.clock.at = MONDAY + timedelta(days=3)

    for person in ("ada", "eve"):
        content, file_name, _ = click(house, get(house, person, house.export(late.key).id))
        assert len(content.splitlines()) == 2_501
        assert file_name == "Weekly orders 2027-01-04.csv"


def test_the_day_in_the_name_is_that_of_the_files_zone(house: House) -> None:
    house.clock.at = datetime.fromisoformat("2027-01-03T23:30:00+00:00")

    assert get(house, "ada", request_file(house, "ada")).file_name == "All orders 2027-01-04.csv"


def test_a_download_is_recorded_with_its_person_and_time(house: House, delivered: str) -> None:
    own = request_file(house, "gus")
    get(house, "gus", own)
    house.clock.at += timedelta(minutes=1)
    get(house, "eve", delivered)
    house.clock.at += timedelta(minutes=1)
    get(house, "eve", delivered)

    (first,) = recorded(house, own)
    assert (first.person_id, first.downloaded_at) == (person_id(house, "gus"), MONDAY)
    assert [(one.person_id, one.downloaded_at) for one in recorded(house, delivered)] == [
        (person_id(house, "eve"), MONDAY + timedelta(minutes=minutes)) for minutes in (1, 2)
    ]
    assert {one.occurrence_key for one in recorded(house, delivered)} == {None}


def test_anothers_an_unknown_and_another_workspaces_export_look_the_same(
    house: House, delivered: str
) -> None:
    own = request_file(house, "ada")
    house.apply(CATALOG.replace("name: acme", "name: other").replace("title: Acme", "title: Other"))
    with house.backends.database.across.read() as connection:
        other = str(connection.scalar(sa.text("SELECT id FROM workspaces WHERE name = 'other'")))
    stranger = replace(house, workspace_id=other)
    strange = request_file(stranger, "ada")

    answers = [
        # Colleagues: recipients, an author who governs nothing, an administrator who sees nothing.
        *(refusal(house, name, delivered) for name in ("bob", "cyd", "dan", "gus", "fay")),
        # An interactive export is its requester's alone, whoever governs schedules.
        *(refusal(house, name, own) for name in ("bob", "eve", "fay", "gus")),
        *(refusal(house, "ada", unknown) for unknown in (new_id(), "", "x", own.upper())),
        *(refusal(house, "ada", text) for text in ("\x00", "\ud800", f"{own}\n", "é" * 10_000)),
        # Another workspace: its export asked for from here, ours from there, a person of there.
        refusal(house, "ada", strange),
        refusal(stranger, "ada", own),
        refusal(stranger, "ada", delivered),
        refused(house, person_id(stranger, "ada"), own),
        refused(house, new_id(), own),
        refused(house, new_id(), delivered),
    ]

    assert answers == [NOT_FOUND] * len(answers)
    assert [*recorded(house, own), *recorded(house, delivered), *recorded(stranger, strange)] == []
    assert click(stranger, get(stranger, "ada", strange))[0] == CONTENT


RUN_NOW = "queries run-now weekly --as PERSON"
NO_FILE: list[tuple[dict[str, Any], str, str]] = [
    ({"state": "queued"}, "not_ready", "2500 rows so far"),
    ({"state": "running"}, "not_ready", "2500 rows so far"),
    ({"state": "cancelled"}, "cancelled", RUN_NOW),
    ({"state": "expired"}, "file_expired", RUN_NOW),
    ({"state": "ready", "expires_at": MONDAY}, "file_expired", RUN_NOW),
    (
        {"state": "failed", "code": "source_broken", "message": "A column is gone."},
        "export_failed",
        "(source_broken): A column is gone.",
    ),
]


def test_the_entitled_are_told_why_there_is_no_file_and_nobody_else(
    house: House, delivered: str
) -> None:
    for values, code, told in NO_FILE:
        change_export(house, delivered, **values)

        for name in ("ada", "eve"):
            _, told_code, message = refusal(house, name, delivered)
            assert told_code == code
            assert told in message
        for name in ("bob", "fay", "gus"):
            assert refusal(house, name, delivered) == NOT_FOUND
    assert recorded(house, delivered) == []


def test_the_requester_of_an_expired_file_is_told_to_export_it_again(house: House) -> None:
    export_id = request_file(house, "ada")
    house.clock.at = MONDAY + INTERACTIVE_LIFETIME

    assert refusal(house, "ada", export_id)[1:] == (
        "file_expired",
        "The file has expired: export the query again.",
    )


def test_a_file_that_storage_lost_or_holds_in_part_is_not_linked(house: House) -> None:
    export_id = request_file(house, "ada")
    put_file(house, export_id, CONTENT[:-1])
    assert refusal(house, "ada", export_id)[1] == "file_gone"
    house.backends.storage.delete(export_of(house, export_id).storage_key)
    assert refusal(house, "ada", export_id)[1] == "file_gone"
    assert recorded(house, export_id) == []


def test_a_link_keeps_its_file_two_days_longer_than_itself(house: House) -> None:
    export_id = request_file(house, "ada")

    get(house, "ada", export_id)
    assert export_of(house, export_id).expires_at == MONDAY + INTERACTIVE_LIFETIME

    house.clock.at = MONDAY + INTERACTIVE_LIFETIME - timedelta(seconds=1)
    link = get(house, "ada", export_id)
    assert export_of(house, export_id).expires_at == link.expires_at + TWO_DAYS
    assert refusal(house, "bob", export_id) == NOT_FOUND


class Meanwhile(Folder):
    """Something happens between the look at a file and the writing down of its link."""

    def __init__(self, root: Path, happens: Callable[[], None]) -> None:
        super().__init__(root)
        self._happens = happens

    def link(self, key: str, *, file_name: str, content_type: str, expires_at: datetime) -> str:
        self._happens()
        return super().link(
            key, file_name=file_name, content_type=content_type, expires_at=expires_at
        )


def test_a_file_that_expires_just_now_gets_no_link(house: House) -> None:
    export_id = request_file(house, "ada")
    storage = Meanwhile(
        house.folder / "home" / "files", lambda: change_export(house, export_id, state="expired")
    )

    answer = refused(house, person_id(house, "ada"), export_id, storage=storage)

    assert answer[1] == "file_expired"
    assert export_of(house, export_id).expires_at == MONDAY + INTERACTIVE_LIFETIME
    assert recorded(house, export_id) == []


WORKSPACE = "workspace: {name: acme, title: Acme, time_zone: Europe/Berlin}\n"
ORDERS = CATALOG[CATALOG.index("connections:") : CATALOG.index("queries:")]
LOSSES = [
    (f"{WORKSPACE}people:\n  ada: {{title: Ada Owner, roles: [reader]}}\n", "no access"),
    (
        f"{WORKSPACE}people:\n  ada: {{title: Ada Owner, roles: [author], active: false}}\n",
        "not active",
    ),
    (
        f"{WORKSPACE}people:\n  ada: {{title: Ada Owner, roles: [author]}}\n"
        + ORDERS.replace("fields: all, rows", "fields: [id, region], rows"),
        "field amount",
    ),
]


def test_a_requester_who_can_no_longer_open_the_source_is_told_so_and_an_owner_nothing(
    house: House, delivered: str
) -> None:
    own = request_file(house, "ada")
    for catalog, reason in LOSSES:
        house.apply(catalog)

        _, code, message = refusal(house, "ada", own)

        assert code in ACCESS_CODES
        assert reason in message
        assert refusal(house, "ada", delivered) == NOT_FOUND
    assert [*recorded(house, own), *recorded(house, delivered)] == []


def test_a_source_that_was_archived_can_be_opened_by_nobody(house: House, delivered: str) -> None:
    own = request_file(house, "ada")
    with house.backends.database.across.transaction() as connection:
        connection.execute(sa.update(sources).values(archived=True))

    assert refusal(house, "ada", own)[1] == "source_gone"
    assert refusal(house, "eve", delivered) == NOT_FOUND


def test_a_former_owner_has_no_more_authority_and_the_new_one_has(
    house: House, delivered: str
) -> None:
    assert refusal(house, "gus", delivered) == NOT_FOUND
    with house.backends.database.across.transaction() as connection:
        connection.execute(sa.update(schedules).values(owner_id=person_id(house, "gus")))

    assert refusal(house, "ada", delivered) == NOT_FOUND
    assert click(house, get(house, "gus", delivered))[1] == "Weekly orders 2027-01-04.csv"


def test_the_source_is_opened_with_the_values_that_the_file_was_made_with(house: House) -> None:
    house.apply(
        CATALOG.replace(
            "queries:\n",
            "queries:\n"
            "  by-region:\n"
            "    title: Orders of a region\n"
            "    dataset: orders\n"
            "    fields: [{field: id}]\n"
            "    filters: [{field: region, op: eq, value: {parameter: region}}]\n"
            "    parameters: [{name: region, type: text, allowed: [r1, r2]}]\n",
        )
    )
    export_id = request_file(house, "ada", query="by-region", values={"region": "r2"})

    assert get(house, "ada", export_id).file_name == "Orders of a region 2027-01-04.csv"


def test_a_connection_that_is_not_set_up_here_is_told_to_the_entitled_alone(
    house: House, delivered: str
) -> None:
    nowhere = {**house.environment, "SHOP_URL": ""}

    ada, bob = person_id(house, "ada"), person_id(house, "bob")
    assert refused(house, ada, delivered, environment=nowhere)[1] == "source_unavailable"
    assert refused(house, bob, delivered, environment=nowhere) == NOT_FOUND


def test_a_link_does_not_show_its_address_when_it_is_printed(house: House) -> None:
    link = get(house, "ada", request_file(house, "ada"))

    assert link.url.rpartition("/")[2] not in repr(link)


def get(house: House, person: str, export_id: str) -> DownloadLink:
    return _download(house, person_id(house, person), export_id)


def refusal(house: House, person: str, export_id: str) -> tuple[type, str, str]:
    """What a person is told."""
    return refused(house, person_id(house, person), export_id)


def refused(
    house: House,
    someone: str,
    export_id: str,
    *,
    storage: LocalStorage | None = None,
    environment: Mapping[str, str] | None = None,
) -> tuple[type, str, str]:
    with pytest.raises(QueriesError) as told:
        _download(house, someone, export_id, storage, environment)
    return type(told.value), told.value.code, told.value.message


def _download(
    house: House,
    someone: str,
    export_id: str,
    storage: LocalStorage | None = None,
    environment: Mapping[str, str] | None = None,
) -> DownloadLink:
    return download(
        house.backends.database,
        storage or house.backends.storage,
        clock=house.clock,
        environment=house.environment if environment is None else environment,
        workspace_id=house.workspace_id,
        by=By(via="command", person_id=someone),
        export_id=export_id,
    )
