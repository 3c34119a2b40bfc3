"""Cancelling an export: by whom, when it is too late, and what others learn."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
import sqlalchemy as sa

from queries_orchestration.exports.cancel import cancel_export
from queries_orchestration.model.audit import By
from queries_orchestration.model.errors import NotFound, QueriesError, Refused
from queries_orchestration.model.ids import new_id
from queries_orchestration.store import claims, exports
from queries_orchestration.store.claims import Receive
from queries_orchestration_tests.downloads import (
    STAFF,
    change_export,
    export_of,
    request_file,
)
from queries_orchestration_tests.exports.admitted import admit, everything, requested
from queries_orchestration_tests.house import CATALOG, MONDAY, House

NOT_FOUND = (NotFound, "not_found", "There is no such export.")
ADA_LEFT = """\
workspace: {name: acme, title: Acme, time_zone: Europe/Berlin}
people:
  ada: {title: Ada Owner, address: ada@example.org, roles: [author], active: false}
"""


@pytest.fixture
def house(house: House) -> House:
    """The house with its staff: eve and fay are administrators, gus is an author."""
    house.apply(STAFF)
    return house


def cancel(house: House, person_id: str, export_id: str) -> None:
    cancel_export(
        house.backends,
        house.workspace_id,
        by=By(via="command", person_id=person_id),
        export_id=export_id,
    )


def refusal(house: House, person_id: str, export_id: str) -> tuple[type[QueriesError], str, str]:
    with pytest.raises(QueriesError) as refused:
        cancel(house, person_id, export_id)
    return (type(refused.value), refused.value.code, refused.value.message)


def test_the_requester_and_administrators_cancel_and_it_says_so(house: House) -> None:
    other = admit(house)
    for person in ("ada", "eve", "fay"):
        waiting = admit(house)

        cancel(house, house.person(person), waiting)

        export = export_of(house, waiting)
        assert (export.state, export.code) == ("cancelled", None)
        who = "who asked for it" if person == "ada" else "an administrator"
        assert export.message == f"Cancelled by {who}."
        assert house.claim(waiting).state == "done"
        assert requested(house) == [other]
    assert house.claim(other).state == "waiting"


def test_to_everybody_else_there_is_no_such_export(house: House) -> None:
    house.apply(CATALOG.replace("name: acme", "name: other").replace("title: Acme", "title: Other"))
    with house.backends.database.across.read() as connection:
        other = str(connection.scalar(sa.text("SELECT id FROM workspaces WHERE name = 'other'")))
    stranger = replace(house, workspace_id=other)
    export_id, ada = admit(house), house.person("ada")
    before = everything(house)

    answers = [
        *(refusal(house, house.person(name), export_id) for name in ("bob", "cyd", "dan", "gus")),
        refusal(house, new_id(), export_id),
        refusal(house, stranger.person("ada"), export_id),
        refusal(stranger, stranger.person("ada"), export_id),
        refusal(stranger, ada, export_id),
        *(refusal(house, ada, text) for text in (new_id(), "", "x", "\x00", export_id.upper())),
        *(refusal(house, house.person("eve"), text) for text in (new_id(), "x")),
    ]

    assert answers == [NOT_FOUND] * len(answers)
    assert everything(house) == before
    house.apply(ADA_LEFT)
    assert refusal(house, ada, export_id) == NOT_FOUND
    assert house.claim(export_id).state == "waiting"


@pytest.mark.parametrize("database_kind", ["sqlite"])
def test_what_is_finished_is_not_cancelled(house: House) -> None:
    ada = house.person("ada")
    made, failed, cancelled = admit(house), admit(house), admit(house)
    cancel(house, ada, cancelled)
    assert house.work("export") == ["ready", "ready"]
    change_export(house, failed, state="failed", code="source_broken")
    expired = request_file(house, "ada")
    change_export(house, expired, state="expired")
    before = everything(house)

    for export_id, state in (
        (made, "ready"),
        (failed, "failed"),
        (cancelled, "cancelled"),
        (expired, "expired"),
    ):
        assert refusal(house, ada, export_id) == (
            Refused,
            "already_finished",
            f"The export is {state} already, there is nothing to cancel.",
        )
    assert everything(house) == before


def test_the_file_of_a_delivery_belongs_to_its_schedule(house: House) -> None:
    assert house.deliver(MONDAY) == ["delivered"]
    export_id = house.export(house.history()[0].key).id
    before = everything(house)

    for person in ("ada", "eve"):
        kind, code, _ = refusal(house, house.person(person), export_id)
        assert (kind, code) == (Refused, "belongs_to_delivery")
    assert refusal(house, house.person("bob"), export_id) == NOT_FOUND
    assert everything(house) == before


def test_finished_while_the_person_clicks_it_stays_finished_and_says_so(house: House) -> None:
    """The click comes while the worker's last transaction is not committed yet."""
    export_id = admit(house)
    (offer,) = house.offer("export")
    with house.backends.database.across.transaction() as connection:
        receive = claims.start(
            connection, house.workspace_id, export_id, offer_number=offer.number, run_id="run"
        )
    assert receive == Receive(house.workspace_id, export_id, 1)

    with ThreadPoolExecutor(1) as thread:
        with house.backends.database.across.transaction() as connection:
            claims.end(connection, receive)
            exports.change(
                connection,
                house.workspace_id,
                export_id,
                state="ready",
                size=1,
                rows=0,
                sha256="0" * 64,
                completed_at=MONDAY,
                expires_at=MONDAY,
            )
            click = thread.submit(refusal, house, house.person("ada"), export_id)
            time.sleep(0.2)
        assert click.result(10) == (
            Refused,
            "already_finished",
            "The export is ready already, there is nothing to cancel.",
        )
    assert export_of(house, export_id).state == "ready"
