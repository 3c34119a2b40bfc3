"""The last resort: what nobody foresaw is an answer, and reaches the log without its words."""

from __future__ import annotations

import logging
import traceback
from pathlib import Path
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from queries_orchestration.web.problems import problem

_OURS: Final = str(Path(__file__).parents[1])

log = logging.getLogger(__name__)


class Unforeseen:
    """Answers an error that nobody foresaw with a problem.

    It stands inside what adds the headers, and lets nothing through to a server that would print
    the error whole: its text may hold anything.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        begun = False

        async def noted(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, noted)
        except Exception as error:  # noqa: BLE001 - the boundary of unforeseen errors
            log.error(  # noqa: TRY400 - without its text
                "request_failed method=%s error=%s at=%s",
                scope.get("method"),
                type(error).__name__,
                _place_of(error),
            )
            if scope["type"] != "http" or begun:
                return  # the server ends an answer that was begun
            await problem(500, "unforeseen", "Something went wrong here; it has been noted.")(
                scope, receive, send
            )


def _place_of(error: Exception) -> str:
    """Return the innermost line of ours that it came through."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if frame.filename.startswith(_OURS)] or frames
    return f"{Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else "?"
