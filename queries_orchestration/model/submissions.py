"""How often a message may be submitted, and what is then known of it.

A submission without an answer may have put a copy into the recipient's mailbox. So there are at
most two, with one Message-ID and one link, where the backend cannot tell a copy by its key.
"""

from __future__ import annotations

from typing import Final, Literal

MOST_UNANSWERED: Final = 2


def unanswered_with_another(unanswered: int, *, idempotent: bool) -> int | None:
    """Return how many submissions are without an answer once another one begins; None: none may.

    Args:
        unanswered: how many are now.
        idempotent: whether the backend sends nothing for a key that it knows.
    """
    if idempotent:
        return 1
    return unanswered + 1 if unanswered < MOST_UNANSWERED else None


def state_of_given_up(unanswered: int) -> Literal["uncertain", "unsent"]:
    """Return how a delivery ends that will not be submitted again."""
    return "uncertain" if unanswered else "unsent"
