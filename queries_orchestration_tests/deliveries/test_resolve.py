"""Hop 3: the first receive opens the source and queues the export with its request."""

from __future__ import annotations

import sqlalchemy as sa

from queries_orchestration.deliveries.resolve import resolve
from queries_orchestration.receives.start import NothingToDo, start
from queries_orchestration.store import claims
from queries_orchestration.store.claims import Receive
from queries_orchestration.store.tables import requests
from queries_orchestration_tests.house import MONDAY, House


def test_the_first_receive_queues_export_and_request_together(house: House) -> None:
    receive = _started(house)

    resolve(house.backends, receive)

    export = house.export(receive.key)
    assert (export.state, export.format, export.version) == ("queued", "csv", 1)
    assert export.actor_id == house.schedule().owner_id
    assert export.storage_key == f"{house.workspace_id}/{export.id}.csv"
    assert _requests(house) == [(export.id, "delivery")]


def test_a_later_receive_keeps_the_export_and_its_storage_key(house: House) -> None:
    first = _started(house)
    resolve(house.backends, first)
    export = house.export(first.key)
    with house.backends.database.across.transaction() as connection:
        claims.wait_again(connection, first, code="test", delay=0)

    second = _started(house)
    resolve(house.backends, second)

    assert second.number == 2
    assert house.export(second.key).storage_key == export.storage_key
    assert len(_requests(house)) == 1


def test_the_request_goes_when_the_receive_takes_the_work(house: House) -> None:
    house.deliver(MONDAY)
    assert _requests(house) == []


def test_relative_values_count_from_the_slot_and_are_kept_with_the_export(house: House) -> None:
    house.apply(
        "workspace: {name: acme, title: Acme, time_zone: Europe/Berlin}\n"
        "queries:\n  since:\n    title: Since\n    dataset: orders\n    fields: [{field: id}]\n"
        "    filters: [{field: region, op: ne, value: {parameter: word}}]\n"
        "    parameters: [{name: word, type: text},"
        " {name: day, type: date, default: {start_of: month, shift: -1}}]\n"
        "schedules:\n  since: {title: Since, query: since, owner: ada, cron: 0 8 * * 1,"
        " format: csv, recipients: [bob], values: {word: r1}}\n"
    )

    house.deliver(MONDAY)

    (occurrence,) = house.history("since")
    assert house.export(occurrence.key).runtime_values == {"word": "r1", "day": "2026-12-01"}


def _started(house: House) -> Receive:
    (offer,) = house.dispatch(MONDAY).offers
    receive = start(
        house.backends, offer.key, lane=offer.lane, offer_number=offer.number, run_id="test"
    )
    assert not isinstance(receive, NothingToDo)
    return receive


def _requests(house: House) -> list[tuple[str, str]]:
    with house.backends.database.across.read() as connection:
        rows = connection.execute(sa.select(requests.c.export_id, requests.c.purpose))
        return [(row.export_id, row.purpose) for row in rows]
