"""The five-minute links to files in the local folder; an object store serves its own."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, Request, Response

from queries_orchestration.exports.open_link import redeem
from queries_orchestration.web.asked import BackendsOf
from queries_orchestration.web.file_answer import FileAnswer
from queries_orchestration.web.link_route import LinkRoute
from queries_orchestration.web.routes.links import ANYTHING, PAGES, TokenOf

router = APIRouter(tags=["links"], route_class=LinkRoute, responses=PAGES)

_FILE: Final[dict[str, Any]] = {
    "content": {"application/octet-stream": {"schema": {"type": "string"}}}
}
_ANSWERS: Final[dict[int | str, dict[str, Any]]] = {
    200: {"description": "The file, to be saved under its name.", **_FILE},
    206: {"description": "The part of it that was asked for.", **_FILE},
    416: {"description": "It has no such part.", **_FILE},
}


@router.head("/files" + ANYTHING, response_class=Response, responses=_ANSWERS)
@router.get("/files" + ANYTHING, response_class=Response, responses=_ANSWERS)
def stored_file(
    token: TokenOf,
    backends: BackendsOf,
    request: Request,
    range_: Annotated[str | None, Header(alias="Range", description="One range of bytes.")] = None,
    if_range: Annotated[str | None, Header(description="The ETag of what was begun.")] = None,
) -> Response:
    """Give the file to whoever holds its link, until five minutes after it was made."""
    file = redeem(backends.storage, token, now=backends.clock())
    asked_range = range_ if request.method == "GET" else None  # a range is of a GET alone
    return FileAnswer(file, asked_range=asked_range, if_range=if_range)
