"""The launcher of warm workers, with a real Redis and no worker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest
from dagster import DagsterRunStatus as Status
from dagster._core.definitions.reconstruct import ReconstructableJob, reconstructable
from dagster._core.launcher import LaunchRunContext, WorkerStatus
from dagster._core.test_utils import create_run_for_test
from dagster_celery.tags import DAGSTER_CELERY_TASK_ID_TAG

from queries_orchestration.orchestration import warm_launcher
from queries_orchestration.orchestration.deliver_occurrence import deliver_occurrence
from queries_orchestration.orchestration.warm_launcher import WarmRunLauncher, app_of
from queries_orchestration_tests.conftest import CI
from queries_orchestration_tests.redis_server import RedisNotFound, running_redis

TASK = "a-task"


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    try:
        with running_redis(tmp_path_factory.mktemp("redis")) as url:
            yield url
    except RedisNotFound as error:
        if CI:
            raise
        pytest.skip(str(error))


@pytest.fixture
def instance(broker: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[dg.DagsterInstance]:
    monkeypatch.setattr(warm_launcher, "ANSWER_SECONDS", 0.2)
    launcher = {
        "module": "queries_orchestration.orchestration.warm_launcher",
        "class": "WarmRunLauncher",
        "config": {"broker": broker, "backend": broker, "default_queue": "upkeep"},
    }
    with dg.instance_for_test(overrides={"run_launcher": launcher}) as made:
        app_of(made).control.purge()
        yield made


def launcher_of(instance: dg.DagsterInstance) -> WarmRunLauncher:
    assert isinstance(instance.run_launcher, WarmRunLauncher)
    return instance.run_launcher


def run_in(instance: dg.DagsterInstance, status: Status, **tags: str) -> dg.DagsterRun:
    run: dg.DagsterRun = create_run_for_test(
        instance, job_name="deliver_occurrence", status=status, tags=tags or None
    )
    return run


def started(instance: dg.DagsterInstance, state: str, told: object = None) -> dg.DagsterRun:
    """A run whose task is in a state, as its worker has written."""
    app_of(instance).backend.store_result(TASK, told, state)
    return run_in(instance, Status.STARTED, **{DAGSTER_CELERY_TASK_ID_TAG: TASK})


def health(instance: dg.DagsterInstance, run: dg.DagsterRun) -> WorkerStatus:
    return launcher_of(instance).check_run_worker_health(run).status


def test_a_run_becomes_a_task_in_the_queue_of_its_lane(instance: dg.DagsterInstance) -> None:
    job: ReconstructableJob = reconstructable(deliver_occurrence)
    run = instance.create_run_for_job(
        deliver_occurrence,
        tags=deliver_occurrence.tags,
        job_code_origin=job.get_python_origin(),
    )

    launcher_of(instance).launch_run(LaunchRunContext(dagster_run=run, workspace=None))

    with app_of(instance).connection() as connection:
        queue = connection.SimpleQueue("delivery")
        assert queue.qsize() == 1
    tags = instance.get_run_by_id(run.run_id)
    assert tags is not None
    assert DAGSTER_CELERY_TASK_ID_TAG in tags.tags


def test_a_worker_that_does_not_answer_for_long_is_gone(
    instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = started(instance, "STARTED", {"hostname": "delivery@gone", "pid": 1})
    assert health(instance, run) == WorkerStatus.RUNNING
    assert health(instance, run) == WorkerStatus.RUNNING
    monkeypatch.setattr(warm_launcher, "GONE_SECONDS", 0.0)
    assert health(instance, run) == WorkerStatus.FAILED


def test_a_worker_is_no_longer_silent_because_the_broker_was_away(
    instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All workers find it again a while after it is back."""
    monkeypatch.setattr(warm_launcher, "GONE_SECONDS", 0.0)
    run = started(instance, "STARTED", {"hostname": "delivery@gone", "pid": 1})
    assert health(instance, run) == WorkerStatus.RUNNING
    with monkeypatch.context() as away:
        away.setattr(app_of(instance).backend, "get_task_meta", _refuse)
        with pytest.raises(ConnectionError):
            health(instance, run)
    assert health(instance, run) == WorkerStatus.RUNNING
    assert health(instance, run) == WorkerStatus.FAILED


