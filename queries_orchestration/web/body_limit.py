"""A bound on what a request may send, before anything reads it."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from queries_orchestration.web.problems import problem

MOST_BYTES: Final = 8 * 1024 * 1024
"""The largest catalog file that is read."""


class _TooLarge(Exception):
    pass


class BodyLimit:
    """Refuses a body of more than ``MOST_BYTES``, whatever its headers say."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = problem(413, "too_large", f"A request has at most {MOST_BYTES} bytes.")
        declared = dict(scope["headers"]).get(b"content-length", b"0")
        if declared.isdigit() and int(declared) > MOST_BYTES:
            await answer(scope, receive, send)
            return
        taken = 0
        begun = False

        async def counted() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > MOST_BYTES:
                raise _TooLarge
            return message

        async def noted(message: Message) -> None:
            nonlocal begun
            if taken > MOST_BYTES and not begun:
                return  # what reads a body tells any error as one of its own
            begun = True
            await send(message)

        with suppress(_TooLarge):
            await self._app(scope, counted, noted)
        if taken > MOST_BYTES and not begun:
            await answer(scope, receive, send)
