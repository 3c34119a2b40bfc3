"""The runs of Dagster: it removes none by itself, and each has dozens of events.

A run that went does not let its run key fire again. A key is of one offer, by its number, and the
store makes each offer once; no tick asks for a run by the keys of runs that were.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

from queries_orchestration.retention.found import Retaining
from queries_orchestration.store import kept_runs

RUNS_A_BATCH: Final = 100


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """A run of ours that has ended, and the keys of the work that its tags name."""

    run_id: str
    work: tuple[str, ...]


class RunLog(Protocol):
    """The runs that Dagster keeps."""

    def finished(self, before: datetime, *, after: str | None, limit: int) -> list[FinishedRun]:
        """Return runs of ours that ended before an instant, the oldest first.

        Args:
            after: the id of a run that is there, which they come after.
        """
        ...

    def remove(self, run_id: str) -> None:
        """Delete a run, its events and its logs."""
        ...


def remove_runs(one: Retaining, run_log: RunLog) -> None:
    """Remove the runs past ``run_days`` whose work is done."""
    before = one.before(one.backends.settings.run_days)
    last = None
    while one.goes_on("runs"):
        found = run_log.finished(before, after=last, limit=RUNS_A_BATCH)
        if not found:
            return
        with one.backends.database.across.read() as connection:
            kept = kept_runs.of_unfinished(
                connection,
                run_ids=[run.run_id for run in found],
                keys=[key for run in found for key in run.work],
            )
        for run in found:
            if run.run_id in kept.run_ids or not kept.keys.isdisjoint(run.work):
                last = run.run_id
            elif one.do:
                run_log.remove(run.run_id)
                one.add("runs", 1, [run.run_id])
            else:
                last = run.run_id
                one.add("runs", 1, [run.run_id])
