"""Routes of links: counted against the limits, and every failure told as a page, never as JSON."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, Final

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute

from queries_orchestration.deliveries.public_link import link_of_token
from queries_orchestration.model.errors import QueriesError, Refused, StoreUnavailable
from queries_orchestration.web import link_pages
from queries_orchestration.web.asked import address_of, web_of
from queries_orchestration.web.rate_limits import TooManyRequests

log = logging.getLogger(__name__)

PATIENCE_SECONDS: Final = 25.0
MOST_WAITING: Final = 200

Answer = Callable[[Request], Coroutine[Any, Any, Response]]


class LinkRoute(APIRoute):
    """Serves ``…/{token}``."""

    def get_route_handler(self) -> Answer:
        """Return the handler of a request."""
        answer = self.answer()

        async def served(request: Request) -> Response:
            refusals = web_of(request).meters.link_refusals
            try:
                web_of(request).limits.count_link(address_of(request), request.path_params["token"])
                response = await answer(request)
            except TooManyRequests as error:
                refusals.count("too_many")
                response = link_pages.too_many(error.retry_after)
            except (Refused, RequestValidationError):
                refusals.count("refused")
                response = link_pages.refused()
            except QueriesError as error:
                log.warning("link_failed method=%s code=%s", request.method, error.code)
                refusals.count("try_again")
                response = link_pages.try_again()
            except asyncio.CancelledError:  # the server ends, and waits for nobody any longer
                response = link_pages.try_again()
            if request.method == "HEAD":
                response.body = b""  # its headers stay, the length of the body among them
            return response

        return served

    def answer(self) -> Answer:
        """Return what answers a request that is within the limits."""
        return super().get_route_handler()


class ClickRoute(LinkRoute):
    """Serves ``/d/{token}``: clicks are many, and come all at once.

    Its endpoint takes ``(token, request)``, and finds which link that is in ``request.state.link``:
    what is no link of ours needs no thread. It is called without all that the framework can do
    around one, and on a few threads of its own: more would wait for each other, and those that the
    API and the pages have are left to them. While what a click needs does not answer, no more than
    some wait, and not for long.
    """

    def answer(self) -> Answer:
        """Return what answers a request that is within the limits."""
        endpoint: Callable[[str, Request], Response] = self.endpoint

        async def answered(request: Request) -> Response:
            web, token = web_of(request), request.path_params["token"]
            request.state.link = link_of_token(web.backends, token)
            if web.clicks.waiting >= MOST_WAITING:
                raise _busy()
            web.clicks.waiting += 1
            try:
                clicked = asyncio.get_running_loop().run_in_executor(
                    web.clicks.threads, endpoint, token, request
                )
                return await asyncio.wait_for(clicked, PATIENCE_SECONDS)
            except TimeoutError:
                raise _busy() from None
            finally:
                web.clicks.waiting -= 1

        return answered


def _busy() -> StoreUnavailable:
    return StoreUnavailable("Too many clicks wait for the database or the storage.")
