"""The render job, its sensor, and what it does for a delivery and for a person."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest

from queries_orchestration.orchestration.offering import (
    offer_deliveries,
    offer_exports,
    offer_reports,
)
from queries_orchestration_tests.house import MONDAY, House
from queries_orchestration_tests.orchestration.launches import execute, requests
from queries_orchestration_tests.report_house import build_report_house

pytestmark = pytest.mark.parametrize("database_kind", ["sqlite"])


@pytest.fixture
def house(tmp_path: Path, store_url: str, source_url: str) -> House:
    return build_report_house(tmp_path, store_url, source_url)


def test_the_sensor_launches_the_render_that_a_person_asked_for(
    job_house: House, instance: dg.DagsterInstance
) -> None:
    export_id = job_house.ask_export("sales", file_format="xlsx")

    assert requests(instance, offer_exports) == []
    (request,) = requests(instance, offer_reports)
    assert request.job_name == "render_report"
    assert request.run_config == {
        "ops": {"start_render": {"config": {"export": export_id, "offer": 1}}}
    }
    assert request.tags["queries/lane"] == "report"
    assert request.tags["queries/export"] == export_id
    assert request.tags["dagster/max_runtime"] == "1020"
    result = execute(instance, request)

    assert result.success
    export = job_house.asked_export(export_id)
    assert (export.state, export.rows) == ("ready", 7 + 2_500)
    (metadata,) = (
        event.step_output_data.metadata
        for event in result.all_events
        if event.event_type_value == "STEP_OUTPUT" and event.step_key == "render"
    )
    assert {name: metadata[name].value for name in ("rows", "bytes", "format")} == {
        "rows": export.rows,
        "bytes": export.size,
        "format": "xlsx",
    }


def test_a_delivery_that_was_tried_again_finds_what_the_render_job_made(
    job_house: House, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUERIES_RENDER_WAIT", "0.1")
    (offer,) = job_house.dispatch(MONDAY).offers
    first = dg.RunRequest(
        job_name="deliver_occurrence",
        run_config={"ops": {"start": {"config": {"occurrence": offer.key, "offer": 1}}}},
    )
    assert execute(instance, first).success  # it is tried again by itself
    assert job_house.history()[0].outcome is None

    (render,) = requests(instance, offer_reports)
    assert execute(instance, render).success
    (again,) = requests(instance, offer_deliveries)
    assert execute(instance, again).success

    assert job_house.history()[0].outcome == "delivered"
    assert job_house.addressees() == ["bob@example.org", "cyd@example.org"]


def test_a_render_that_lost_access_is_red_with_code_and_page(
    job_house: House, instance: dg.DagsterInstance
) -> None:
    export_id = job_house.ask_export("sales", file_format="xlsx")
    job_house.apply(
        "workspace: {name: acme}\n"
        "people:\n  ada: {title: Ada Owner, address: ada@example.org, roles: [reader]}\n"
    )
    (request,) = requests(instance, offer_reports)

    result = execute(instance, request)

    assert not result.success
    failed = result.failure_data_for_node("render")
    assert failed is not None
    assert failed.user_failure_data is not None
    assert (failed.user_failure_data.description or "").startswith("access_lost: its page")
    assert failed.user_failure_data.metadata["page"].value
    export = job_house.asked_export(export_id)
    assert (export.state, export.code) == ("failed", "access_lost")
    assert 'Section "Amounts by region"' in (export.message or "")


def test_a_job_that_is_given_the_work_of_another_lane_leaves_it_alone(
    job_house: House, instance: dg.DagsterInstance
) -> None:
    export_id = job_house.ask_export("all-orders")
    request = dg.RunRequest(
        job_name="render_report",
        run_config={"ops": {"start_render": {"config": {"export": export_id}}}},
    )

    result = execute(instance, request)

    failed = result.failure_data_for_node("start_render")
    assert failed is not None
    assert failed.user_failure_data is not None
    assert (failed.user_failure_data.description or "").startswith("other_lane")
    assert job_house.claim(export_id).state == "waiting"
    assert job_house.claim(export_id).receive_number == 0


def test_a_run_of_a_rendered_report_is_green_and_does_nothing(
    job_house: House, instance: dg.DagsterInstance
) -> None:
    export_id = job_house.ask_export("sales", file_format="xlsx")
    (request,) = requests(instance, offer_reports)
    execute(instance, request)
    before = job_house.asked_export(export_id)

    assert execute(instance, request).success
    assert job_house.asked_export(export_id) == before
