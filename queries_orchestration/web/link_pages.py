"""What people see whose link gives no file: one page for every refusal, and a few others.

They stand alone: nothing is loaded for them, their only style is in them, by its hash.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from fastapi.responses import HTMLResponse
from markupsafe import Markup

from queries_orchestration.deliveries.unsubscribe import UnsubscribeOffer

if TYPE_CHECKING:
    from jinja2 import Template

RETRY_AFTER: Final = 30
"""Seconds after which to ask again when something that we need is down."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Button:
    label: str
    action: str = ""


def refused() -> HTMLResponse:
    """The one answer to a link that is not valid, has ended, or is no longer for its holder."""
    return _page(
        410,
        "This link does not work",
        "It is not complete, it has ended, or it is no longer meant for you.",
        "Open the newest message again and click the link there. If that does not help, ask whoever"
        " sends you these messages: they can send you a new one.",
    )


def try_again() -> HTMLResponse:
    """The answer when the link cannot be looked at now."""
    return _page(
        503,
        "Please try again in a minute",
        "Something that we need does not answer at the moment. Nothing is wrong with your link.",
        retry_after=RETRY_AFTER,
    )


def problem(status: int, title: str, detail: str) -> HTMLResponse:
    """The answer to what no link is asked for: another method, or too long a body."""
    return _page(status, title, detail)


def too_many(retry_after: int) -> HTMLResponse:
    """The answer to who asks too often."""
    return _page(
        429,
        "Please wait a moment",
        "This link, or your network, has asked for too much at once."
        f" Try again in {retry_after} {'second' if retry_after == 1 else 'seconds'}.",
        retry_after=retry_after,
    )


def unsubscribe(offer: UnsubscribeOffer) -> HTMLResponse:
    """Ask whether the messages are to end; looking at it changes nothing."""
    buttons = [_Button(label="Unsubscribe")]
    if offer.may_leave_all:
        buttons.append(
            _Button(label=f"Unsubscribe from all of {offer.workspace}", action="?everywhere=true")
        )
    return _page(
        200,
        f"Stop messages of “{offer.schedule}”?",
        f"{offer.workspace} will send you no more of them. Links that you already have go on"
        " working until they end.",
        buttons=buttons,
    )


def unsubscribed() -> HTMLResponse:
    """The messages have ended."""
    return _page(
        200,
        "You are unsubscribed",
        "You will get no more of these messages. To have them again, ask whoever sent them.",
    )


def _page(
    status: int,
    title: str,
    *paragraphs: str,
    buttons: list[_Button] | None = None,
    retry_after: int | None = None,
) -> HTMLResponse:
    text = _template().render(
        title=title, paragraphs=paragraphs, buttons=buttons or [], style=_style()
    )
    headers = {"Content-Security-Policy": _policy()}
    if retry_after is not None:
        headers["Retry-After"] = str(retry_after)
    return HTMLResponse(text, status, headers=headers)


@cache
def _template() -> Template:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("queries_orchestration.web"),
        autoescape=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    ).get_template("link.html.jinja")


@cache
def _style() -> Markup:
    text = files("queries_orchestration.web").joinpath("templates/link.css").read_text("utf-8")
    return Markup(text)  # noqa: S704 - a file of ours


@cache
def _policy() -> str:
    digest = base64.b64encode(sha256(_style().encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; form-action 'self'; base-uri 'none';"
        " frame-ancestors 'none'"
    )
