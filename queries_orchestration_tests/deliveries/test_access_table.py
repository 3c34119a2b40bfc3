"""docs/access.md says what each loss refuses, with which code: every row of its table is tried."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest
import sqlalchemy as sa

from queries_orchestration.deliveries.run_now import run_now
from queries_orchestration.exports.download import download
from queries_orchestration.model.errors import ACCESS_CODES, QueriesError
from queries_orchestration.model.ids import slot_key
from queries_orchestration.settings import EXPORT_LANE
from queries_orchestration.store.tables import sources
from queries_orchestration_tests.house import CATALOG, MONDAY, SET_UP, House

WORKSPACE = "workspace: {name: acme, title: Acme, time_zone: Europe/Berlin}\n"
DOCUMENT = Path(__file__).parents[2] / "docs/access.md"


def _documented() -> dict[str, list[str]]:
    """The codes of each row by what happened."""
    rows = {}
    for line in DOCUMENT.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 6 and cells[1].startswith("`"):
            rows[cells[0]] = [cell.strip("`") for cell in cells[1:]]
    return rows


def _person(house: House, rest: str) -> House:
    house.apply(
        f"{WORKSPACE}people:\n  ada: {{title: Ada Owner, address: ada@example.org, {rest}}}\n"
    )
    return house


def _rule(house: House, rule: str) -> House:
    granted = "- {who: {roles: [author]}, fields: all, rows: all}"
    assert granted in CATALOG
    datasets = CATALOG[CATALOG.index("connections:") : CATALOG.index("queries:")]
    house.apply(WORKSPACE + datasets.replace(granted, rule))
    return house


def _field_taken_out(house: House) -> House:
    datasets = CATALOG[CATALOG.index("connections:") : CATALOG.index("queries:")]
    house.apply(WORKSPACE + datasets.replace("      amount: {type: decimal}\n", ""))
    return house


def _archived(house: House) -> House:
    with house.backends.database.across.transaction() as connection:
        connection.execute(sa.update(sources).values(archived=True))
    return house


def _source(house: House, statement: str) -> House:
    engine = sa.create_engine(house.environment["SHOP_URL"])
    with engine.begin() as connection:
        connection.execute(sa.text(statement))
    engine.dispose()
    return house


def _without_url(house: House) -> House:
    environment = {**house.environment, "SHOP_URL": ""}
    return house.with_backends(replace(house.backends, environment=environment))


HAPPENINGS: Final[dict[str, Callable[[House], House]]] = {
    "the person is not active": lambda house: _person(house, "roles: [author], active: false"),
    "the person has lost the role that the dataset wants": lambda house: _person(
        house, "roles: [reader]"
    ),
    "the dataset gives the person nothing any more": lambda house: _rule(
        house, "- {who: {people: [bob]}, fields: all, rows: all}"
    ),
    "the dataset no longer gives the person a field that is shown": lambda house: _rule(
        house, "- {who: {roles: [author]}, fields: [id, region], rows: all}"
    ),
    "the dataset gives the person fewer rows": lambda house: _rule(
        house,
        "- {who: {roles: [author]}, fields: all, rows: [{field: region, op: eq, value: r1}]}",
    ),
    "the query was archived": _archived,
    "a field that is shown was taken out of the dataset": _field_taken_out,
    "a column was dropped in the database": lambda house: _source(
        house, "ALTER TABLE orders DROP COLUMN amount"
    ),
    "the table was dropped in the database": lambda house: _source(house, "DROP TABLE orders"),
    "the connection's URL is not set": _without_url,
}


def test_every_row_of_the_table_is_tried() -> None:
    assert list(_documented()) == list(HAPPENINGS)


@pytest.mark.parametrize("happening", HAPPENINGS)
def test_what_happened_refuses_with_the_documented_codes(house: House, happening: str) -> None:
    house.clock.at = SET_UP
    made = house.ask_export()
    assert house.work(EXPORT_LANE) == ["ready"]
    changed = HAPPENINGS[happening](house)

    found = [
        _run_now(changed),
        _export(changed),
        _download(changed, made),
    ]
    automatic = _automatic(changed)

    assert [automatic, *found, house.schedule().state] == _documented()[happening]
    assert (automatic in ACCESS_CODES) == (house.schedule().state == "paused")
    if automatic == "delivered":
        rows = house.export(slot_key(house.schedule().id, MONDAY)).rows
        assert rows is not None
        assert 0 < rows < 2_500


def test_the_codes_of_the_text_are_codes() -> None:
    assert set(re.findall(r"`(source_\w+)`", DOCUMENT.read_text())) == {
        "source_gone",
        "source_broken",
        "source_unavailable",
        "source_permission_denied",
    }


def _automatic(house: House) -> str:
    key = slot_key(house.schedule().id, MONDAY)
    for _ in range(3):
        house.deliver(MONDAY)
    one = house.occurrence(key)
    return one.code or str(one.outcome)


def _run_now(house: House) -> str:
    try:
        key = run_now(
            house.backends,
            house.workspace_id,
            schedule_id=house.schedule().id,
            by=house.by("ada"),
        )
    except QueriesError as refusal:
        return refusal.code
    for _ in range(3):
        house.deliver(SET_UP)
    one = house.occurrence(key)
    assert house.schedule().state == "active"
    return one.code or str(one.outcome)


def _export(house: House) -> str:
    try:
        export_id = house.ask_export()
    except QueriesError as refusal:
        return refusal.code
    house.work(EXPORT_LANE)
    export = house.asked_export(export_id)
    return export.code or export.state


def _download(house: House, export_id: str) -> str:
    try:
        download(
            house.backends.database,
            house.backends.storage,
            clock=house.clock,
            environment=house.backends.environment,
            workspace_id=house.workspace_id,
            by=house.by("ada"),
            export_id=export_id,
        )
    except QueriesError as refusal:
        return refusal.code
    return "given"
