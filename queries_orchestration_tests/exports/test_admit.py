"""Admission of an interactive export: whole in one commit, or refused with nothing written."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from queries_orchestration.exports import file_writer
from queries_orchestration.model.errors import AccessLost, QueriesError, SourceUnavailable
from queries_orchestration.model.ids import is_id, new_id
from queries_orchestration_tests.downloads import export_of
from queries_orchestration_tests.exports.admitted import (
    Killed,
    admit,
    admit_as,
    everything,
    killed_at,
    requested,
)
from queries_orchestration_tests.exports.test_open_query import REGIONAL
from queries_orchestration_tests.house import CATALOG, MONDAY, House

REFUSED: list[tuple[str, dict[str, Any], str, str]] = [
    ("cyd", {}, "access_lost", "orders"),
    ("dan", {}, "actor_inactive", "not active"),
    ("bob", {}, "field_not_available", "amount"),
    ("ada", {"query": "by-region", "values": {"region": "r9"}}, "invalid_value", "region"),
    ("ada", {"query": "by-region"}, "invalid_value", "region"),
    ("ada", {"values": {"unheard-of": 1}}, "invalid_value", "unheard-of"),
    ("ada", {"query": "nothing"}, "not_found", "'nothing'"),
    ("ada", {"query": "no-orders"}, "not_found", "'no-orders'"),  # archived
    ("ada", {"query": "theirs"}, "not_found", "'theirs'"),  # of another workspace
    ("ada", {"time_zone": "Mars/Base"}, "unknown_time_zone", "Mars/Base"),
    ("ada", {"file_format": "xlsx"}, "format_limit", "CSV"),
]
"""Who, what else they ask for, the code, and what the message names."""


def test_export_request_and_claim_are_one_commit(house: House) -> None:
    house.apply(REGIONAL)
    house.clock.at = MONDAY + timedelta(hours=1)
    before = everything(house)

    export_id = admit(house, "bob", query="by-region", values={"region": "r3"})

    export, claim = export_of(house, export_id), house.claim(export_id)
    assert is_id(export_id)
    assert (export.state, export.purpose, export.format) == ("queued", "interactive", "csv")
    assert (export.actor_id, export.version) == (house.person("bob"), 1)
    assert export.runtime_values["region"] == "r3"
    assert (export.time_zone, export.created_at) == ("Europe/Berlin", house.clock.at)
    assert export.storage_key == f"{house.workspace_id}/{export_id}.csv"
    assert (export.completed_at, export.expires_at, export.upload_id) == (None, None, None)
    assert requested(house) == [export_id]
    assert (claim.lane, claim.state, claim.offer_number) == ("export", "waiting", 0)
    after = everything(house)
    assert {name for name in after if after[name] != before[name]} == {
        "audit_events",
        "exports",
        "requests",
        "claims",
    }
    (offer,) = house.offer("export")
    assert (offer.key, offer.schedule_id) == (export_id, None)
    assert house.offer("delivery") == []
    another = export_of(house, admit(house, time_zone="America/New_York", file_format="xlsx"))
    assert (another.time_zone, another.format) == ("America/New_York", "xlsx")
    assert another.storage_key == f"{house.workspace_id}/{another.id}.xlsx"


def test_what_cannot_be_exported_is_refused_by_code_and_name_and_writes_nothing(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_writer, "XLSX_COLUMNS", 2)
    house.apply(
        CATALOG.replace("name: acme", "name: other").replace("  all-orders:", "  theirs:", 1)
        .replace("query: all-orders", "query: theirs")
    )  # fmt: skip
    house.apply(REGIONAL)
    with house.backends.database.across.transaction() as connection:
        connection.exec_driver_sql("UPDATE sources SET archived = true WHERE name = 'no-orders'")
    before = everything(house)

    for person, asked, code, named in REFUSED:
        with pytest.raises(QueriesError) as refused:
            admit(house, person, **asked)
        assert (refused.value.code, asked) == (code, asked)
        assert named in refused.value.message
        assert everything(house) == before, code
    with pytest.raises(AccessLost):
        admit_as(house, new_id())
    with pytest.raises(SourceUnavailable, match="SHOP_URL"):
        admit(house.with_backends(replace(house.backends, environment={})))
    assert everything(house) == before
    assert admit_as(house, house.person("ada"))


def test_killed_before_the_commit_it_leaves_nothing_and_after_it_the_sensor_finds_it(
    house: House,
) -> None:
    before = everything(house)

    with pytest.raises(Killed):
        admit(killed_at(house, "export queued, not committed"))
    assert everything(house) == before
    assert house.offer("export") == []

    with pytest.raises(Killed):
        admit(killed_at(house, "export committed, not published"))
    (export_id,) = requested(house)
    assert export_of(house, export_id).state == "queued"
    assert house.work("export") == ["ready"]
