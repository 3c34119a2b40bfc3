"""The metrics of the installation, for Prometheus."""

from __future__ import annotations

import hmac
from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Request, Response
from fastapi.responses import PlainTextResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

from queries_orchestration.web.asked import WebOf, address_of
from queries_orchestration.web.bearer_tokens import NotSignedIn
from queries_orchestration.web.problems import documented

router = APIRouter(tags=["health"])
_TOKEN = HTTPBearer(
    auto_error=False, scheme_name="MetricsToken", description="The value of QUERIES_METRICS_TOKEN."
)


@router.get(
    "/metrics",
    summary="How the installation does, for Prometheus",
    response_class=PlainTextResponse,
    responses=documented(404),
)
def metrics(
    web: WebOf,
    request: Request,
    token: Annotated[HTTPAuthorizationCredentials | None, Depends(_TOKEN)],
) -> Response:
    """Answer with all metrics, in the text format; one of them tells if the store does not answer.

    Raises:
        NotSignedIn: the token is another one than `QUERIES_METRICS_TOKEN`.
        HTTPException: that is not set, so that there is no such address.
        TooManyRequests: it is, and the address has sent too many wrong ones.
    """
    expected = web.backends.settings.metrics_token
    if not expected:
        raise HTTPException(404)
    given = "" if token is None else token.credentials
    if not hmac.compare_digest(given.encode(), expected.encode()):
        web.limits.count_failed_sign_in(address_of(request))
        raise NotSignedIn
    return Response(generate_latest(web.meters.registry), media_type=CONTENT_TYPE_PLAIN_0_0_4)
