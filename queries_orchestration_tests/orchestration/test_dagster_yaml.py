"""The embedded default, loaded by Dagster itself."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from dagster import DagsterInstance
from dagster._core.definitions.run_request import InstigatorType
from dagster._core.scheduler.instigation import TickStatus

from queries_orchestration.settings import RUN_LIMITS

DAGSTER_YAML = Path(__file__).parents[2] / "dagster.yaml"


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[DagsterInstance]:
    shutil.copy(DAGSTER_YAML, tmp_path)
    with DagsterInstance.from_config(str(tmp_path)) as instance:
        yield instance


def test_the_lane_limits_are_the_lane_widths_of_the_settings(instance: DagsterInstance) -> None:
    limits = instance.get_concurrency_config().run_queue_config
    assert limits is not None
    lanes = {
        limit["value"]: limit["limit"]
        for limit in limits.tag_concurrency_limits
        if limit["key"] == "queries/lane"
    }
    assert lanes == RUN_LIMITS
    assert len(limits.tag_concurrency_limits) == len(lanes)


def test_full_lanes_leave_room_for_other_runs(instance: DagsterInstance) -> None:
    limits = instance.get_concurrency_config().run_queue_config
    assert limits is not None
    assert limits.max_concurrent_runs > sum(RUN_LIMITS.values())


def test_no_run_goes_on_for_ever(instance: DagsterInstance) -> None:
    assert instance.run_monitoring_enabled
    assert instance.run_monitoring_max_runtime_seconds == 7 * 60 * 60


def test_dagster_itself_retries_no_run(instance: DagsterInstance) -> None:
    assert not instance.run_retries_enabled


def test_nothing_is_reported_and_no_dialog_covers_the_first_visit(
    instance: DagsterInstance,
) -> None:
    assert not instance.telemetry_enabled
    assert not instance.nux_enabled


@pytest.mark.parametrize("kind", [InstigatorType.SCHEDULE, InstigatorType.SENSOR])
def test_ticks_of_every_kind_go_after_some_days(
    instance: DagsterInstance, kind: InstigatorType
) -> None:
    """Dagster removes them itself; its runs are for our retention."""
    days = instance.get_tick_retention_settings(kind)
    assert set(days) == set(TickStatus)
    assert all(0 < number <= 30 for number in days.values())
