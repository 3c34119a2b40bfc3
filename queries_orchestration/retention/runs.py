"""The runs of Dagster: it removes none by itself, and each has dozens of events.

A run that went does not let its run key fire again. A key is of one offer, by its number, and the
store makes each offer once; no tick asks for a run by the keys of runs that were.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

from queries_orchestration.model.errors import QueriesError
from queries_orchestration.receives.boundary import unforeseen_told
from queries_orchestration.retention.found import Retaining
from queries_orchestration.store import kept_runs

RUNS_A_BATCH: Final = 100
FAULTS: Final = 10
"""Runs that Dagster, or where its logs are, does not remove, after which the rest is left."""


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
    """Remove the runs past ``run_days`` whose work is done; one that does not go keeps no other.

    Raises:
        QueriesError: some did not go, for what the last of them says.
    """
    before = one.before(one.backends.settings.run_days)
    last: str | None = None
    fault: QueriesError | None = None
    faults = 0
    while faults < FAULTS and one.goes_on("runs"):
        found = run_log.finished(before, after=last, limit=RUNS_A_BATCH)
        if not found:
            break
        with one.backends.database.across.read() as connection:
            kept = kept_runs.of_unfinished(
                connection,
                run_ids=[run.run_id for run in found],
                keys=[key for run in found for key in run.work],
            )
        for run in found:
            if run.run_id in kept.run_ids or not kept.keys.isdisjoint(run.work):
                last = run.run_id
            elif not one.do:
                last = run.run_id
                one.add("runs", 1, [run.run_id])
            elif faults < FAULTS:
                try:
                    with unforeseen_told(run.run_id):
                        run_log.remove(run.run_id)
                except QueriesError as error:
                    last, fault, faults = run.run_id, error, faults + 1
                else:
                    one.add("runs", 1, [run.run_id])
    if fault is not None:
        raise fault
