"""Unsubscribe links: which token is ours, and for whom and which schedule it speaks.

It is of another kind than a personal link, under the same keys: neither is ever taken for the
other. Nothing of it is stored; the same delivery always gives the same token again.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from queries_orchestration.model.signed_tokens import TokenKind, is_whole_second

UNSUBSCRIBE_LIFETIME: Final = timedelta(days=60)
"""Longer than its message is of use: laws ask for 30 to 60 days."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsubscribeLink:
    """Lets one recipient end the messages of one schedule, until ``expires_at`` (UTC seconds)."""

    key_id: str
    workspace_id: str
    schedule_id: str
    recipient_id: str
    expires_at: datetime

    def __post_init__(self) -> None:
        if not is_whole_second(self.expires_at):
            raise ValueError("a link's times are UTC in whole seconds")


_KIND: Final = TokenKind(
    typ="queries-unsubscribe+jwt",
    audience="queries/unsubscribe",
    link=UnsubscribeLink,
    texts={
        "workspace": "workspace_id",
        "schedule": "schedule_id",
        "sub": "recipient_id",
    },
    moments={"exp": "expires_at"},
    key_field="key_id",
)
sign: Final = _KIND.sign
verify: Final = _KIND.verify


def unsubscribe_url(public_url: str, token: str) -> str:
    """The address for the message; ``public_url`` is the root of our public site."""
    return f"{public_url.rstrip('/')}/u/{token}"
