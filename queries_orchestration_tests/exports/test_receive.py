"""A receive of an interactive export: the file, and what each failure and cancel leaves."""

from __future__ import annotations

import csv
import hashlib
import threading
from dataclasses import replace
from datetime import timedelta

import pytest
import sqlalchemy as sa

from queries_orchestration.deliveries.recover import recover_silent
from queries_orchestration.exports import make_file
from queries_orchestration.exports.cancel import cancel_export
from queries_orchestration.exports.expire import expire_files
from queries_orchestration.exports.receive import work
from queries_orchestration.model.errors import NotFound, ReceiveLost, SourceUnavailable
from queries_orchestration.model.ids import new_id
from queries_orchestration.receives.start import NothingToDo
from queries_orchestration.store import database as store_database, tables
from queries_orchestration.store.exports import Export
from queries_orchestration_tests.downloads import export_of
from queries_orchestration_tests.exports.admitted import (
    Killed,
    admit,
    at_point,
    everything,
    killed_at,
    requested,
)
from queries_orchestration_tests.exports.test_open_query import REGIONAL
from queries_orchestration_tests.house import MONDAY, House
from queries_orchestration_tests.no_runs import NoRuns

HOUR, WEEK = timedelta(hours=1), timedelta(days=7)
ADA = """\
workspace: {{name: acme, title: Acme, time_zone: Europe/Berlin}}
people:
  ada: {{title: Ada Owner, address: ada@example.org, roles: {roles}}}
"""


def rows_of(house: House, export_id: str) -> list[list[str]]:
    """The rows of an export's CSV file, the header first."""
    with house.backends.storage.open(export_of(house, export_id).storage_key) as file:
        return list(csv.reader(file.read().decode().splitlines()))


def receives_of(house: House, export_id: str) -> list[tuple[int, str | None]]:
    """The ended receives of an export: number and code."""
    table = tables.receives
    with house.backends.database.across.read() as connection:
        found = connection.execute(
            sa.select(table)
            .where(table.c.key == export_id, table.c.ended_at.is_not(None))
            .order_by(table.c.number)
        ).all()
    return [(row.number, row.code) for row in found]


def is_bare(house: House, export_id: str) -> bool:
    """Whether storage holds nothing of the export, neither a file nor an open upload."""
    storage = house.backends.storage
    return (
        storage.size(export_of(house, export_id).storage_key) is None
        and storage.open_uploads("") == []
    )


def cancel(house: House, export_id: str) -> None:
    cancel_export(
        house.backends,
        house.workspace_id,
        by=house.by("ada"),
        export_id=export_id,
    )


def test_each_requester_gets_their_own_rows_in_a_file_kept_seven_days(house: House) -> None:
    house.apply(REGIONAL)
    house.clock.at = MONDAY
    of_bob, of_ada = admit(house, "bob", query="regions"), admit(house, "ada", query="regions")
    house.clock.at = MONDAY + HOUR

    assert house.work("export") == ["ready", "ready"]

    assert rows_of(house, of_bob) == [["region"]] + [["r3"]] * sum(
        number % 7 == 3 for number in range(1, 2_501)
    )
    assert rows_of(house, of_ada)[1:] == [[f"r{number % 7}"] for number in range(1, 2_501)]
    export = export_of(house, of_bob)
    with house.backends.storage.open(export.storage_key) as file:
        data = file.read()
    assert (export.size, export.rows) == (len(data), len(data.splitlines()) - 1)
    assert export.sha256 == hashlib.sha256(data).hexdigest()
    # Counted from the completion, not from the request.
    assert (export.created_at, export.completed_at) == (MONDAY, MONDAY + HOUR)
    assert export.expires_at == MONDAY + HOUR + WEEK
    assert (export.upload_id, export.upload_receive) == (None, None)
    for export_id in (of_bob, of_ada):
        claim = house.claim(export_id)
        assert (claim.state, claim.receive_number) == ("done", 1)
        assert receives_of(house, export_id) == [(1, None)]
    assert house.work("export") == []


