"""A pass that does not look into Dagster."""

from __future__ import annotations

from queries_orchestration.receives.runs import RunState
from queries_orchestration.store.offers import Offer


class NoRuns:
    """Knows of no run: for a process that does not look into Dagster."""

    def of_offer(self, offer: Offer) -> RunState:
        return "unknown"

    def of_receive(self, run_id: str) -> RunState:
        return "unknown"

    def report_lost(self, run_id: str) -> None:
        """Do nothing: there is no run to report."""
