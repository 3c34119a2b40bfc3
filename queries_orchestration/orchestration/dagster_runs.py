"""What a Dagster instance says of runs, in the words of recovery."""

from __future__ import annotations

from typing import Final

import dagster as dg
from dagster import DagsterRunStatus as Status

from queries_orchestration.orchestration import tags
from queries_orchestration.orchestration.tags import work_tag
from queries_orchestration.receives.runs import RunState
from queries_orchestration.store.offers import Offer

_PENDING: Final = (Status.NOT_STARTED, Status.MANAGED, Status.QUEUED, Status.STARTING)
_CANCELLED: Final = (Status.CANCELING, Status.CANCELED)


class DagsterRuns:
    """Looks runs up in one instance."""

    def __init__(self, instance: dg.DagsterInstance) -> None:
        self._instance = instance

    def of_offer(self, offer: Offer) -> RunState:
        """Return the state of the newest run that carries the offer's key and number."""
        carrying = {
            work_tag(offer.lane): offer.key,
            tags.OFFER: str(offer.number),
            tags.LANE: offer.lane,  # a delivery and its render name each other, too
        }
        runs = self._instance.get_runs(filters=dg.RunsFilter(tags=carrying), limit=1)
        return _state(runs[0].status) if runs else "unknown"

    def of_receive(self, run_id: str) -> RunState:
        """Return the state of a run."""
        run = self._instance.get_run_by_id(run_id)
        return "unknown" if run is None else _state(run.status)

    def report_lost(self, run_id: str) -> None:
        """Report a run whose worker is gone as failed, so that its place is freed."""
        run = self._instance.get_run_by_id(run_id)
        if run is not None and not run.is_finished:
            self._instance.report_run_failed(
                run, "Its worker was lost: no heartbeat. The store offers the work again."
            )


def _state(status: Status) -> RunState:
    if status in _PENDING:
        return "pending"
    if status in _CANCELLED:
        return "cancelled"
    return "working" if status == Status.STARTED else "ended"