def _refuse(_task_id: str) -> None:
    raise ConnectionError


def test_a_task_that_the_broker_has_forgotten_fails_no_run(instance: dg.DagsterInstance) -> None:
    run = run_in(instance, Status.STARTED, **{DAGSTER_CELERY_TASK_ID_TAG: "forgotten"})
    assert health(instance, run) == WorkerStatus.RUNNING
    assert health(instance, run_in(instance, Status.STARTED)) == WorkerStatus.RUNNING


@pytest.mark.parametrize("state", ["SUCCESS", "REVOKED"])
def test_a_task_that_is_over_leaves_no_run_that_is_not(
    instance: dg.DagsterInstance, state: str
) -> None:
    """As when Dagster's storage was away at the run's end."""
    run = started(instance, state)
    assert health(instance, run) == WorkerStatus.FAILED


def test_a_run_that_has_ended_meanwhile_is_left_alone(instance: dg.DagsterInstance) -> None:
    run = started(instance, "SUCCESS")
    instance.report_run_failed(run)
    assert health(instance, run) == WorkerStatus.SUCCESS


def test_what_an_operator_terminates_is_marked_as_being_cancelled(
    instance: dg.DagsterInstance,
) -> None:
    run = started(instance, "STARTED", {"hostname": "delivery@gone", "pid": 1})

    assert launcher_of(instance).terminate(run.run_id)

    after = instance.get_run_by_id(run.run_id)
    assert after is not None
    assert after.status == Status.CANCELING
    assert launcher_of(instance).terminate(run.run_id)  # a second click


@pytest.mark.parametrize("task", [TASK, None])
def test_what_still_waits_for_a_child_is_cancelled_at_once(
    instance: dg.DagsterInstance, task: str | None
) -> None:
    app_of(instance).backend.delete(app_of(instance).backend.get_key_for_task(TASK))
    known = {} if task is None else {DAGSTER_CELERY_TASK_ID_TAG: task}
    run = run_in(instance, Status.STARTING, **known)

    assert launcher_of(instance).terminate(run.run_id)

    after = instance.get_run_by_id(run.run_id)
    assert after is not None
    assert after.status == Status.CANCELED


def test_what_a_child_has_begun_is_left_to_it(instance: dg.DagsterInstance) -> None:
    app_of(instance).backend.store_result(TASK, {"hostname": "here", "pid": 1}, "STARTED")
    run = run_in(instance, Status.STARTING, **{DAGSTER_CELERY_TASK_ID_TAG: TASK})

    assert launcher_of(instance).terminate(run.run_id)

    after = instance.get_run_by_id(run.run_id)
    assert after is not None
    assert after.status == Status.CANCELING


def test_what_has_ended_or_is_unknown_cannot_be_terminated(instance: dg.DagsterInstance) -> None:
    run = started(instance, "SUCCESS")
    instance.report_run_failed(run)
    assert not launcher_of(instance).terminate(run.run_id)
    assert not launcher_of(instance).terminate("unknown")


def test_no_lost_run_is_begun_again_by_dagster(instance: dg.DagsterInstance) -> None:
    assert not launcher_of(instance).supports_resume_run
    assert instance.run_monitoring_max_resume_run_attempts == 0


def test_an_instance_that_launches_otherwise_has_no_app(tmp_path: Path) -> None:
    with (
        dg.instance_for_test(temp_dir=str(tmp_path)) as other,
        pytest.raises(dg.DagsterInvariantViolationError, match=r"deploy/dagster\.yaml"),
    ):
        app_of(other)
