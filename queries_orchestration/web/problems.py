"""Errors as problem details (RFC 9457), with the same codes as the command and the history."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPMethod, HTTPStatus
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.routing import Match

from queries_orchestration.model.errors import (
    AccessLost,
    InvalidCatalog,
    InvalidDefinition,
    NotFound,
    PermanentError,
    QueriesError,
    ReceiveLost,
    Refused,
    TooManyExports,
    TransientError,
)
from queries_orchestration.web.bearer_tokens import NotSignedIn
from queries_orchestration.web.rate_limits import TooManyRequests

MEDIA_TYPE: Final = "application/problem+json"
MOST_FAULTS: Final = 100
"""Told of one request: whoever mends these asks again."""
RETRY_AFTER: Final = 5
"""Seconds after which to ask again when something that we need is down."""

_OF_CODE: Final[Mapping[str, int]] = {
    "not_allowed": 403,
    "already_paused": 409,
    "not_paused": 409,
    "schedule_ended": 409,
    "already_finished": 409,
    "already_owner": 409,
    "already_transferred": 409,
    "belongs_to_delivery": 409,
    "client_key_reused": 409,
    "name_taken": 409,
    "not_settled": 409,
    "nothing_to_resend": 409,
    "no_file": 409,
    "not_unsubscribed": 409,
    "report_not_current": 409,
    "not_ready": 409,
    "export_failed": 409,
    "cancelled": 409,
    "file_expired": 410,
    "file_gone": 410,
    "changed_meanwhile": 412,
    "if_match_required": 428,
}
_OF_CLASS: Final[tuple[tuple[type[QueriesError], int], ...]] = (
    (NotSignedIn, 401),
    (NotFound, 404),
    (AccessLost, 403),
    (TooManyExports, 429),
    (TooManyRequests, 429),
    (Refused, 422),
    (TransientError, 503),
    (ReceiveLost, 503),
    (PermanentError, 422),
)


class Problem(BaseModel):
    """Why it was not done (RFC 9457); ``code`` is stable, ``detail`` tells what to do."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    faults: list[dict[str, Any]] | None = None
    retry_after: int | None = None


_CONTENT: Final = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return how a route documents that it may answer with these problems."""
    return {
        status: {"description": HTTPStatus(status).phrase, "content": _CONTENT}
        for status in statuses
    }


DOCUMENTED: Final = documented(401, 413, 422, 429, 503)
"""What every route may answer."""


def status_of(error: QueriesError) -> int:
    """Return the HTTP status that tells an error."""
    by_code = _OF_CODE.get(error.code)
    if by_code is not None:
        return by_code
    return next((status for kind, status in _OF_CLASS if isinstance(error, kind)), 500)


def problem(
    status: int,
    code: str,
    detail: str,
    *,
    faults: list[dict[str, Any]] | None = None,
    retry_after: int | None = None,
) -> JSONResponse:
    """Return the answer that tells a problem."""
    told = Problem(
        type=f"urn:queries:problem:{code}",
        title=HTTPStatus(status).phrase,
        status=status,
        code=code,
        detail=detail,
        faults=faults,
        retry_after=retry_after,
    )
    headers = {"Retry-After": str(retry_after)} if retry_after is not None else {}
    if status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = "Bearer"
    return JSONResponse(
        told.model_dump(exclude_none=True), status, headers=headers, media_type=MEDIA_TYPE
    )


def problem_of(error: QueriesError) -> JSONResponse:
    """Return the answer that tells one of our errors."""
    status = status_of(error)
    if isinstance(error, TooManyExports | TooManyRequests):
        return problem(status, error.code, error.message, retry_after=error.retry_after)
    if isinstance(error, InvalidCatalog):
        faults = [
            {"file": fault.file, "line": fault.line, "message": fault.message}
            for fault in error.faults[:MOST_FAULTS]
        ]
        return problem(status, error.code, "The definitions have faults.", faults=faults)
    if isinstance(error, InvalidDefinition):
        faults = [
            {"pointer": fault.pointer, "message": fault.message}
            for fault in error.faults[:MOST_FAULTS]
        ]
        return problem(status, error.code, "The definition has faults.", faults=faults)
    retry_after = RETRY_AFTER if status == HTTPStatus.SERVICE_UNAVAILABLE else None
    return problem(status, error.code, error.message, retry_after=retry_after)


def _allowed(request: Request) -> list[str]:
    """Return the methods that the routes of a request's path take."""
    return [
        method
        for method in HTTPMethod
        if any(
            route.matches({**request.scope, "method": str(method)})[0] is Match.FULL
            for route in request.app.routes
        )
    ]


def install(app: FastAPI) -> None:
    """Let the application tell every error as a problem; ``unforeseen`` sees to the others."""

    async def ours(_request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, QueriesError)  # noqa: S101 - what it is registered for
        return problem_of(error)

    async def invalid(_request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)  # noqa: S101
        # What was sent is not repeated: it may hold values.
        faults = [
            {"at": "/".join(map(str, one["loc"])), "message": one["msg"]}
            for one in error.errors()[:MOST_FAULTS]
        ]
        return problem(422, "invalid_request", "The request has faults.", faults=faults)

    async def http(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)  # noqa: S101
        code = HTTPStatus(error.status_code).name.lower()
        answer = problem(error.status_code, code, HTTPStatus(error.status_code).description)
        answer.headers.update(error.headers or {})
        if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            answer.headers["Allow"] = ", ".join(
                _allowed(request)
            )  # the framework names one route's
        return answer

    app.add_exception_handler(QueriesError, ours)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, http)
