"""How pages come to look: the templates, and what all of them are given."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Final

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from queries_orchestration.communications.mailbox import Mailbox
from queries_orchestration.model.errors import QueriesError
from queries_orchestration.model.form_tokens import sign_form
from queries_orchestration.model.ids import new_id
from queries_orchestration.receives.backends import Backends
from queries_orchestration.web.asked import web_of
from queries_orchestration.web.pages import words
from queries_orchestration.web.pages.static import address_of
from queries_orchestration.web.pages.visitor import Visitor

HEADERS: Final = {
    # Without it browsers call the origin of our own forms `null`. No address of a page is a secret.
    "Referrer-Policy": "same-origin",
    "Vary": "Cookie, Authorization",
}


@cache
def templates() -> Environment:
    """Return the templates; every value is escaped, and a name that is missing is an error."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= words.FILTERS
    environment.globals |= {"asset": address_of, "new_click": new_id, "words": words}
    return environment


def page(
    request: Request,
    template: str,
    visitor: Visitor | None,
    *,
    status: int = 200,
    problem: QueriesError | None = None,
    headers: dict[str, str] | None = None,
    **told: Any,
) -> HTMLResponse:
    """Return a page.

    Args:
        visitor: who looks at it; None: anybody.
        problem: why what they asked for was not done.
    """
    backends = web_of(request).backends
    token = visitor and sign_form(backends.link_keys, visitor.session, now=backends.clock())
    html = (
        templates()
        .get_template(f"{template}.jinja")
        .render(
            visitor=visitor,
            form_token=token,
            path=request.url.path,
            shows_mailbox=mailbox_of(backends) is not None,
            problem=problem,
            **told,
        )
    )
    return HTMLResponse(html, status, headers=HEADERS | (headers or {}))


def mailbox_of(backends: Backends) -> Mailbox | None:
    """Return the local mailbox, which holds everybody's messages: in development mode only."""
    mailbox = backends.communications
    return mailbox if backends.settings.demo and isinstance(mailbox, Mailbox) else None
