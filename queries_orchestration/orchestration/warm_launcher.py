"""The launcher of warm workers: a run is a task of Celery, in the queue of its lane."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Final

import dagster as dg
from celery import Celery
from celery.result import AsyncResult, denied_join_result
from dagster._core.launcher import CheckRunHealthResult, LaunchRunContext, WorkerStatus
from dagster_celery.launcher import CeleryRunLauncher
from dagster_celery.tags import DAGSTER_CELERY_TASK_ID_TAG

ANSWER_SECONDS: Final = 5.0
"""How long a worker may take to say what it is at; it answers while its runs are at work."""
GONE_SECONDS: Final = 45.0
"""How long a worker may be silent while it finds its broker again: it tries every half minute."""
SILENCE_SECONDS: Final = 5.0
"""How long the broker may take for an answer; it is asked four times."""
ABOVE_ALL_RUNS: Final = 8 * 3600
"""Seconds that the state of a task is kept: longer than any run."""

_CONFIG: Final[Mapping[str, Any]] = {
    # A task is acknowledged when it begins, so only one that still waits at a worker that was
    # killed is given to another one; that of a run at work never, however long it takes. A broker
    # that is silent, as after a failover, is given up: the daemon would wait for ever.
    "broker_transport_options": {
        "visibility_timeout": 300,
        "max_retries": 3,
        "socket_timeout": SILENCE_SECONDS,
        "socket_connect_timeout": SILENCE_SECONDS,
        "socket_keepalive": True,
    },
    "redis_socket_timeout": SILENCE_SECONDS,
    "redis_socket_connect_timeout": SILENCE_SECONDS,
    "broker_connection_retry_on_startup": True,
    "result_expires": ABOVE_ALL_RUNS,
    # A run waits in its queue, where the first child takes it that is free, on whatever machine: a
    # worker whose children are all at work takes none.
    "worker_prefetch_multiplier": 1,
    "worker_disable_prefetch": True,
    # A child ends after so many runs: what libraries keep of each does not grow for ever.
    "worker_max_tasks_per_child": 200,
    # What a run prints goes to where Dagster captures it.
    "worker_redirect_stdouts": False,
    "worker_hijack_root_logger": False,
    "worker_send_task_events": False,
}


class WarmRunLauncher(CeleryRunLauncher):
    """Dagster's launcher for Celery, with what it leaves open settled.

    A run that an operator terminates is marked as being cancelled first, so that its worker
    settles the work as cancelled; a worker that is gone is found by asking it; a broker that
    has forgotten a task fails no run, since the store knows whose heartbeat is silent.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Make the launcher of an instance."""
        self._silent: dict[str, float] = {}  # since when, by run, its worker does not answer
        super().__init__(*args, **kwargs)

    def app_args(self) -> dict[str, Any]:
        """Return what the app of the launcher, and of its workers, is made of."""
        made: dict[str, Any] = super().app_args()
        return made | {"config_source": {**made["config_source"], **_CONFIG}}

    @property
    def supports_resume_run(self) -> bool:
        """Whether Dagster may begin a lost run again: no, the store offers its work again."""
        return False

    def launch_run(self, context: LaunchRunContext) -> None:
        """Put a run into the queue of its lane.

        Raises:
            OperationalError: the broker does not answer; Dagster fails the run, and the store
                offers its work again.
        """
        # Nobody waits here for what becomes of a task, so that it need not be listened to.
        with denied_join_result():
            super().launch_run(context)

    def terminate(self, run_id: str) -> bool:
        """End a run: the worker's child gets SIGTERM, which Dagster turns into an interrupt.

        One that still waits for a child is over at once: whoever takes it then leaves it alone.
        """
        run = self._instance.get_run_by_id(run_id)
        if run is None or run.is_finished:
            return False
        if run.status != dg.DagsterRunStatus.CANCELING:
            self._instance.report_run_canceling(run)
        task = self._task_of(run)
        if task:
            task.revoke(terminate=True)
        if run.status == dg.DagsterRunStatus.STARTING and (not task or task.state == "PENDING"):
            self._instance.report_run_canceled(run, "It was terminated before it began.")
        return True

    def check_run_worker_health(self, run: dg.DagsterRun) -> CheckRunHealthResult:
        """Tell whether the worker of a run that has started is still there."""
        task = self._task_of(run)
        # Forgotten at first: if the broker is away now, all workers may be finding it again later.
        silent_since = self._silent.pop(run.run_id, None)
        meta = task.backend.get_task_meta(task.id) if task else {}
        state, told = meta.get("status"), meta.get("result")
        if task and state == "STARTED" and isinstance(told, dict):
            name = told.get("hostname")
            asked = self.celery.control.inspect([name], timeout=ANSWER_SECONDS)
            answer = (asked.query_task(task.id) or {}).get(name)
            # One that was started anew answers under the same name, and knows nothing of it.
            if answer == {}:
                return self._ended(run, f"The worker {name} is not at it any more.")
            if answer is None and self._is_gone(run, silent_since):
                return self._ended(run, f"The worker {name} does not answer any more.")
        if state in ("SUCCESS", "FAILURE", "REVOKED"):
            return self._ended(run, f"Its task is over: {state}.")
        return CheckRunHealthResult(WorkerStatus.RUNNING)

    def _is_gone(self, run: dg.DagsterRun, silent_since: float | None) -> bool:
        """Whether the worker of a run, which does not answer, has not done so for long."""
        now = time.monotonic()
        if silent_since is not None and now - silent_since >= GONE_SECONDS:
            return True
        self._silent[run.run_id] = now if silent_since is None else silent_since
        return False

    def _ended(self, run: dg.DagsterRun, why: str) -> CheckRunHealthResult:
        # The run is written to its end before its task is.
        after = self._instance.get_run_by_id(run.run_id)
        if after is None or after.is_finished:
            return CheckRunHealthResult(WorkerStatus.SUCCESS)
        return CheckRunHealthResult(WorkerStatus.FAILED, why)

    def get_run_worker_debug_info(
        self, run: dg.DagsterRun, include_container_logs: bool | None = True
    ) -> str | None:
        """Return what Celery knows of the task of a run."""
        task = self._task_of(run)
        return f"Celery task {task.id}: {task.state}" if task else None

    def _task_of(self, run: dg.DagsterRun) -> AsyncResult | None:
        task_id = run.tags.get(DAGSTER_CELERY_TASK_ID_TAG)
        return self.celery.AsyncResult(task_id) if task_id else None


def app_of(instance: dg.DagsterInstance) -> Celery:
    """Return the app of an instance's launcher.

    Raises:
        DagsterInvariantViolationError: it launches otherwise.
    """
    launcher = instance.run_launcher
    if not isinstance(launcher, WarmRunLauncher):
        raise dg.DagsterInvariantViolationError(
            "The dagster.yaml of DAGSTER_HOME names no run_launcher of warm workers: take"
            " deploy/dagster.yaml."
        )
    return launcher.celery
