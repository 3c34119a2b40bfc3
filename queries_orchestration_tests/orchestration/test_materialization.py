"""One materialization of its source for each file that is made."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import dagster as dg
import pytest
import sqlalchemy as sa

from queries_orchestration.definitions import defs
from queries_orchestration.deliveries import deliver as deliver_step
from queries_orchestration.model.errors import CommunicationsUnavailable
from queries_orchestration.orchestration import deliver_occurrence, materialization
from queries_orchestration.orchestration.offering import offer_exports, offer_reports
from queries_orchestration.orchestration.run_requests import run_request_of
from queries_orchestration.settings import DELIVERY_LANE
from queries_orchestration.telling.work import work_of
from queries_orchestration_tests.house import MONDAY, House
from queries_orchestration_tests.orchestration.launches import execute, requests
from queries_orchestration_tests.report_house import build_report_house

pytestmark = pytest.mark.parametrize("database_kind", ["sqlite"])

ORDERS = ("queries", "acme", "all-orders")


def test_a_delivery_tells_its_file(job_house: House, instance: dg.DagsterInstance) -> None:
    (offer,) = job_house.dispatch(MONDAY).offers
    execute(instance, run_request_of(offer, job_house.backends.settings))

    (told,) = _materializations(instance)
    export = job_house.export(offer.key)
    assert told.asset_key == dg.AssetKey(ORDERS)
    assert told.partition is None
    assert "query all-orders of the workspace acme" in (told.description or "")
    values = {name: entry.value for name, entry in told.metadata.items()}
    assert (values["rows"], values["bytes"]) == (2_500, export.size)
    assert values["seconds"] == export.duration_seconds
    assert (values["outcome"], values["format"]) == ("ready", "csv")
    assert (values["occurrence"], values["export"]) == (offer.key, export.id)


def test_each_export_is_a_further_one(job_house: House, instance: dg.DagsterInstance) -> None:
    asked = [job_house.ask_export(), job_house.ask_export(file_format="xlsx")]
    for request in requests(instance, offer_exports):
        execute(instance, request)
        execute(instance, request)

    told = _materializations(instance)
    assert sorted(str(one.metadata["export"].value) for one in told) == sorted(asked)
    assert all("occurrence" not in one.metadata for one in told)


def test_what_failed_tells_none(job_house: House, instance: dg.DagsterInstance) -> None:
    engine = sa.create_engine(job_house.environment["SHOP_URL"])
    with engine.begin() as connection:
        connection.execute(sa.text("ALTER TABLE orders RENAME TO elsewhere"))
    engine.dispose()
    job_house.ask_export()
    (offer,) = job_house.dispatch(MONDAY).offers
    execute(instance, run_request_of(offer, job_house.backends.settings))
    for request in requests(instance, offer_exports):
        execute(instance, request)

    assert _materializations(instance) == []


def test_a_retry_that_finds_the_file_made_tells_no_second_one(
    job_house: House, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(deliver_step, "deliver", _unavailable)
        first = _work(job_house, instance)
    assert len(_materializations(instance)) == 1

    again = _work(job_house, instance)

    assert again != first
    assert job_house.history()[0].outcome == "delivered"
    assert len(_materializations(instance)) == 1


def test_what_a_killed_receive_did_not_tell_the_next_one_does(
    job_house: House, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(deliver_occurrence, "materialize_delivered", _unavailable)
        _work(job_house, instance)
    assert job_house.export(job_house.history()[0].key).state == "ready"
    assert _materializations(instance) == []

    _work(job_house, instance)

    assert len(_materializations(instance)) == 1


def test_a_receive_that_lost_its_claim_tells_none(
    job_house: House, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fenced(*arguments: object) -> object:
        connection = arguments[0]
        assert isinstance(connection, sa.Connection)
        connection.execute(sa.text("UPDATE claims SET receive_number = receive_number + 1"))
        return work_of(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(materialization, "work_of", fenced)
    _work(job_house, instance)

    assert _materializations(instance) == []
    assert instance.get_runs()[0].tags["queries/outcome"] == "superseded"
    assert job_house.messages() == []


def test_re_executing_and_resending_tell_no_further_one(
    job_house: House, instance: dg.DagsterInstance
) -> None:
    _work(job_house, instance)
    (occurrence,) = job_house.history()
    with job_house.backends.database.across.transaction() as connection:
        connection.execute(
            sa.text("UPDATE deliveries SET state = 'refused', code = 'x' WHERE state = 'sent'")
        )
    by_hand = {"occurrence": occurrence.key}
    asked = by_hand | {"as_person": job_house.person("ada"), "reason": "The test asks."}

    for job, op, config in (
        ("deliver_occurrence", "start", by_hand),
        ("resend", "start_resend", asked),
    ):
        result = defs.resolve_job_def(job).execute_in_process(
            run_config={"ops": {op: {"config": config}}}, instance=instance, raise_on_error=False
        )
        assert result.success

    assert {one.purpose for one in job_house.history()} == {"delivery", "resend"}
    assert len(_materializations(instance)) == 1


def test_a_report_is_told_by_its_render_alone(
    tmp_path: Path,
    store_url: str,
    source_url: str,
    instance: dg.DagsterInstance,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    house = build_report_house(tmp_path, store_url, source_url)
    for name, value in {**house.environment, "QUERIES_RENDER_WAIT": "0.1"}.items():
        monkeypatch.setenv(name, value)
    _work(house, instance)
    (render,) = requests(instance, offer_reports)
    execute(instance, render)
    rendered = instance.get_runs(limit=1)[0]
    _work(house, instance)

    (told,) = _materializations(instance)
    assert house.history()[0].outcome == "delivered"
    assert told.asset_key == dg.AssetKey(["queries", "acme", "sales"])
    assert told.metadata["occurrence"].value == house.history()[0].key
    assert rendered.job_name == "render_report"
    assert rendered.tags["queries/occurrence"] == house.history()[0].key
    assert instance.get_records_for_run(
        rendered.run_id, of_type=dg.DagsterEventType.ASSET_MATERIALIZATION
    ).records


def _unavailable(*_arguments: object) -> None:
    raise CommunicationsUnavailable("The test's wall is shut.")


def _work(house: House, instance: dg.DagsterInstance) -> str:
    """Execute one receive of the one occurrence; returns the id of its run."""
    if house.history():
        with house.backends.database.across.transaction() as connection:
            connection.execute(
                sa.text("UPDATE claims SET not_before = '2000-01-01 00:00:00.000000'")
            )
        (offer,) = house.offer(DELIVERY_LANE)
    else:
        (offer,) = house.dispatch(MONDAY).offers
    return execute(instance, run_request_of(offer, house.backends.settings)).run_id


def _materializations(instance: dg.DagsterInstance) -> Sequence[dg.AssetMaterialization]:
    """All materializations, whatever the run and the asset."""
    return [
        record.asset_materialization
        for run in instance.get_runs()
        for record in (
            entry.event_log_entry
            for entry in instance.get_records_for_run(
                run.run_id, of_type=dg.DagsterEventType.ASSET_MATERIALIZATION
            ).records
        )
        if record.asset_materialization is not None
    ]
