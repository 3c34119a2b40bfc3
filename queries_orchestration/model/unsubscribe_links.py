"""Unsubscribe links: which token is ours, and for whom and which schedule it speaks.

It is of another kind than a personal link, under the same keys: neither is ever taken for the
other. Nothing of it is stored; the same delivery always gives the same token again.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from queries_orchestration.model.errors import LinkRefused
from queries_orchestration.model.link_keys import LinkKeys
from queries_orchestration.model.signed_tokens import (
    TokenKind,
    is_whole_second,
    read_token,
    sign_token,
)

UNSUBSCRIBE_LIFETIME: Final = timedelta(days=60)
"""Longer than its message is of use: laws ask for 30 to 60 days."""

_TEXT_CLAIMS: Final = {
    "workspace": "workspace_id",
    "schedule": "schedule_id",
    "sub": "recipient_id",
}
_CLAIMS: Final = _TEXT_CLAIMS | {"exp": "expires_at"}
_KIND: Final = TokenKind(
    type="queries-unsubscribe+jwt",
    audience="queries/unsubscribe",
    texts=tuple(_TEXT_CLAIMS),
    moments=("exp",),
)


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


def sign(keys: LinkKeys, link: UnsubscribeLink) -> str:
    """The token of ``link``: always the same one for the same fields.

    Raises:
        InvalidSettings: the key that the link names was taken out of the setting.
    """
    claims = {claim: getattr(link, name) for claim, name in _CLAIMS.items()}
    return sign_token(keys, _KIND, key_id=link.key_id, claims=claims)


def verify(keys: LinkKeys, token: str, *, now: datetime) -> UnsubscribeLink:
    """The link that ``token`` stands for, at ``now`` (aware).

    Raises:
        LinkRefused: anything else than an unchanged, unexpired token of ours; the same answer
            whatever is wrong.
    """
    key_id, claims = read_token(keys, _KIND, token, now=now)
    try:
        return UnsubscribeLink(
            key_id=key_id, **{name: claims[claim] for claim, name in _CLAIMS.items()}
        )
    except ValueError:  # its times are no link's
        raise LinkRefused from None


def unsubscribe_url(public_url: str, token: str) -> str:
    """The address for the message; ``public_url`` is the root of our public site."""
    return f"{public_url.rstrip('/')}/u/{token}"
