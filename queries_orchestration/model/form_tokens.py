"""Form tokens: that a form was made by us, for the person who sends it.

They are of another kind than the links, under the same keys.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from queries_orchestration.model.errors import LinkRefused, Refused
from queries_orchestration.model.link_keys import LinkKeys
from queries_orchestration.model.signed_tokens import TokenKind

FORM_LIFETIME: Final = timedelta(hours=12)
"""How long a page may lie open before what it asks is sent."""


class FormRefused(Refused):
    """A form that is not ours, is somebody else's or is too old: always the same answer."""

    code = "form_refused"

    def __init__(self) -> None:
        super().__init__("This page is too old or not yours: load it again, then repeat the click.")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Form:
    session: str
    expires_at: datetime


_KIND: Final = TokenKind(
    typ="queries-form+jwt",
    audience="queries/form",
    link=_Form,
    texts={"sub": "session"},
    moments={"exp": "expires_at"},
)


def sign_form(keys: LinkKeys, session: str, *, now: datetime) -> str:
    """Return the token of the forms that are shown to ``session`` at ``now``."""
    ends = (now + FORM_LIFETIME).astimezone(UTC).replace(microsecond=0)
    return _KIND.sign(keys, _Form(session=session, expires_at=ends))


def check_form(keys: LinkKeys, token: str, session: str, *, now: datetime) -> None:
    """Let a form pass that was shown to ``session``.

    Raises:
        FormRefused: it was not, or too long ago.
    """
    try:
        form = _KIND.verify(keys, token, now=now)
    except LinkRefused:
        raise FormRefused from None
    if form.session != session:
        raise FormRefused
