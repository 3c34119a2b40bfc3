"""A bound on what a request may send, before anything reads it."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from queries_orchestration.web.problems import problem

MOST_BYTES: Final = 256 * 1024
"""More than any form or definition has: reading JSON holds up all other requests meanwhile."""
LARGER: Final = {
    "/api/v1/catalog/apply": 8 * 1024 * 1024,  # the largest catalog file that is read
    "/api/v1/exports": 1024 * 1024,  # runtime values can be long lists
    # These read no more than they may have, and answer too much as any other wrong message.
    "/webhooks/ses": 8 * 1024 * 1024,
    "/webhooks/messages": 8 * 1024 * 1024,
}


class _TooLarge(Exception):
    pass


class BodyLimit:
    """Refuses a body of more bytes than its route takes, whatever its headers say."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        most = LARGER.get(scope["path"], MOST_BYTES)
        answer = problem(413, "too_large", f"A request has at most {most} bytes here.")
        declared = dict(scope["headers"]).get(b"content-length", b"0")
        if declared.isdigit() and int(declared) > most:
            await answer(scope, receive, send)
            return
        taken = 0
        begun = False

        async def counted() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > most:
                raise _TooLarge
            return message

        async def noted(message: Message) -> None:
            nonlocal begun
            if taken > most and not begun:
                return  # what reads a body tells any error as one of its own
            begun = True
            await send(message)

        with suppress(_TooLarge):
            await self._app(scope, counted, noted)
        if taken > most and not begun:
            await answer(scope, receive, send)
