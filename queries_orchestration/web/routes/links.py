"""The links of messages: to a recipient's file, and to have no more messages."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from starlette.convertors import Convertor, register_url_convertor

from queries_orchestration.deliveries.public_link import open_link
from queries_orchestration.deliveries.unsubscribe import unsubscribe, unsubscribe_offer
from queries_orchestration.model.links import DeliveryLink
from queries_orchestration.web import link_pages
from queries_orchestration.web.asked import BackendsOf, web_of
from queries_orchestration.web.link_route import ClickRoute, LinkRoute


class _Anything(Convertor[str]):
    """All that follows, line ends too, which ``path`` stops at."""

    regex = "(?s:.*)"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("anything", _Anything())
# All that follows is the token, so that whatever is asked for has the same answer.
ANYTHING: Final = "/{token:anything}"
TokenOf = Annotated[str, Path(description="The token of the link.")]

_PAGE: Final[dict[str, Any]] = {"content": {"text/html": {"schema": {"type": "string"}}}}
PAGES: Final[dict[int | str, dict[str, Any]]] = {
    413: {"description": "More than a link is ever sent with.", **_PAGE},
    410: {"description": "The link does not work, whatever is wrong with it.", **_PAGE},
    429: {"description": "The address, or the link, asks too often.", **_PAGE},
    503: {"description": "Try again later.", **_PAGE},
}

click_router = APIRouter(tags=["links"], route_class=ClickRoute, responses=PAGES)
router = APIRouter(tags=["links"], route_class=LinkRoute, responses=PAGES)


@click_router.head("/d" + ANYTHING, status_code=302, response_class=RedirectResponse)
@click_router.get("/d" + ANYTHING, status_code=302, response_class=RedirectResponse)
def personal_link(token: TokenOf, request: Request) -> RedirectResponse:  # noqa: ARG001 - told
    """Lead a recipient to their file by a link of five minutes, made for this request.

    A GET that is answered so is a download, and recorded; a HEAD is not.
    """
    link: DeliveryLink = request.state.link
    opened = open_link(web_of(request).backends, link, record=request.method == "GET")
    return RedirectResponse(opened.url, status_code=302)


@router.head("/u" + ANYTHING, response_class=HTMLResponse)
@router.get("/u" + ANYTHING, response_class=HTMLResponse)
def ask_to_unsubscribe(token: TokenOf, backends: BackendsOf) -> Response:
    """Ask whether the messages are to end; this changes nothing."""
    return link_pages.unsubscribe(unsubscribe_offer(backends, token))


@router.post("/u" + ANYTHING, response_class=HTMLResponse)
def end_messages(
    token: TokenOf,
    backends: BackendsOf,
    everywhere: Annotated[
        str, Query(description="`true`: all messages of the workspace, for an outside address.")
    ] = "",
) -> Response:
    """End the messages, by the page's button or a mail program's one click (RFC 8058).

    Whoever holds the link may: no login, no cookie, and whatever the body says.
    """
    unsubscribe(backends, token, everywhere=everywhere == "true")
    return link_pages.unsubscribed()
