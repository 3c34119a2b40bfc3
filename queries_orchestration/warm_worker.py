"""The app that `celery --app queries_orchestration.warm_worker worker` runs.

Its broker is that of the launcher in the dagster.yaml of DAGSTER_HOME. The definitions are loaded
here, once, before the worker makes its children: they share that memory, and no run waits for an
import.
"""

from __future__ import annotations

import ctypes
import signal
from typing import Any, Final

import dagster as dg
from celery import signals
from dagster._cli.api import _execute_run_command_body
from dagster._grpc.types import ExecuteRunArgs
from dagster._serdes import unpack_value
from dagster_celery.config import TASK_EXECUTE_JOB_NAME

from queries_orchestration import code_location  # noqa: F401 - loaded for the children
from queries_orchestration.orchestration.warm_launcher import app_of

STATEMENT_SECONDS: Final = 60
RECYCLE_SECONDS: Final = 300
_DIE_WITH_PARENT: Final = 1  # PR_SET_PDEATHSIG of prctl(2)

with dg.DagsterInstance.get() as _instance:
    app = app_of(_instance)


@app.task(name=TASK_EXECUTE_JOB_NAME, track_started=True)  # type: ignore[untyped-decorator]
def execute_job(execute_job_args_packed: Any) -> int:
    """Work a run, as dagster-celery's own task does, with connections kept from event to event.

    A run writes some fifty times to Dagster's storage; a connection for each of them would cost
    as much as all else that is done.
    """
    args = unpack_value(execute_job_args_packed, as_type=ExecuteRunArgs)
    with dg.DagsterInstance.get() as instance:
        instance.optimize_for_webserver(
            statement_timeout=STATEMENT_SECONDS * 1_000,
            pool_recycle=RECYCLE_SECONDS,
            max_overflow=10,
        )
        try:
            return _execute_run_command_body(
                instance=instance,
                run_id=args.run_id,
                write_stream_fn=lambda _event: None,
                set_exit_code_on_failure=True,
            )
        finally:
            _give_up_connections(instance)


def _give_up_connections(instance: dg.DagsterInstance) -> None:
    """Close what the instance of a run keeps, which Dagster leaves to the garbage collector."""
    stores = (instance.run_storage, instance.event_log_storage, instance.schedule_storage)
    for store in stores:
        if engine := getattr(store, "_engine", None):
            engine.dispose()


@signals.worker_process_init.connect  # type: ignore[untyped-decorator]
def end_with_the_worker(**_told: Any) -> None:
    """Let a child end with its worker, however that ends: else nobody would know of its runs."""
    if hasattr(signal, "SIGKILL") and (prctl := getattr(ctypes.CDLL(None), "prctl", None)):
        prctl(_DIE_WITH_PARENT, signal.SIGKILL)


@signals.task_postrun.connect  # type: ignore[untyped-decorator]
def listen_to_stops(**_told: Any) -> None:
    """Let a child be stopped again: a run of Dagster leaves SIGTERM ignored, as SIGINT is here."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
