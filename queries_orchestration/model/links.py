"""Personal delivery links: which token is ours, and what it opens.

The store keeps the fields of a `DeliveryLink`, never the token: signing the same fields gives
the same token again, byte for byte. A verified token says only which link it is; whether its
recipient may still open the file is checked at the click.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from queries_orchestration.model.signed_tokens import TokenKind, is_whole_second

LINK_LIFETIME: Final = timedelta(days=7)
FILE_OUTLIVES_LINK: Final = timedelta(days=2)
"""How much longer than any link to it a file is kept, so that no link outlives its file."""


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


_KIND: Final = TokenKind(
    typ="queries-delivery-link+jwt",
    audience="queries/delivery-link",
    link=DeliveryLink,
    texts={
        "jti": "token_id",
        "workspace": "workspace_id",
        "occurrence": "occurrence_key",
        "export": "export_id",
        "sub": "recipient_id",
    },
    moments={"iat": "issued_at", "exp": "expires_at"},
    key_field="key_id",
)
sign: Final = _KIND.sign
verify: Final = _KIND.verify


def link_url(public_url: str, token: str) -> str:
    """The address that goes into the message; ``public_url`` is the root of our public site."""
    return f"{public_url.rstrip('/')}/d/{token}"
