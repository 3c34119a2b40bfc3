"""The minutely schedule: a thin shell over one dispatcher pass."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.definitions.schedule_definition import ScheduleExecutionData

from queries_orchestration.definitions import defs
from queries_orchestration.deliveries.stop_dispatch import stop_dispatch
from queries_orchestration.model.audit import OPERATOR
from queries_orchestration.store import dispatchers
from queries_orchestration_tests.house import CATALOG, MONDAY, House, build_house

pytestmark = pytest.mark.parametrize("database_kind", ["sqlite"])

Evaluate = Callable[[], ScheduleExecutionData]


@pytest.fixture
def due_house(
    tmp_path: Path, store_url: str, source_url: str, monkeypatch: pytest.MonkeyPatch
) -> House:
    """A house whose schedule has been due for weeks by the real clock."""
    house = build_house(
        tmp_path, store_url, source_url, catalog=CATALOG, rows=10, at=MONDAY.replace(year=2026)
    )
    for name, value in house.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("QUERIES_OFFER_LEASE", "300")  # no offer is made again while a test looks
    return house


@pytest.fixture
def evaluate(instance: dg.DagsterInstance) -> Evaluate:
    """Evaluates the schedule as the daemon does, in an instance of its own."""

    def evaluation() -> ScheduleExecutionData:
        schedule = defs.resolve_schedule_def("dispatch_deliveries")
        with (
            dg.build_schedule_context(
                instance=instance,
                repository_def=defs.get_repository_def(),
                resources={"worker": (defs.resources or {})["worker"]},
            ) as context,
        ):
            return schedule.evaluate_tick(context)

    return evaluation


def test_a_tick_requests_one_run_for_each_offer(due_house: House, evaluate: Evaluate) -> None:
    data = evaluate()

    assert data.run_requests is not None
    (request,) = data.run_requests
    waiting = [one for one in due_house.history() if one.outcome is None]
    assert request.run_key == f"{waiting[0].key}#1"
    assert request.tags["queries/occurrence"] == waiting[0].key
    assert request.tags["queries/workspace"] == due_house.workspace_id
    assert {one.outcome for one in due_house.history()} == {None, "missed"}


def test_a_tick_with_nothing_to_offer_is_skipped_and_says_what_it_saw(
    due_house: House, evaluate: Evaluate
) -> None:
    evaluate()
    data = evaluate()

    assert not data.run_requests
    assert "admitted 0" in (data.skip_message or "")


def test_a_tick_beside_another_pass_is_skipped_and_names_it(
    due_house: House, evaluate: Evaluate
) -> None:
    with dispatchers.only_pass(due_house.backends.database) as alone:
        assert alone
        data = evaluate()

    assert not data.run_requests
    assert "Another pass is at work" in (data.skip_message or "")
    assert due_house.history() == []


def test_while_all_dispatching_is_stopped_a_tick_is_skipped_and_says_by_whom(
    due_house: House, evaluate: Evaluate, instance: dg.DagsterInstance
) -> None:
    stop_dispatch(due_house.backends, by=OPERATOR, name="root", reason="Too much mail.")

    data = evaluate()
    with dg.build_sensor_context(
        instance=instance,
        repository_def=defs.get_repository_def(),
        resources={"worker": (defs.resources or {})["worker"]},
    ) as context:
        looked = defs.resolve_sensor_def("offer_deliveries").evaluate_tick(context)

    assert (data.run_requests, looked.run_requests) == ([], [])
    for message in (data.skip_message, looked.skip_message):
        assert "by root: Too much mail." in (message or "")
    assert due_house.history() == []
