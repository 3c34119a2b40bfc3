"""The app that `celery --app queries_orchestration.orchestration.warm_worker worker` runs.

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
from dagster_celery.tasks import create_execute_job_task

from queries_orchestration import code_location  # noqa: F401 - loaded for the children
from queries_orchestration.orchestration.warm_launcher import app_of

_DIE_WITH_PARENT: Final = 1  # PR_SET_PDEATHSIG of prctl(2)

with dg.DagsterInstance.get() as _instance:
    app = app_of(_instance)
execute_job = create_execute_job_task(app)


@signals.worker_process_init.connect
def end_with_the_worker(**_told: Any) -> None:
    """Let a child end with its worker, however that ends: else nobody would know of its runs."""
    if hasattr(signal, "SIGKILL") and (prctl := getattr(ctypes.CDLL(None), "prctl", None)):
        prctl(_DIE_WITH_PARENT, signal.SIGKILL)


@signals.task_postrun.connect
def listen_to_stops(**_told: Any) -> None:
    """Let a child be stopped again: a run of Dagster leaves SIGTERM ignored, as SIGINT is here."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
