"""What an occurrence can end as, and what that does to its schedule's streak of failures."""

from __future__ import annotations

from typing import Final, Literal

Outcome = Literal[
    "delivered",
    "delivered_partly",
    "skipped_empty",
    "no_recipients",
    "failed",
    "missed",
    "cancelled",
]
DeliveryState = Literal["sending", "sent", "skipped", "refused", "uncertain", "unsent"]
"""``uncertain``: it may have been taken. ``unsent``: it was plainly not, each time it was tried."""
StreakChange = Literal["reset", "extend", "untouched"]

FAILURES_THAT_PAUSE: Final = 5


def streak_change(outcome: Outcome, *, automatic: bool) -> StreakChange:
    """Return what settling with ``outcome`` does to the schedule's streak of failures."""
    if outcome in ("delivered", "delivered_partly", "skipped_empty"):
        return "reset"
    if outcome == "failed" and automatic:
        return "extend"
    return "untouched"


def outcome_of_deliveries(states: list[DeliveryState]) -> Outcome:
    """Return how an occurrence ends once every recipient has a final state.

    ``failed`` means that every recipient who was not skipped was refused for good.
    """
    tried = [state for state in states if state != "skipped"]
    if not tried:
        return "no_recipients"
    refused = tried.count("refused")
    if refused == len(tried):
        return "failed"
    return "delivered_partly" if refused else "delivered"