def test_the_request_goes_once_a_run_has_taken_the_work(house: House) -> None:
    export_id = admit(house)
    seen: list[tuple[str, list[str], str]] = []

    def look(point: str) -> None:
        if point in ("started", "upload recorded"):
            seen.append((point, requested(house), export_of(house, export_id).state))

    watched = house.with_backends(replace(house.backends, reached=look))
    assert watched.work("export") == ["ready"]

    assert seen == [("started", [export_id], "queued"), ("upload recorded", [], "running")]


def test_a_transient_failure_is_tried_again_with_the_same_export_and_key(house: House) -> None:
    export_id = admit(house)
    key = export_of(house, export_id).storage_key

    def fail() -> None:
        raise SourceUnavailable("The test's source is away.")

    assert at_point(house, "page written", fail).work("export") == ["source_unavailable"]

    export, claim = export_of(house, export_id), house.claim(export_id)
    assert (export.state, export.code, export.upload_receive) == ("running", None, 1)
    assert (claim.state, claim.receive_number) == ("waiting", 1)
    assert receives_of(house, export_id) == [(1, "source_unavailable")]
    assert is_bare(house, export_id)
    assert house.work("export") == ["ready"]
    assert export_of(house, export_id).storage_key == key
    assert receives_of(house, export_id) == [(1, "source_unavailable"), (2, None)]
    assert len(rows_of(house, export_id)) == 2_501


def test_a_lost_workers_upload_is_aborted_by_the_next_receive(house: House) -> None:
    export_id = admit(house)
    with pytest.raises(Killed):
        killed_at(house, "upload recorded").work("export")
    left = export_of(house, export_id)
    assert [one.upload_id for one in house.backends.storage.open_uploads("")] == [left.upload_id]
    with house.backends.database.across.transaction() as connection:
        long_ago = store_database.now(connection) - HOUR
        connection.execute(sa.update(tables.claims).values(heartbeat_at=long_ago))

    assert recover_silent(house.backends, NoRuns()) == 1
    assert house.work("export") == ["ready"]

    assert house.backends.storage.open_uploads("") == []
    assert receives_of(house, export_id) == [(1, "worker_lost"), (2, None)]
    assert len(rows_of(house, export_id)) == 2_501


def test_after_three_receives_it_has_failed_with_the_code(house: House) -> None:
    export_id = admit(house)
    without_url = house.with_backends(
        replace(house.backends, environment={**house.environment, "SHOP_URL": ""})
    )

    for number in (1, 2, 3):
        assert (export_of(house, export_id).state, requested(house)) == ("queued", [export_id])
        assert without_url.work("export") == ["source_unavailable"]
        assert house.claim(export_id).receive_number == number

    export = export_of(house, export_id)
    assert (export.state, export.code) == ("failed", "source_unavailable")
    assert "SHOP_URL" in (export.message or "")
    assert (requested(house), house.claim(export_id).state) == ([], "done")
    assert is_bare(house, export_id)
    assert house.work("export") == []
    assert house.unsettled() == 0


def test_a_permanent_failure_settles_at_once(house: House) -> None:
    archived = admit(house, query="no-orders")
    with house.backends.database.across.transaction() as connection:
        connection.exec_driver_sql("UPDATE sources SET archived = true WHERE name = 'no-orders'")
    assert house.work("export") == ["source_gone"]
    assert export_of(house, archived).code == "source_gone"
    export_id = admit(house)
    engine = sa.create_engine(house.environment["SHOP_URL"])
    with engine.begin() as connection:
        connection.execute(sa.text("DROP TABLE orders"))
    engine.dispose()

    assert house.work("export") == ["source_broken"]

    export = export_of(house, export_id)
    assert (export.state, export.code) == ("failed", "source_broken")
    assert (requested(house), house.claim(export_id).state) == ([], "done")
    assert is_bare(house, export_id)
    assert house.work("export") == []


