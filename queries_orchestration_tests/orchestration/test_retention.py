"""The Dagster job `retention`: its own runs go, others' stay, and no run key fires again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from queries_orchestration.definitions import defs
from queries_orchestration.orchestration.dagster_run_log import DagsterRunLog
from queries_orchestration.orchestration.offering import (
    offer_deliveries,
    offer_exports,
    offer_reports,
)
from queries_orchestration.orchestration.run_requests import job_of, run_config_of, tags_of
from queries_orchestration.settings import DELIVERY_LANE
from queries_orchestration_tests.house import MONDAY, House
from queries_orchestration_tests.orchestration.launches import requests

pytestmark = pytest.mark.parametrize("database_kind", ["sqlite"])

COUNTED = {"expired_files", "stale_uploads", "occurrences", "exports", "audit_events", "runs"}


@dg.op
def nothing() -> None:
    """Do nothing."""


@dg.job(executor_def=dg.in_process_executor)
def retention_of_others() -> None:
    """A job of somebody else in the same Dagster."""
    nothing()


@pytest.fixture
def delivered(job_house: House, instance: dg.DagsterInstance) -> House:
    """A house whose first slot was delivered by a run; another location has had one, too."""
    (offer,) = job_house.dispatch(MONDAY).offers
    job = defs.resolve_job_def(job_of(offer.lane).name)
    assert job.execute_in_process(
        run_config=run_config_of(offer),
        tags=tags_of(offer, job_house.backends.settings),
        instance=instance,
    ).success
    assert retention_of_others.execute_in_process(instance=instance).success
    return job_house


@pytest.fixture
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dagster's runs are past their age as soon as they end."""
    finished = DagsterRunLog.finished

    def soon(log: DagsterRunLog, before: datetime, **which: Any) -> Any:
        assert timedelta(days=29) < datetime.now(UTC) - before < timedelta(days=31)
        return finished(log, datetime.now(UTC) + timedelta(seconds=1), **which)

    monkeypatch.setattr(DagsterRunLog, "finished", soon)


def launch(instance: dg.DagsterInstance, **config: Any) -> dg.ExecuteInProcessResult:
    asked = {"ops": {"remove_what_is_past_its_age": {"config": config}}} if config else {}
    return defs.resolve_job_def("retention").execute_in_process(
        run_config=asked, instance=instance, raise_on_error=False
    )


def told(result: dg.ExecuteInProcessResult) -> dict[str, Any]:
    (output,) = [
        event.step_output_data
        for event in result.all_events
        if event.event_type == dg.DagsterEventType.STEP_OUTPUT
    ]
    return {name: entry.value for name, entry in output.metadata.items()}


def jobs(instance: dg.DagsterInstance) -> list[str]:
    return sorted(run.job_name for run in instance.get_runs())


@pytest.mark.usefixtures("_at_once")
def test_launched_as_it_is_it_counts_and_removes_nothing(
    delivered: House, instance: dg.DagsterInstance
) -> None:
    result = launch(instance)
    assert result.success
    assert told(result)["removed"] is False
    assert told(result)["runs"] == 1
    assert set(told(result)) > COUNTED
    assert jobs(instance) == ["deliver_occurrence", "retention", "retention_of_others"]
    assert len(delivered.history()) == 1


@pytest.mark.usefixtures("_at_once")
def test_the_runs_of_done_work_go_with_events_and_logs_and_nobody_elses(
    delivered: House, instance: dg.DagsterInstance
) -> None:
    (run,) = instance.get_runs(dg.RunsFilter(job_name="deliver_occurrence"))
    of_source = dg.AssetKey(["queries", "acme", "all-orders"])
    assert len(instance.fetch_materializations(of_source, limit=9).records) == 1
    storage = Path(instance.storage_directory())
    kept = [path for path in storage.parent.rglob(f"*{run.run_id}*") if path.name != "index.db"]
    assert kept

    result = launch(instance, do=True)

    assert told(result) | {"removed": True, "runs": 1} == told(result)
    assert jobs(instance) == ["retention", "retention_of_others"]
    assert instance.fetch_materializations(of_source, limit=9).records == []
    assert list(storage.parent.rglob(f"*{run.run_id}*")) == []


@pytest.mark.usefixtures("_at_once")
def test_a_run_of_unfinished_work_stays(job_house: House, instance: dg.DagsterInstance) -> None:
    (offer,) = job_house.dispatch(MONDAY).offers
    run = instance.create_run_for_job(
        defs.resolve_job_def("deliver_occurrence"),
        run_config=run_config_of(offer),
        tags=tags_of(offer, job_house.backends.settings),
    )
    instance.report_run_failed(run)
    assert told(launch(instance, do=True))["runs"] == 0
    assert job_house.take(offer) == "delivered"
    assert told(launch(instance, do=True))["runs"] == 2  # and the first retention's own


@pytest.mark.usefixtures("_at_once")
def test_a_run_key_does_not_fire_again_when_its_run_has_gone(
    delivered: House, instance: dg.DagsterInstance
) -> None:
    """Dagster forgets the key with the run; the sensor asks the store, which has no such offer."""
    launch(instance, do=True)

    for sensor in (offer_deliveries, offer_exports, offer_reports):
        assert requests(instance, sensor) == []
    assert not delivered.dispatch(MONDAY + timedelta(minutes=5)).offers
    assert delivered.claim(delivered.history()[0].key).offer_number == 1
    assert [one.outcome for one in delivered.history()] == ["delivered"]
    assert delivered.work(DELIVERY_LANE) == []


@pytest.mark.usefixtures("_at_once")
def test_a_run_whose_removal_broke_off_is_found_again(
    delivered: House, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(type(instance.run_storage), "delete_run", _breaks_off)
        assert not launch(instance, do=True).success
    assert "deliver_occurrence" in jobs(instance)
    assert told(launch(instance, do=True))["runs"] == 2  # and the red retention's own
    assert "deliver_occurrence" not in jobs(instance)


def _breaks_off(_storage: object, _run_id: str) -> None:
    raise OSError("The test pulls the plug.")


def test_what_fails_is_told_and_turns_the_run_red(
    job_house: House, instance: dg.DagsterInstance
) -> None:
    files = job_house.folder / "home" / "files"
    files.parent.mkdir(exist_ok=True)
    files.write_text("no folder")
    result = launch(instance)
    assert not result.success
    (failure,) = [event for event in result.all_events if event.is_step_failure]
    assert "storage_unavailable" in str(failure.step_failure_data.user_failure_data)
