"""What a provider of mail tells about a message after it took it.

Every state that was told is kept once; the latest in this order is how the message stands. So
events may come twice and in any order: a state never goes back.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
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


_FIRST: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LAST: Final = datetime(9998, 12, 31, tzinfo=UTC)
"""Beyond, an instant cannot be told in every zone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderEvent:
    """One message reached a state; ``at`` (aware) is when, as its provider says."""

    message_id: str
    state: MessageState
    at: datetime
    code: str | None = None

    def __post_init__(self) -> None:
        if self.at.utcoffset() is None or not _FIRST <= self.at <= _LAST:
            raise ValueError("an event's time is aware, of 1970 to 9998")


def read_moment(text: object) -> datetime | None:
    """Return the UTC instant that an ISO 8601 text with an offset says; None if it says none."""
    try:
        moment = datetime.fromisoformat(text) if isinstance(text, str) else None
        if moment is not None and moment.utcoffset() is not None and _FIRST <= moment <= _LAST:
            return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    return None


def latest_state(states: Iterable[MessageState]) -> MessageState | None:
    """Return how a message stands of which ``states`` were told; None if nothing was."""
    return max(states, key=MESSAGE_STATES.index, default=None)
