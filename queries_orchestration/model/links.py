"""Personal delivery links: which token is ours, and what it opens.

The store keeps the fields of a `DeliveryLink`, never the token: signing the same fields gives
the same token again, byte for byte. A verified token says only which link it is; whether its
recipient may still open the file is checked at the click.
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

LINK_LIFETIME: Final = timedelta(days=7)
FILE_OUTLIVES_LINK: Final = timedelta(days=2)
"""How much longer than any link to it a file is kept, so that no link outlives its file."""

# Claim name -> field of DeliveryLink; the order is part of the token's bytes.
_TEXT_CLAIMS: Final = {
    "jti": "token_id",
    "workspace": "workspace_id",
    "occurrence": "occurrence_key",
    "export": "export_id",
    "sub": "recipient_id",
}
_MOMENT_CLAIMS: Final = {"iat": "issued_at", "exp": "expires_at"}
_CLAIMS: Final = _TEXT_CLAIMS | _MOMENT_CLAIMS
_KIND: Final = TokenKind(
    type="queries-delivery-link+jwt",
    audience="queries/delivery-link",
    texts=tuple(_TEXT_CLAIMS),
    moments=tuple(_MOMENT_CLAIMS),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryLink:
    """One recipient's link to one file. Times are aware UTC in whole seconds."""

    token_id: str
    key_id: str
    workspace_id: str
    occurrence_key: str
    export_id: str
    recipient_id: str
    issued_at: datetime
    expires_at: datetime

    def __post_init__(self) -> None:
        if not is_whole_second(self.issued_at) or not is_whole_second(self.expires_at):
            raise ValueError("a link's times are UTC in whole seconds")
        if self.expires_at <= self.issued_at:
            raise ValueError("a link ends after it was issued")


def sign(keys: LinkKeys, link: DeliveryLink) -> str:
    """The token of ``link``: always the same one for the same fields.

    Raises:
        InvalidSettings: the key that the link names was taken out of the setting.
    """
    claims = {claim: getattr(link, name) for claim, name in _CLAIMS.items()}
    return sign_token(keys, _KIND, key_id=link.key_id, claims=claims)


def verify(keys: LinkKeys, token: str, *, now: datetime) -> DeliveryLink:
    """The link that ``token`` stands for, at ``now`` (aware).

    Raises:
        LinkRefused: anything else than an unchanged, unexpired token of ours; the same answer
            whatever is wrong.
    """
    key_id, claims = read_token(keys, _KIND, token, now=now)
    try:
        return DeliveryLink(
            key_id=key_id, **{name: claims[claim] for claim, name in _CLAIMS.items()}
        )
    except ValueError:  # its times are no link's
        raise LinkRefused from None


def link_url(public_url: str, token: str) -> str:
    """The address that goes into the message; ``public_url`` is the root of our public site."""
    return f"{public_url.rstrip('/')}/d/{token}"
