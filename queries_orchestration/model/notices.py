"""Who is told what of a schedule's failures: one message each, at the right moment."""

from __future__ import annotations

from typing import Final, Literal

NoticeKind = Literal["first_failure", "paused"]

FIRST_FAILURE: Final[NoticeKind] = "first_failure"
PAUSED: Final[NoticeKind] = "paused"

LONGEST_DELAY: Final = 6 * 3600.0
"""Seconds between two attempts to send a notice at most."""


def notice_due(*, streak: int, paused: bool) -> NoticeKind | None:
    """Return what is to be told after a failure that counts.

    A pause is told once, whatever the streak; the first failure of a streak once, unless it has
    paused the schedule already.

    Args:
        streak: failures in a row, this one among them.
        paused: whether this one has paused the schedule.
    """
    if paused:
        return PAUSED
    return FIRST_FAILURE if streak == 1 else None


def delay_after(retry_delay: float, attempts: int) -> float:
    """Return the seconds until the next attempt: each waits four times as long, to a limit.

    Args:
        retry_delay: seconds after the first one.
        attempts: how many were made.
    """
    # The power is bounded as well: attempts have no limit.
    return min(retry_delay * 4.0 ** min(attempts - 1, 20), LONGEST_DELAY)
