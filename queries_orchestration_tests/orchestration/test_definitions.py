"""What Dagster loads: names, schedules, tags, and what importing it costs."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta

import dagster as dg
import pytest

from queries_orchestration.definitions import defs
from queries_orchestration.orchestration.backfill import days
from queries_orchestration.orchestration.retention import retain_daily


def test_the_definitions_load() -> None:
    dg.Definitions.validate_loadable(defs)


def test_jobs_schedules_and_tags_are_these() -> None:
    repository = defs.get_repository_def()
    jobs = {
        job.name: (job.tags, [node.name for node in job.graph.nodes])
        for job in repository.get_all_jobs()
        if not job.name.startswith("__")
    }
    schedules = {
        schedule.name: (
            schedule.cron_schedule,
            schedule.execution_timezone,
            schedule.job_name,
            schedule.default_status,
        )
        for schedule in repository.schedule_defs
    }

    assert {name: tags for name, (tags, _) in jobs.items()} == {
        "deliver_occurrence": {
            "queries/lane": "delivery",
            "dagster-celery/queue": "delivery",
            "dagster/max_runtime": "1020",
        },
        "resend": {
            "queries/lane": "delivery",
            "dagster-celery/queue": "delivery",
            "dagster/max_runtime": "1020",
        },
        "backfill_occurrences": {
            "queries/lane": "backfill",
            "dagster/priority": "-1000",
            "dagster/max_runtime": "600",
        },
        "export_query": {
            "queries/lane": "export",
            "dagster-celery/queue": "export",
            "dagster/max_runtime": "21720",
        },
        "render_report": {
            "queries/lane": "report",
            "dagster-celery/queue": "report",
            "dagster/max_runtime": "1020",
        },
        "sweep_uploads": {"queries/lane": "upkeep"},
        "retention": {"queries/lane": "upkeep", "dagster/max_runtime": "21600"},
    }
    assert set(jobs["deliver_occurrence"][1]) == {"start", "make_file", "deliver", "settle"}
    assert schedules == {
        "dispatch_deliveries": (
            "* * * * *",
            "UTC",
            "deliver_occurrence",
            dg.DefaultScheduleStatus.RUNNING,
        ),
        "sweep_hourly": (
            "17 * * * *",
            "UTC",
            "sweep_uploads",
            dg.DefaultScheduleStatus.RUNNING,
        ),
        "retain_daily": (
            "40 2 * * *",
            "UTC",
            "retention",
            dg.DefaultScheduleStatus.RUNNING,
        ),
    }
    assert {
        sensor.name: (sensor.job_name, sensor.minimum_interval_seconds, sensor.default_status)
        for sensor in repository.sensor_defs
    } == {
        "offer_deliveries": ("deliver_occurrence", 5, dg.DefaultSensorStatus.RUNNING),
        "offer_exports": ("export_query", 5, dg.DefaultSensorStatus.RUNNING),
        "offer_reports": ("render_report", 5, dg.DefaultSensorStatus.RUNNING),
    }


def test_the_schedule_of_retention_removes_what_a_hand_launched_one_counts() -> None:
    with dg.build_schedule_context(scheduled_execution_time=datetime.now(UTC)) as context:
        (request,) = retain_daily.evaluate_tick(context).run_requests or []
    asked = {"ops": {"remove_what_is_past_its_age": {"config": {"do": True}}}}
    assert request.run_config == asked
    assert dg.validate_run_config(defs.resolve_job_def("retention"), asked)


def test_the_partitions_are_the_days_of_utc_up_to_today() -> None:
    job = defs.resolve_job_def("backfill_occurrences")
    at = datetime(2027, 1, 4, 0, 0, 1, tzinfo=UTC)

    assert job.partitions_def == days
    assert days.get_partition_keys(at)[-2:] == ["2027-01-03", "2027-01-04"]
    assert days.get_partition_keys(at - timedelta(seconds=2))[-1] == "2027-01-03"
    assert datetime.now(UTC).date().isoformat() in days.get_partition_keys()


def test_no_op_has_a_retry_policy_of_dagster() -> None:
    ops = [
        node
        for job in defs.get_repository_def().get_all_jobs()
        for node in job.all_node_defs
        if isinstance(node, dg.OpDefinition)
    ]
    assert [op.name for op in ops if op.retry_policy is not None] == []


@pytest.mark.parametrize(
    "module",
    [
        "alembic",
        "boto3",
        "fastapi",
        "flask",
        "markdown_it",
        "matplotlib",
        "numpy",
        "openpyxl",
        "pandas",
        "starlette",
        "weasyprint",
    ],
)
def test_importing_the_definitions_does_not_load(module: str, loaded_modules: set[str]) -> None:
    assert module not in loaded_modules


@pytest.fixture(scope="module")
def loaded_modules() -> set[str]:
    """The modules that a fresh process holds after importing what Dagster loads."""
    code = "import sys, queries_orchestration.code_location; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())
