"""The local mailbox, in development mode only: it shows everybody's messages."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse

from queries_orchestration.communications.mailbox import Mailbox, OpenedMessage
from queries_orchestration.model.errors import NotFound
from queries_orchestration.receives.backends import Backends
from queries_orchestration.web.asked import BackendsOf
from queries_orchestration.web.pages.look import mailbox_of, page
from queries_orchestration.web.pages.visitor import VisitorOf
from queries_orchestration.web.response_headers import CONTENT_POLICY

MOST: Final = 200
FRAME_POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none';"
    " form-action 'none'; frame-ancestors 'self'; sandbox allow-popups"
    " allow-popups-to-escape-sandbox allow-top-navigation-by-user-activation allow-downloads"
)
"""A message runs no script and loads nothing; its links open where a person can see them."""

router = APIRouter(prefix="/mailbox", include_in_schema=False)


@router.get("")
def listing(request: Request, visitor: VisitorOf, backends: BackendsOf) -> Response:
    """List the messages, the newest first."""
    messages = _mailbox(backends).messages()[::-1]
    return page(
        request,
        "mailbox",
        visitor,
        messages=messages[:MOST],
        count=len(messages),
        now=backends.clock(),
    )


@router.get("/{key}")
def show(request: Request, key: str, visitor: VisitorOf, backends: BackendsOf) -> Response:
    """Show one message."""
    return page(
        request,
        "message",
        visitor,
        headers={"Content-Security-Policy": f"{CONTENT_POLICY}; frame-src 'self'"},
        message=_message(backends, key),
        key=key,
    )


@router.get("/{key}/body")
def body(key: str, _visitor: VisitorOf, backends: BackendsOf) -> Response:
    """Show what a message looks like, in a frame that may do nothing."""
    html = _message(backends, key).html
    # Its links lead the whole window, not the frame.
    shown = html.replace("<head>", '<head><base target="_top">', 1)
    return HTMLResponse(shown, headers={"Content-Security-Policy": FRAME_POLICY})


def _mailbox(backends: Backends) -> Mailbox:
    mailbox = mailbox_of(backends)
    if mailbox is None:
        raise NotFound("There is no such page.")
    return mailbox


def _message(backends: Backends, key: str) -> OpenedMessage:
    message = _mailbox(backends).open(key)
    if message is None:
        raise NotFound("There is no such message.")
    return message
