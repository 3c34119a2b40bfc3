"""Each request, observed: what it logs says whose it is, and it is a trace of its own."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from queries_orchestration.observing.about import about
from queries_orchestration.observing.traces import span


class Observed:
    """Stands around the routes; of an address it tells the route, never what stands in it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        with about(), span("request", method=scope["method"]) as tell:

            async def noted(message: Message) -> None:
                if message["type"] == "http.response.start":
                    tell("route", getattr(scope.get("route"), "path", "-"))
                    tell("status", message["status"])
                await send(message)

            await self._app(scope, receive, noted)
