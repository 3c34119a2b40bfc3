"""Problems as pages: what a person's browser gets where a program would get problem details."""

from __future__ import annotations

import json
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from queries_orchestration.web import link_pages
from queries_orchestration.web.pages.look import page
from queries_orchestration.web.problems import MEDIA_TYPE

_FOR_PROGRAMS: Final = ("/api/", "/webhooks/", "/healthz", "/readyz", "/metrics")
_LINKS: Final = ("/d/", "/u/", "/files/")
"""What stands there is a token: its page loads nothing, and tells no other address of it."""
_KEPT: Final = ("allow", "retry-after", "www-authenticate")


class ProblemPages:
    """Turns each problem that a page's path is answered with into a page of the same words."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http" or scope["path"].startswith(_FOR_PROGRAMS):
            await self._app(scope, receive, send)
            return
        start: Message | None = None
        body = b""

        async def turned(message: Message) -> None:
            nonlocal start, body
            if message["type"] == "http.response.start":
                if Headers(raw=message["headers"]).get("content-type") != MEDIA_TYPE:
                    await send(message)
                    return
                start = message
            elif start is None:
                await send(message)
            else:
                body += message.get("body", b"")
                if not message.get("more_body", False):
                    await _problem_page(scope, start, body)(scope, receive, send)

        await self._app(scope, receive, turned)


def _problem_page(scope: Scope, start: Message, body: bytes) -> ASGIApp:
    told = json.loads(body) if body else {"title": "", "code": "", "detail": ""}
    if scope["path"].startswith(_LINKS):
        answer: Response = link_pages.problem(start["status"], told["title"], told["detail"])
    else:
        answer = page(Request(scope), "problem", None, status=start["status"], told=told)
    headers = MutableHeaders(raw=start["headers"])
    answer.headers.update({name: headers[name] for name in _KEPT if name in headers})
    return answer
