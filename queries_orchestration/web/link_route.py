"""A route of links: counted against the limits, and every failure told as a page, never as JSON."""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute

from queries_orchestration.model.errors import QueriesError, Refused
from queries_orchestration.web import link_pages
from queries_orchestration.web.asked import address_of, web_of
from queries_orchestration.web.rate_limits import TooManyRequests

log = logging.getLogger(__name__)


class LinkRoute(APIRoute):
    """Serves ``…/{token}``."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler of a request."""
        answer = super().get_route_handler()

        async def served(request: Request) -> Response:
            try:
                web_of(request).limits.count_link(address_of(request), request.path_params["token"])
                response = await answer(request)
            except TooManyRequests as error:
                response = link_pages.too_many(error.retry_after)
            except (Refused, RequestValidationError):
                response = link_pages.refused()
            except QueriesError as error:
                log.warning("link_failed method=%s code=%s", request.method, error.code)
                response = link_pages.try_again()
            if request.method == "HEAD":
                response.body = b""  # its headers stay, the length of the body among them
            return response

        return served
