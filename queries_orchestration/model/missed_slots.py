"""Which due slots are still delivered when nothing dispatched them in time."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final, Literal

MissedSlots = Literal["latest", "all", "none"]

PUNCTUAL: Final = timedelta(minutes=10)
"""Under ``none`` a slot later than this is missed; a pass each minute is never so late."""
ALL_REACHES_BACK: Final = timedelta(days=7)
"""The bound of ``all``: older slots are recorded as missed."""
BEYOND_THE_LIMIT: Final = "It was due longer ago than the schedule's lateness limit."


def is_too_late(slot: datetime, at: datetime, limit: timedelta | None) -> bool:
    """Tell whether a slot is beyond its schedule's lateness limit at ``at``."""
    return limit is not None and at - slot > limit


def why_missed(
    policy: str,
    slot: datetime,
    *,
    newest: bool,
    at: datetime,
    lateness_limit: timedelta | None,
) -> str | None:
    """Return why a due slot is recorded as missed, or None if it is delivered.

    Args:
        newest: whether no later slot of the schedule is due at ``at``.
        lateness_limit: how late a delivery may start under any policy.
    """
    late = at - slot
    if is_too_late(slot, at, lateness_limit):
        return BEYOND_THE_LIMIT
    if policy == "latest" and not newest:
        return "A newer slot was due by the time it could be dispatched."
    if policy == "all" and late > ALL_REACHES_BACK:
        return f"It was due more than {ALL_REACHES_BACK.days} days ago."
    if policy == "none" and (late > PUNCTUAL or not newest):
        return "It was not dispatched in time, and the schedule delivers no missed slots."
    return None
