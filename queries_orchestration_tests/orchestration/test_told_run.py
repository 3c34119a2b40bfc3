"""What a run tells of its work, and that it leads there and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from dagster_shared.serdes import serialize_value

from queries_orchestration.definitions import defs
from queries_orchestration.deliveries import make_file as make_file_step
from queries_orchestration.deliveries.stop_dispatch import stop_dispatch
from queries_orchestration.model.audit import OPERATOR
from queries_orchestration.model.errors import SourceBroken
from queries_orchestration.orchestration import metadata, tags
from queries_orchestration.orchestration.offering import offer_exports, offer_reports
from queries_orchestration.orchestration.run_requests import run_request_of
from queries_orchestration.orchestration.told_errors import NAME_NOBODY
from queries_orchestration.settings import EXPORT_LANE
from queries_orchestration.store import workspaces
from queries_orchestration.telling.occurrences import occurrence_json
from queries_orchestration_tests.codes import every_code
from queries_orchestration_tests.house import MONDAY, House
from queries_orchestration_tests.orchestration.launches import execute, requests
from queries_orchestration_tests.report_house import build_report_house

pytestmark = pytest.mark.parametrize("database_kind", ["sqlite"])

SITE = "https://queries.example.org"


def test_a_delivery_leads_to_schedule_occurrence_file_and_outcomes_and_back(
    job_house: House, instance: dg.DagsterInstance
) -> None:
    (offer,) = job_house.dispatch(MONDAY).offers
    result = execute(instance, run_request_of(offer, job_house.backends.settings))

    occurrence = job_house.occurrence(offer.key)
    page = f"{SITE}/schedules/weekly/occurrences/{offer.key.replace('@', '%40')}"
    tagged = instance.get_runs()[0].tags
    assert {name: tagged[name] for name in tags.MEANINGS if name != tags.BACKFILL} == {
        "queries/lane": "delivery",
        "queries/workspace": job_house.workspace_id,
        "queries/occurrence": offer.key,
        "queries/export": occurrence.export_id,
        "queries/schedule": job_house.schedule().id,
        "queries/offer": "1",
        "queries/via": "recurrence",
        "queries/outcome": "delivered",
    }
    told = _told(result)
    assert (told["start"]["page"], told["start"]["receive"]) == (page, 1)
    assert told["start"]["command"] == "queries history weekly --workspace acme"
    assert (told["make_file"]["rows"], told["make_file"]["format"]) == (2_500, "csv")
    assert told["make_file"]["seconds"] >= 0
    counted = {"sent": 2, "skipped": 1, "codes": "inactive 1"}
    assert told["deliver"] == counted
    assert told["settle"] == counted | {
        "outcome": "delivered",
        "occurrence": offer.key,
        "export": occurrence.export_id,
        "page": page,
        "command": "queries history weekly --workspace acme",
    }
    with job_house.backends.database.across.read() as connection:
        place = workspaces.get(connection, job_house.workspace_id)
        assert place is not None
        back = occurrence_json(
            connection, job_house.backends, place, job_house.schedule(), occurrence
        )
    assert [attempt["run"] for attempt in back["attempts"]] == [result.run_id]


def test_a_run_from_the_launchpad_gets_the_tags_of_its_work(
    job_house: House, instance: dg.DagsterInstance
) -> None:
    config = {
        "schedule": job_house.schedule().id,
        "as_person": job_house.person("ada"),
        "reason": "The test asks.",
    }
    _launch(instance, "deliver_occurrence", {"ops": {"start": {"config": config}}})

    (occurrence,) = job_house.history()
    tagged = instance.get_runs()[0].tags
    assert tagged["queries/occurrence"] == occurrence.key
    assert tagged["queries/schedule"] == job_house.schedule().id
    assert tagged["queries/via"] == "dagster-ui"
    assert tagged["queries/outcome"] == "delivered"
    assert job_house.person("ada") not in tagged.values()


@pytest.mark.parametrize(
    ("job", "lane"), [("deliver_occurrence", "delivery"), ("export_query", EXPORT_LANE)]
)
def test_a_job_that_is_launched_as_it_is_works_what_is_next_in_turn(
    job_house: House, instance: dg.DagsterInstance, job: str, lane: str
) -> None:
    result = _launch(instance, job, {})
    assert result.success
    assert instance.get_runs(limit=1)[0].tags["queries/outcome"] == "nothing_to_do"
    if lane == EXPORT_LANE:
        key = job_house.ask_export()
    else:
        (offer,) = job_house.dispatch(MONDAY).offers
        key = offer.key
        with job_house.backends.database.across.transaction() as connection:
            connection.exec_driver_sql("UPDATE claims SET lease_until = NULL")

    assert _launch(instance, job, {}).success

    assert job_house.claim(key).state == "done"
    assert job_house.claim(key).receive_number == 1
    (run,) = instance.get_runs(filters=dg.RunsFilter(tags={tags.work_tag(lane): key}))
    assert run.tags["queries/outcome"] in ("delivered", "ready")


def test_a_job_that_is_launched_as_it_is_says_what_is_so_if_it_finds_nothing(
    job_house: House, instance: dg.DagsterInstance
) -> None:
    (offer,) = job_house.dispatch(MONDAY).offers
    with job_house.backends.database.across.transaction() as connection:
        connection.exec_driver_sql("UPDATE claims SET lease_until = '2100-01-01 00:00:00.000000'")

    assert _launch(instance, "deliver_occurrence", {}).success
    assert "that may start now and is not offered already" in _everything(instance)
    stop_dispatch(job_house.backends, by=OPERATOR, name="the night shift", reason="It rains.")
    assert _launch(instance, "deliver_occurrence", {}).success
    assert "All dispatching is stopped since" in _everything(instance)
    assert "queries dispatch start" in _everything(instance)

    assert instance.get_runs(limit=1)[0].tags["queries/outcome"] == "nothing_to_do"
    assert job_house.claim(offer.key).receive_number == 0


def test_an_export_leads_to_its_page(job_house: House, instance: dg.DagsterInstance) -> None:
    export_id = job_house.ask_export()
    (request,) = requests(instance, offer_exports)

    told = _told(execute(instance, request))

    for step in ("start_export", "generate"):
        assert told[step]["page"] == f"{SITE}/exports/{export_id}"
        assert told[step]["export"] == export_id
    assert told["generate"]["outcome"] == "ready"
    assert told["generate"]["rows"] == 2_500
    assert "queries/schedule" not in instance.get_runs()[0].tags


def test_a_failure_leads_to_the_page_and_has_the_code(
    job_house: House, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_arguments: object) -> None:
        raise SourceBroken("A column is gone.")

    monkeypatch.setattr(make_file_step, "make_file", broken)
    (offer,) = job_house.dispatch(MONDAY).offers
    result = execute(instance, run_request_of(offer, job_house.backends.settings))

    failed = result.failure_data_for_node("make_file")
    assert failed is not None
    assert failed.user_failure_data is not None
    entries = {name: one.value for name, one in failed.user_failure_data.metadata.items()}
    assert (entries["code"], entries["receive"]) == ("source_broken", 1)
    assert str(entries["page"]).startswith(f"{SITE}/schedules/weekly/occurrences/")


def test_no_name_of_a_person_no_title_and_no_value_is_told(
    job_house: House, instance: dg.DagsterInstance
) -> None:
    (offer,) = job_house.dispatch(MONDAY).offers
    assert execute(instance, run_request_of(offer, job_house.backends.settings)).success

    _check_nothing_secret(instance)


NOBODY_HAS_ACCESS = """
workspace: {name: acme}
people:
  ada: {title: Ada Owner, address: ada@example.org, roles: [reader]}
