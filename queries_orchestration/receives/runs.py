"""What Dagster says of the run of an offer or of a receive; asked, never believed blindly."""

from __future__ import annotations

from typing import Literal, Protocol

from queries_orchestration.store.offers import Offer

RunState = Literal["pending", "working", "cancelled", "ended", "unknown"]
"""``pending``: queued or starting; ``ended``: failed or succeeded; ``unknown``: no such run."""


class Runs(Protocol):
    """Looks runs up in Dagster."""

    def of_offer(self, offer: Offer) -> RunState:
        """Return the state of the run that was launched for ``offer``."""
        ...

    def of_receive(self, run_id: str) -> RunState:
        """Return the state of a run."""
        ...

    def report_lost(self, run_id: str) -> None:
        """Report a run whose worker is gone as failed, so that its place is freed."""
        ...