def test_a_requester_who_lost_access_since_gets_nothing(house: House) -> None:
    for roles, code in (("[reader]", "access_lost"), ("[author], active: false", "actor_inactive")):
        house.apply(ADA.format(roles="[author]"))
        export_id = admit(house)
        (offer,) = house.offer("export")
        house.apply(ADA.format(roles=roles))

        assert house.take(offer) == code

        export = export_of(house, export_id)
        assert (export.state, export.code) == ("failed", code)
        assert is_bare(house, export_id)
        known = everything(house)
        again = work(house.backends, export_id, offer_number=offer.number, run_id="again")
        by_hand = work(house.backends, export_id, offer_number=None, run_id="by hand")
        assert isinstance(again, NothingToDo)
        assert "settled already" in again.reason
        assert by_hand == again
        assert everything(house) == known


def test_a_receive_ends_at_the_deadline_of_exports_not_of_deliveries(house: House) -> None:
    settings = house.backends.settings

    def with_deadlines(delivery: float, export: float) -> House:
        deadlines = replace(settings, delivery_deadline=delivery, export_deadline=export)
        return house.with_backends(replace(house.backends, settings=deadlines))

    export_id = admit(house)
    assert with_deadlines(60, 0.000_001).work("export") == ["receive_timeout"]
    assert is_bare(house, export_id)
    assert with_deadlines(0.000_001, 60).work("export") == ["ready"]


def test_a_run_without_an_offer_works_what_waits_and_nothing_else(house: House) -> None:
    export_id = admit(house)

    made = work(house.backends, export_id, offer_number=None, run_id="by hand")

    assert isinstance(made, Export)
    assert (made.id, made.state) == (export_id, "ready")
    with pytest.raises(NotFound):
        work(house.backends, new_id(), offer_number=None, run_id="by hand")


def test_cancelled_while_it_waits_no_run_works_it(house: House) -> None:
    export_id = admit(house)
    (offer,) = house.offer("export")

    cancel(house, export_id)

    export, claim = export_of(house, export_id), house.claim(export_id)
    assert (export.state, export.code) == ("cancelled", None)
    assert export.message == "Cancelled by who asked for it."
    assert (claim.state, claim.receive_number, requested(house)) == ("done", 0, [])
    assert house.take(offer) == "nothing"
    assert house.work("export") == []
    assert is_bare(house, export_id)


def test_cancelled_at_a_page_the_worker_stops_and_nothing_is_left(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(make_file, "PROGRESS_INTERVAL", 0.0)
    export_id = admit(house)
    (offer,) = house.offer("export")
    pages: list[str] = []

    def look(point: str) -> None:
        pages.append(point)
        if pages.count("page written") == 2 and point == "page written":
            person = threading.Thread(target=cancel, args=(house, export_id))
            person.start()
            person.join(10)

    watched = house.with_backends(replace(house.backends, reached=look))
    with pytest.raises(ReceiveLost):
        work(watched.backends, export_id, offer_number=offer.number, run_id="run")

    # The second of three pages was the last one, and nothing of the worker's came after it.
    assert pages[-1] == "page written"
    assert pages.count("page written") == 2
    export, claim = export_of(house, export_id), house.claim(export_id)
    assert (export.state, export.message) == ("cancelled", "Cancelled by who asked for it.")
    assert (claim.state, claim.receive_number) == ("done", 1)
    assert receives_of(house, export_id) == [(1, None)]
    assert is_bare(house, export_id)
    assert house.work("export") == []


def test_cancelled_when_the_file_is_complete_the_file_is_removed_by_the_next_pass(
    house: House,
) -> None:
    export_id = admit(house)
    cancelling = at_point(house, "file complete, not recorded", lambda: cancel(house, export_id))

    assert cancelling.work("export") == ["receive_lost"]

    export = export_of(house, export_id)
    assert (export.state, export.size, export.expires_at) == ("cancelled", None, None)
    assert house.backends.storage.size(export.storage_key)
    assert expire_files(house.backends) == 1
    assert is_bare(house, export_id)
    assert expire_files(house.backends) == 0
    assert export_of(house, export_id).state == "cancelled"
