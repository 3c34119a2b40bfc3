"""The export job, the sensors that offer, and what an operator starts in the Launchpad."""

from __future__ import annotations

import csv

import dagster as dg
import pytest

from queries_orchestration.definitions import defs
from queries_orchestration.orchestration.offering import offer_deliveries, offer_exports
from queries_orchestration_tests.house import MONDAY, House
from queries_orchestration_tests.orchestration.launches import execute, requests

pytestmark = pytest.mark.parametrize("database_kind", ["sqlite"])


def test_the_sensor_launches_an_export_whose_run_makes_the_file(
    job_house: House, instance: dg.DagsterInstance
) -> None:
    export_id = job_house.ask_export()

    (request,) = requests(instance, offer_exports)
    assert request.job_name == "export_query"
    assert request.tags["queries/export"] == export_id
    assert request.tags["queries/workspace"] == job_house.workspace_id
    assert request.tags["queries/lane"] == "export"
    result = execute(instance, request)

    assert result.success
    export = job_house.asked_export(export_id)
    assert (export.state, export.rows) == ("ready", 2_500)
    with job_house.backends.storage.open(export.storage_key) as file:
        rows = list(csv.reader(file.read().decode().splitlines()))
    assert rows[1] == ["1", "r1", "1.25"]


def test_the_export_sensor_says_when_nothing_waits(
    job_house: House, instance: dg.DagsterInstance
) -> None:
    context = dg.build_sensor_context(
        instance=instance,
        definitions=defs,
        resources={"worker": (defs.resources or {})["worker"]},
    )
    with context:
        data = offer_exports.evaluate_tick(context)
    assert data.run_requests == []
    assert "Nothing waits" in (data.skip_message or "")


def test_deliveries_and_exports_are_offered_by_their_own_sensors(
    job_house: House, instance: dg.DagsterInstance
) -> None:
    job_house.ask_export()
    job_house.dispatch(MONDAY)

    assert [one.job_name for one in requests(instance, offer_exports)] == ["export_query"]
    assert requests(instance, offer_deliveries) == []  # the tick has offered it


def test_a_failed_export_is_red_with_its_code(
    job_house: House, instance: dg.DagsterInstance
) -> None:
    export_id = job_house.ask_export()
    job_house.apply(
        "workspace: {name: acme, title: Acme, time_zone: Europe/Berlin}\n"
        "people:\n  ada: {title: Ada Owner, address: ada@example.org, roles: [reader]}\n"
    )
    (request,) = requests(instance, offer_exports)

    assert not execute(instance, request).success

    export = job_house.asked_export(export_id)
    assert (export.state, export.code) == ("failed", "access_lost")


def test_a_run_of_a_finished_export_is_green_and_does_nothing(
    job_house: House, instance: dg.DagsterInstance
) -> None:
    export_id = job_house.ask_export()
    (request,) = requests(instance, offer_exports)
    execute(instance, request)
    before = job_house.asked_export(export_id)

    assert execute(instance, request).success
    assert job_house.asked_export(export_id) == before


def test_an_operator_runs_a_schedule_for_a_person_from_the_launchpad(
    job_house: House, instance: dg.DagsterInstance
) -> None:
    result = _launch(
        job_house, instance, as_person=job_house.person("ada"), reason="the customer calls"
    )

    assert result.success
    (occurrence,) = job_house.history()
    assert (occurrence.via, occurrence.reason) == ("dagster-ui", "the customer calls")
    assert (occurrence.outcome, occurrence.actor_id) == ("delivered", job_house.person("ada"))


@pytest.mark.parametrize(
    ("person", "reason", "code"),
    [("ada", "  ", "incomplete_config"), ("bob", "because", "not_found")],
)
def test_a_launchpad_run_without_reason_or_authority_is_refused(
    job_house: House, instance: dg.DagsterInstance, person: str, reason: str, code: str
) -> None:
    result = _launch(job_house, instance, as_person=job_house.person(person), reason=reason)

    assert not result.success
    failed = result.failure_data_for_node("start")
    assert failed is not None
    assert failed.user_failure_data is not None
    assert (failed.user_failure_data.description or "").startswith(code)
    assert job_house.history() == []


def test_launchpad_runs_for_persons_can_be_switched_off(
    job_house: House, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUERIES_DAGSTER_UI_RUNS", "0")
    result = _launch(job_house, instance, as_person=job_house.person("ada"), reason="x")

    assert not result.success
    assert job_house.history() == []


def _launch(
    house: House, instance: dg.DagsterInstance, *, as_person: str, reason: str
) -> dg.ExecuteInProcessResult:
    config = {"schedule": house.schedule().id, "as_person": as_person, "reason": reason}
    return defs.resolve_job_def("deliver_occurrence").execute_in_process(
        run_config={"ops": {"start": {"config": config}}}, instance=instance, raise_on_error=False
    )
