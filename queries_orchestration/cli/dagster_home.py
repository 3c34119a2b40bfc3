"""The Dagster home: its ``dagster.yaml`` and its storage, made once and by one process."""

from __future__ import annotations

import fcntl
import os
import shutil
from pathlib import Path
from typing import Final

from queries_orchestration.settings import Settings

_EMBEDDED_DAGSTER: Final = Path(__file__).parents[2] / "dagster.yaml"
_MADE: Final = ".storage-made"
"""Tells that Dagster's tables are there: without loading Dagster, which takes seconds."""


def dagster_home_of(settings: Settings) -> Path:
    """Return where the Dagster home is: ``DAGSTER_HOME``, else ``dagster`` in ``QUERIES_HOME``."""
    return Path(os.environ.get("DAGSTER_HOME") or settings.home / "dagster").resolve()


def make_dagster_home(settings: Settings) -> Path:
    """Return the Dagster home, with the embedded default's ``dagster.yaml`` if it has none.

    Processes that open new SQLite storage of Dagster at once can break it for good, so it is made
    here, by one of them at a time, before any other opens it.
    """
    home = dagster_home_of(settings)
    home.mkdir(parents=True, exist_ok=True)
    if (home / _MADE).exists() and (home / "dagster.yaml").exists():
        return home
    with (home / ".storage-lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (home / "dagster.yaml").exists() and _EMBEDDED_DAGSTER.exists():
            shutil.copyfile(_EMBEDDED_DAGSTER, home / "dagster.yaml")
        if not (home / _MADE).exists():
            make_storage(home)
            (home / _MADE).touch()
    return home


def make_storage(home: Path) -> None:
    """Make the storage that the ``dagster.yaml`` of ``home`` names, where there is none."""
    import dagster as dg

    with dg.DagsterInstance.from_config(str(home)) as instance:
        instance.get_runs(limit=1)
        instance.all_instigator_state()
        instance.fetch_run_status_changes(dg.DagsterEventType.RUN_START, limit=1)
