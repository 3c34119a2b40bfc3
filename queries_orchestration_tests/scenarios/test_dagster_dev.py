"""`dagster dev`: schedules, reports, run now, exports, terminate, kill, and a person in its UI."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import urllib.request
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest
import sqlalchemy as sa
from dagster._core.execution.backfill import BULK_ACTION_TERMINAL_STATUSES
from pypdf import PdfReader

from queries_orchestration.deliveries.run_now import run_now
from queries_orchestration.model.pages import occurrence_page
from queries_orchestration.orchestration.run_requests import nudge
from queries_orchestration.receives.publish import publish
from queries_orchestration_tests.chromium import chromium
from queries_orchestration_tests.house import CATALOG, House, build_house
from queries_orchestration_tests.scenarios.dagster_dev import DagsterDev, dagster_dev, free_port
from queries_orchestration_tests.scenarios.dagster_pages import DagsterPages

ENDLESS = (
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
    " SELECT count(*) AS id FROM n WHERE i < 0"
)
DEV_CATALOG = CATALOG.replace(
    "queries:\n",
    "  slow:\n"
    "    title: Slow\n"
    "    connection: shop\n"
    "    relation: slow\n"
    "    fields: {id: {type: integer, nullable: false}}\n"
    "    key: [id]\n"
    "    access: [{who: {everyone: true}, fields: all, rows: all}]\n"
    "queries:\n"
    "  slow: {title: Slow, dataset: slow, fields: [{field: id}]}\n",
).replace(
    "schedules:\n",
    "reports:\n"
    "  orders:\n"
    "    title: The orders\n"
    "    sections:\n"
    "      - {text: All of them.}\n"
    "      - {show: table, title: Each order, query: all-orders, totals: [amount]}\n"
    "schedules:\n"
    "  report:\n"
    "    title: Weekly report\n"
    "    report: orders\n"
    "    owner: ada\n"
    "    cron: 0 8 * * 1\n"
    "    format: pdf\n"
    "    recipients: [cyd]\n"
    "  daily:\n"
    "    title: Each day\n"
    "    query: all-orders\n"
    "    owner: ada\n"
    "    cron: 0 0 * * *\n"
    "    time_zone: UTC\n"
    "    format: csv\n"
    "    recipients: [cyd]\n",
)


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Iterator[DagsterDev]:
    """One `dagster dev` on a house whose weekly schedules have been due for a day."""
    folder = tmp_path_factory.mktemp("dev")
    shutil.copy(sqlite_template, folder / "store.db")
    port = free_port()
    house = build_house(
        folder,
        f"sqlite:///{folder / 'store.db'}",
        f"sqlite:///{folder / 'source.db'}",
        catalog=DEV_CATALOG,
        rows=10,
        at=datetime.now(UTC) - timedelta(days=8),
        # A run waits for its process: longer than the second that other tests allow.
        settings={
            "QUERIES_OFFER_LEASE": "60",
            "QUERIES_HEARTBEAT_INTERVAL": "1",
            "QUERIES_HEARTBEAT_SILENCE": "10",
            "QUERIES_RETRY_DELAY": "1",
            "QUERIES_DAGSTER_URL": f"http://127.0.0.1:{port}",
        },
    )
    _replace_slow(house, ENDLESS)
    house.clock.at = datetime.now(UTC)
    with dagster_dev(house, port) as running:
        yield running


def test_dagster_dev_delivers_a_due_schedule_by_itself(dev: DagsterDev) -> None:
    house = dev.house
    (delivered,) = dev.wait_for(
        lambda: [one for one in house.history() if one.outcome == "delivered"]
    )
    (run,) = dev.runs_of("queries/occurrence", delivered.key)
    dev.wait_for(lambda: dev.runs_of("queries/occurrence", delivered.key)[0].is_finished)

    assert _recipients_of(house, "Weekly orders") == ["bob@example.org", "cyd@example.org"]
    assert run.job_name == "deliver_occurrence"
    assert run.tags["queries/workspace"] == house.workspace_id
    assert run.tags["queries/schedule"] == house.schedule().id
    (ended,) = dev.runs_of("queries/occurrence", delivered.key)
    assert ended.status == dg.DagsterRunStatus.SUCCESS


def test_a_due_report_is_rendered_by_a_run_of_its_own_while_its_delivery_waits(
    dev: DagsterDev,
) -> None:
    house = dev.house
    (delivered,) = dev.wait_for(
        lambda: [one for one in house.history("report") if one.outcome == "delivered"]
    )
    runs = {run.job_name: run for run in dev.runs_of("queries/occurrence", delivered.key)}
    delivery, render = runs["deliver_occurrence"], runs["render_report"]

    (page,) = PdfReader(io.BytesIO(house.file(delivered.key))).pages
    assert "Total 57.5" in " ".join(page.extract_text().split())
    assert _recipients_of(house, "Weekly report") == ["cyd@example.org"]
    assert len(runs) == 2
    assert delivery.tags["queries/export"] == render.tags["queries/export"]


def test_a_run_now_request_is_delivered_by_the_sensor(dev: DagsterDev) -> None:
    house = dev.house
    key = run_now(
        house.backends,
        house.workspace_id,
        schedule_id=house.schedule().id,
        by=house.by("ada"),
    )

    dev.wait_for(lambda: house.occurrence(key).outcome)

    assert house.occurrence(key).outcome == "delivered"
    assert {name: row.state for name, row in house.deliveries(key).items()} == {
        "bob": "sent",
        "cyd": "sent",
        "dan": "skipped",
    }


def test_an_export_is_launched_by_the_nudge_and_its_file_made(dev: DagsterDev) -> None:
    house = dev.house
    export_id = house.ask_export("all-orders")

    assert publish(house.backends, house.workspace_id, export_id, nudge(house.backends.settings))

    dev.wait_for(lambda: house.asked_export(export_id).state == "ready")
    assert house.asked_export(export_id).rows == 10
    (run,) = dev.runs_of("queries/export", export_id)
    assert "dagster/sensor_name" not in run.tags


def test_terminating_a_running_export_in_dagster_cancels_it(dev: DagsterDev) -> None:
    house = dev.house
    export_id = house.ask_export("slow")
    dev.wait_for(lambda: house.asked_export(export_id).state == "running")
    (run,) = dev.runs_of("queries/export", export_id)

    _terminate(dev, run.run_id)

    dev.wait_for(lambda: house.asked_export(export_id).state == "cancelled")
    dev.wait_for(lambda: dev.runs_of("queries/export", export_id)[0].is_finished)
    assert [one.run_id for one in dev.runs_of("queries/export", export_id)] == [run.run_id]
    assert house.claim(export_id).state == "done"


def test_a_worker_killed_in_an_export_is_followed_by_another_run(dev: DagsterDev) -> None:
    house = dev.house
    export_id = house.ask_export("slow")
    dev.wait_for(lambda: house.asked_export(export_id).state == "running")
    (killed,) = dev.runs_of("queries/export", export_id)
    os.kill(_process_of(dev, killed), signal.SIGKILL)
    _replace_slow(house, "SELECT 7 AS id")

    dev.wait_for(lambda: house.asked_export(export_id).state == "ready")

    assert house.asked_export(export_id).rows == 1
    assert house.claim(export_id).receive_number == 2
    dev.wait_for(lambda: dev.run(killed.run_id).status == dg.DagsterRunStatus.FAILURE)


def test_a_person_runs_a_schedule_from_the_launchpad_and_reads_in_the_ui_what_came_of_it(
    dev: DagsterDev,
) -> None:
    house = dev.house
    with chromium() as browser:
        ui = DagsterPages(browser.new_page(), dev.url)
        defaults = ui.open_launchpad("deliver_occurrence")
        ui.fill_in("schedule", house.schedule().id)
        ui.fill_in("as_person", house.person("ada"))
        ui.fill_in("reason", "The customer calls.")
        run_id = ui.launch()

        dev.wait_for(lambda: dev.run(run_id).is_finished)
        told = ui.read_run(run_id)

        key = dev.run(run_id).tags["queries/occurrence"]
        plotted = ui.read_plots("queries/acme/all-orders")
    assert defaults == dict.fromkeys(("as_person", "occurrence", "reason", "schedule"), "''") | {
        "offer": "0"
    }
    assert (house.occurrence(key).outcome, house.occurrence(key).via) == ("delivered", "dagster-ui")
    assert told.status == "Success"
    assert told.entries["rows"] == "10"
    assert (told.entries["sent"], told.entries["codes"]) == ("2", "inactive 1")
    assert told.entries["outcome"] == "delivered"
    assert (
        occurrence_page("https://queries.example.org", schedule_name="weekly", key=key)
        in told.links
    )
    assert {"rows", "bytes", "seconds"} <= plotted


def test_a_person_backfills_three_days_and_reads_in_the_ui_what_came_of_it(
    dev: DagsterDev,
) -> None:
    house = dev.house
    today = datetime.now(UTC).date()
    first, second, last = (today - timedelta(days=days) for days in (4, 3, 2))
    missed = dev.wait_for(lambda: [one for one in house.history("daily") if one.outcome])

    with chromium() as browser:
        ui = DagsterPages(browser.new_page(), dev.url)
        backfill_id = ui.backfill("backfill_occurrences", first.isoformat(), last.isoformat())
        dev.wait_for(lambda: _ended(dev, backfill_id))
        counts = ui.read_backfill(backfill_id)
        runs = dev.runs_of("queries/backfill", second.isoformat())
        (admitting,) = [run for run in runs if run.job_name == "backfill_occurrences"]
        told = ui.read_run(admitting.run_id)

    def delivered() -> list[date]:
        return [
            one.slot.date()
            for one in house.history("daily")
            if one.slot and (one.outcome, one.via) == ("delivered", "backfill")
        ]

    assert {one.outcome for one in missed if one.slot and one.slot.date() < today} == {"missed"}
    assert counts == ["3", "0", "3", "0"]
    assert (told.status, told.entries["missed"]) == ("Success", "1")
    dev.wait_for(lambda: len(delivered()) == 3)
    assert delivered() == [first, second, last]
    for one in house.history("daily"):
        if one.via == "backfill":
            assert one.slot is not None
            (own,) = dev.runs_of("queries/occurrence", one.key)
            assert "queries/backfill" in own.tags


def _ended(dev: DagsterDev, backfill_id: str) -> bool:
    backfill = dev.instance.get_backfill(backfill_id)
    return backfill is not None and backfill.status in BULK_ACTION_TERMINAL_STATUSES


def _recipients_of(house: House, title: str) -> list[str]:
    return sorted(
        address.addr_spec
        for message in house.messages()
        if message["Subject"].startswith(title)
        for address in message["To"].addresses
    )


def _replace_slow(house: House, statement: str) -> None:
    engine = sa.create_engine(house.environment["SHOP_URL"])
    with engine.begin() as connection:
        connection.execute(sa.text("DROP VIEW IF EXISTS slow"))
        connection.execute(sa.text(f"CREATE VIEW slow AS {statement}"))
    engine.dispose()


def _terminate(dev: DagsterDev, run_id: str) -> None:
    """Press Terminate, as the UI does."""
    query = "mutation T($id: String!) { terminateRun(runId: $id) { __typename } }"
    body = json.dumps({"query": query, "variables": {"id": run_id}}).encode()
    request = urllib.request.Request(
        f"{dev.url}/graphql", data=body, headers={"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=30) as response:
        assert json.load(response)["data"]["terminateRun"]["__typename"] == "TerminateRunSuccess"


def _process_of(dev: DagsterDev, run: dg.DagsterRun) -> int:
    """The process that executes a run, as its events tell."""

    def told() -> list[int]:
        return [
            int(str(entry.value))
            for record in dev.instance.get_records_for_run(run.run_id).records
            if (event := record.event_log_entry.dagster_event) and event.is_engine_event
            for name, entry in event.engine_event_data.metadata.items()
            if name == "pid"
        ]

    return dev.wait_for(told)[0]
