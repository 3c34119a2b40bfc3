"""Forms: what a person sends from a page, once it is sure that the page was ours and theirs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final
from urllib.parse import urlsplit

from fastapi import Depends, Request
from starlette.datastructures import FormData

from queries_orchestration.model.form_tokens import FormRefused, check_form
from queries_orchestration.web.asked import web_of
from queries_orchestration.web.pages.visitor import Visitor, VisitorOf

TOKEN_FIELD: Final = "form"  # noqa: S105 - the name of a field
CLICK_FIELD: Final = "click"
MOST_FIELDS: Final = 1_000
_MEDIA_TYPE: Final = "application/x-www-form-urlencoded"
"""The one that our pages send: another one's parser may fail, and writes to the log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """What somebody sent from a page that we had shown to them."""

    visitor: Visitor
    fields: FormData

    def text(self, name: str) -> str:
        """Return a field as text, without the blanks around it."""
        value = self.fields.get(name, "")
        return value.strip() if isinstance(value, str) else ""

    def texts(self, name: str) -> list[str]:
        """Return all that was chosen or written under a name."""
        return [value for value in self.fields.getlist(name) if isinstance(value, str)]

    @property
    def click(self) -> str | None:
        """Return what the page calls this click: the same one sent twice is one."""
        return self.text(CLICK_FIELD)[:200] or None

    @property
    def reason(self) -> str | None:
        """Return why, in the person's words on one line; None if they gave none."""
        return " ".join(self.text("reason").split()) or None


async def sent_of(request: Request, visitor: VisitorOf) -> Sent:
    """Return what was sent.

    Raises:
        FormRefused: another site sent it, or it is of a page that was not shown to this person.
    """
    fields = await read_form(request)
    backends = web_of(request).backends
    token = fields.get(TOKEN_FIELD)
    check_form(
        backends.link_keys,
        token if isinstance(token, str) else "",
        visitor.session,
        now=backends.clock(),
    )
    return Sent(visitor=visitor, fields=fields)


async def read_form(request: Request) -> FormData:
    """Return the fields that a page of ours sent, whoever looks at it.

    Raises:
        FormRefused: another site sent it, or it is no form as our pages send them.
    """
    check_origin(request)
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != _MEDIA_TYPE:
        raise FormRefused
    return await request.form(max_fields=MOST_FIELDS)


def check_origin(request: Request) -> None:
    """Let pass what the browser says to come from a page of ours.

    Raises:
        FormRefused: it says something else, or nothing.
    """
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is None and origin is None:
        raise FormRefused
    if site not in (None, "same-origin"):
        raise FormRefused
    settings = web_of(request).backends.settings
    public = urlsplit(settings.public_url)
    ours = {f"{public.scheme}://{public.netloc}"}
    if settings.demo:  # reached under whatever name and port
        ours.add(f"{request.url.scheme}://{request.url.netloc}")
    if origin is not None and origin not in ours:
        raise FormRefused


SentOf = Annotated[Sent, Depends(sent_of)]
