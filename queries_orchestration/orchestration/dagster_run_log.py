"""The finished runs of a Dagster instance, found and removed with all that it keeps of them."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Final

import dagster as dg
from dagster import DagsterRunStatus as Status

from queries_orchestration.orchestration import tags
from queries_orchestration.retention.runs import FinishedRun

_FINISHED: Final = [Status.SUCCESS, Status.FAILURE, Status.CANCELED]


class DagsterRunLog:
    """Finds the runs of ours in one instance: those that carry the tag of a lane."""

    def __init__(self, instance: dg.DagsterInstance) -> None:
        self._instance = instance

    def finished(self, before: datetime, *, after: str | None, limit: int) -> list[FinishedRun]:
        """Return runs of ours that ended before an instant, the oldest first."""
        ours = dg.RunsFilter(
            tags={tags.LANE: list(tags.LANES)}, statuses=_FINISHED, updated_before=before
        )
        found = self._instance.get_runs(ours, cursor=after, limit=limit, ascending=True)
        return [FinishedRun(run.run_id, tuple(_work(run))) for run in found]

    def remove(self, run_id: str) -> None:
        """Delete a run, its events and its logs.

        The run comes after these, so that a kill leaves it to be found again.
        """
        # Imported here: it loads Alembic.
        from dagster._core.storage.event_log import SqliteEventLogStorage

        self._instance.compute_log_manager.delete_logs(prefix=[run_id])
        events = self._instance.event_log_storage
        events.delete_events(run_id)
        self._instance.run_storage.delete_run(run_id)
        if isinstance(events, SqliteEventLogStorage):
            # A file for each run, which Dagster empties and leaves there. Last, since this process
            # could not ask Dagster for the events of the run again.
            Path(events.path_for_shard(run_id)).unlink(missing_ok=True)


def _work(run: dg.DagsterRun) -> list[str]:
    return [run.tags[tag] for tag in (tags.OCCURRENCE, tags.EXPORT) if tag in run.tags]
