"""What providers of mail tell of messages; who may is decided by their signatures alone."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import APIRouter, Header, Request, Response
from starlette.concurrency import run_in_threadpool

from queries_orchestration.communications.webhook import SignedRequest
from queries_orchestration.deliveries.provider_events import take_sns, take_webhook
from queries_orchestration.web.asked import WebOf

router = APIRouter(prefix="/webhooks", tags=["webhooks"])

_BODY: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": {"type": "object"}}},
    }
}


_MOST_BYTES: Final = 1024 * 1024
"""More than any of them may have: what is longer is read no further, and refused as too long."""


@router.post("/ses", status_code=204, openapi_extra=_BODY)
async def amazon_ses(request: Request, web: WebOf) -> Response:
    """Take a message of a topic of Amazon SNS: an event of SES, or that the topic is subscribed."""
    body = await _body(request)
    await run_in_threadpool(take_sns, web.backends, web.sns, body, fetch=web.fetch)
    return Response(status_code=204)


@router.post("/messages", status_code=204, openapi_extra=_BODY)
async def other_providers(
    request: Request,
    web: WebOf,
    key: Annotated[str, Header(alias="Queries-Key", description="Id of the signing key.")] = "",
    timestamp: Annotated[
        str, Header(alias="Queries-Timestamp", description="Now, in seconds since 1970.")
    ] = "",
    signature: Annotated[
        str,
        Header(
            alias="Queries-Signature",
            description="HMAC-SHA256 of `<timestamp>.<body>`, in hexadecimal.",
        ),
    ] = "",
) -> Response:
    """Take what another provider tells of messages."""
    signed = SignedRequest(
        key_id=key, timestamp=timestamp, signature=signature, body=await _body(request)
    )
    await run_in_threadpool(take_webhook, web.backends, signed)
    return Response(status_code=204)


async def _body(request: Request) -> bytes:
    read = bytearray()
    async for chunk in request.stream():
        read += chunk
        if len(read) > _MOST_BYTES:
            break
    return bytes(read)
