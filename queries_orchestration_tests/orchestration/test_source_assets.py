"""Sources as assets: what a code server shows, and what a run does not pay for."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest
import sqlalchemy as sa
from dagster._core.definitions.definitions_load_context import (
    DefinitionsLoadContext,
    DefinitionsLoadType,
)

from queries_orchestration import code_location
from queries_orchestration.code_location import loaded
from queries_orchestration.definitions import defs
from queries_orchestration.orchestration import source_assets as shown
from queries_orchestration.orchestration.source_assets import source_assets
from queries_orchestration.store.database import Database
from queries_orchestration_tests.house import House
from queries_orchestration_tests.postgres import as_owner

on_sqlite = pytest.mark.parametrize("database_kind", ["sqlite"])
on_postgresql = pytest.mark.parametrize("database_kind", ["postgresql"])


def test_each_source_is_an_asset_with_a_description(job_house: House) -> None:
    assets = {asset.key: asset for asset in source_assets(job_house.environment)}

    assert set(assets) == {
        dg.AssetKey(["queries", "acme", "all-orders"]),
        dg.AssetKey(["queries", "acme", "no-orders"]),
    }
    told = assets[dg.AssetKey(["queries", "acme", "all-orders"])]
    assert "files of the query all-orders of the workspace acme" in (told.description or "")
    assert "All orders" not in (told.description or "")
    assert (told.group_name, told.kinds) == ("acme", {"query"})


RECONSTRUCTION = DefinitionsLoadContext(DefinitionsLoadType.RECONSTRUCTION)
INITIALIZATION = DefinitionsLoadContext(DefinitionsLoadType.INITIALIZATION)
"""Said, since a run that was executed in this process leaves the other one behind."""


@on_sqlite
def test_a_code_server_serves_them_beside_all_else(job_house: House) -> None:
    with DefinitionsLoadContext.scoped(INITIALIZATION):
        loaded()
    with DefinitionsLoadContext.scoped(RECONSTRUCTION):
        served = loaded()
    repository = served.get_repository_def()

    dg.Definitions.validate_loadable(served)
    keys = {key.to_user_string() for key in repository.assets_defs_by_key}
    assert "queries/acme/all-orders" in keys
    # Nothing can be materialized by hand: their files come of deliveries and exports.
    assert all(not asset.is_executable for asset in repository.assets_defs_by_key.values())
    assert set(defs.get_repository_def().job_names) <= set(repository.job_names)


@on_sqlite
def test_the_process_of_a_run_reads_no_sources(
    job_house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(*_arguments: object) -> list[dg.AssetSpec]:
        raise AssertionError("The sources were read.")

    monkeypatch.setattr(code_location, "source_assets", read)
    monkeypatch.setattr(code_location, "_read", [])
    with DefinitionsLoadContext.scoped(RECONSTRUCTION):
        repository = loaded().get_repository_def()

    assert not repository.assets_defs_by_key
    assert set(repository.job_names) == set(defs.get_repository_def().job_names)


@on_sqlite
def test_without_a_database_there_are_none_and_it_is_logged(
    tmp_path: Path, job_house: House, caplog: pytest.LogCaptureFixture
) -> None:
    nowhere = {**job_house.environment, "QUERIES_DATABASE_URL": f"sqlite:///{tmp_path}/no/such.db"}

    assert source_assets(nowhere) == []
    assert source_assets({**job_house.environment, "QUERIES_PART_BYTES": "1"}) == []
    assert source_assets({**job_house.environment, "QUERIES_DATABASE_URL": ""}) == []
    assert caplog.text.count("sources_not_shown") == 3
    assert not (tmp_path / "no").exists()


@on_sqlite
def test_no_more_are_shown_than_the_pages_can_bear(
    job_house: House, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(shown, "MOST_SOURCES", 1)

    assert len(source_assets(job_house.environment)) == 1
    assert "code=too_many shown=1" in caplog.text


@on_postgresql
def test_a_schema_that_is_behind_costs_the_assets_alone(
    job_house: House, caplog: pytest.LogCaptureFixture
) -> None:
    owned = Database(as_owner(job_house.backends.database.url))
    with owned.across.transaction() as connection:
        connection.execute(sa.text("ALTER TABLE sources DROP COLUMN archived CASCADE"))

    _check_none_shown(job_house, caplog, "ProgrammingError")


@on_postgresql
def test_a_role_that_lacks_rights_costs_the_assets_alone(
    job_house: House, caplog: pytest.LogCaptureFixture
) -> None:
    owned = Database(as_owner(job_house.backends.database.url))
    with owned.across.transaction() as connection:
        connection.execute(sa.text("REVOKE SELECT ON sources FROM queries_across"))

    _check_none_shown(job_house, caplog, "ProgrammingError")


@on_postgresql
def test_a_database_that_does_not_answer_is_not_waited_for_long(
    job_house: House, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(shown, "LONGEST_SECONDS", 1)
    with job_house.backends.database.across.transaction() as connection:
        connection.execute(sa.text("LOCK TABLE sources IN ACCESS EXCLUSIVE MODE"))
        _check_none_shown(job_house, caplog, "store_unavailable")


@on_sqlite
def test_no_file_is_made_before_the_database_is(
    tmp_path: Path, job_house: House, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "later.db"
    later = {**job_house.environment, "QUERIES_DATABASE_URL": f"sqlite:///{file}"}

    assert source_assets(later) == []
    assert "sources_not_shown code=no_database" in caplog.text
    assert not file.exists()


def _check_none_shown(house: House, caplog: pytest.LogCaptureFixture, code: str) -> None:
    assert source_assets(house.environment) == []
    assert f"sources_not_shown code={code}" in caplog.text