"""


def test_access_lost_names_nobody(job_house: House, instance: dg.DagsterInstance) -> None:
    (offer,) = job_house.dispatch(MONDAY).offers
    job_house.apply(NOBODY_HAS_ACCESS)
    assert not execute(instance, run_request_of(offer, job_house.backends.settings)).success

    occurrence = job_house.occurrence(offer.key)
    assert occurrence.code == "access_lost"
    assert "the dataset orders" in (occurrence.message or "")
    assert "ada" not in (occurrence.message or "")
    _check_nothing_secret(instance)
    assert "access_lost" in _everything(instance)
    assert "the dataset orders" not in _everything(instance)


def test_the_refusal_of_a_launch_names_nobody(
    job_house: House, instance: dg.DagsterInstance
) -> None:
    job_house.apply(NOBODY_HAS_ACCESS)
    schedule, ada = job_house.schedule().id, job_house.person("ada")
    config = {"schedule": schedule, "as_person": ada, "reason": "The test asks."}
    assert not _launch(
        instance, "deliver_occurrence", {"ops": {"start": {"config": config}}}
    ).success

    _check_nothing_secret(instance)
    assert "access_lost" in _everything(instance)


@pytest.mark.parametrize("fails", ["for good", "for a while"])
def test_a_section_that_does_not_open_is_not_named(
    tmp_path: Path,
    store_url: str,
    source_url: str,
    instance: dg.DagsterInstance,
    monkeypatch: pytest.MonkeyPatch,
    fails: str,
) -> None:
    house = build_report_house(tmp_path, store_url, source_url)
    for name, value in house.environment.items():
        monkeypatch.setenv(name, value)
    export_id = house.ask_export("sales", file_format="xlsx")
    if fails == "for good":
        house.apply(NOBODY_HAS_ACCESS)
    else:
        monkeypatch.delenv("SHOP_URL")
    (request,) = requests(instance, offer_reports)
    execute(instance, request)

    outcome = {"for good": "failed", "for a while": "tried_again"}[fails]
    assert instance.get_runs()[0].tags["queries/outcome"] == outcome
    assert house.claim(export_id).receive_number == 1
    _check_nothing_secret(instance, "Section", "Amounts by region")


@pytest.mark.usefixtures("database_kind")
def test_messages_are_told_of_codes_that_there_are() -> None:
    assert every_code() >= NAME_NOBODY


def _everything(instance: dg.DagsterInstance) -> str:
    """The newest run and its events, as they are kept."""
    run = instance.get_runs()[0]
    return serialize_value(run) + "".join(
        serialize_value(record.event_log_entry)
        for record in instance.get_records_for_run(run.run_id).records
    )


def _check_nothing_secret(instance: dg.DagsterInstance, *more: str) -> None:
    told = _everything(instance)
    secrets = (
        "Ada",
        "ada ",
        "ada@",
        "bob",
        "example.org>",
        "Weekly orders",
        "All orders",
        "r1,1.25",
    )
    for secret in (*secrets, *more):
        assert secret not in told


def test_every_entry_that_is_told_has_a_meaning(
    job_house: House, instance: dg.DagsterInstance
) -> None:
    (offer,) = job_house.dispatch(MONDAY).offers
    job_house.ask_export()
    results = [execute(instance, run_request_of(offer, job_house.backends.settings))]
    results += [execute(instance, one) for one in requests(instance, offer_exports)]
    results += [_launch(instance, "sweep_uploads", {})]

    named = {name for one in results for entries in _told(one).values() for name in entries}
    assert len(named) > 10
    assert named <= set(metadata.MEANINGS)


def _launch(
    instance: dg.DagsterInstance, job: str, config: dict[str, Any]
) -> dg.ExecuteInProcessResult:
    return defs.resolve_job_def(job).execute_in_process(
        run_config=config, instance=instance, raise_on_error=False
    )


def _told(result: dg.ExecuteInProcessResult) -> dict[str, dict[str, Any]]:
    """The metadata of each step's output, by the step."""
    return {
        event.step_key or "": {
            name: one.value for name, one in event.step_output_data.metadata.items()
        }
        for event in result.all_events
        if event.event_type_value == "STEP_OUTPUT"
    }
