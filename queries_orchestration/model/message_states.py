"""What a provider of mail tells about a message after it took it.

Every state that was told is kept once; the latest in this order is how the message stands. So
events may come twice and in any order: a state never goes back.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

MessageState = Literal["accepted", "delayed", "delivered", "soft_bounced", "bounced", "complained"]

MESSAGE_STATES: Final[tuple[MessageState, ...]] = (
    "accepted",  # the provider took it
    "delayed",  # it goes on trying
    "delivered",  # the recipient's server took it
    "soft_bounced",  # it gave up for now: a full mailbox …
    "bounced",  # there is no such mailbox, or it refuses us for good
    "complained",  # the recipient called it unwanted
)
"""From the first to the last: a later one may follow an earlier one, never the other way round."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderEvent:
    """One message reached a state; ``at`` (aware) is when, as its provider says."""

    message_id: str
    state: MessageState
    at: datetime
    code: str | None = None

    def __post_init__(self) -> None:
        if self.at.utcoffset() is None:
            raise ValueError("an event's time is aware")


def latest_state(states: Iterable[MessageState]) -> MessageState | None:
    """Return how a message stands of which ``states`` were told; None if nothing was."""
    return max(states, key=MESSAGE_STATES.index, default=None)
