"""Sign in with a token of the development mode, and out again."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import RedirectResponse
from starlette.datastructures import FormData

from queries_orchestration.web.asked import address_of, caller_of_token, web_of
from queries_orchestration.web.bearer_tokens import NotSignedIn
from queries_orchestration.web.pages import visitor as visitors
from queries_orchestration.web.pages.forms import SentOf, read_form
from queries_orchestration.web.pages.look import page
from queries_orchestration.web.pages.visitor import (
    HOME,
    SIGN_IN,
    SignInNeeded,
    forget,
    keep,
    own_path,
)

router = APIRouter(include_in_schema=False)


@router.get("/")
def first() -> RedirectResponse:
    """Lead to the first page."""
    return RedirectResponse(HOME, status_code=303)


@router.get(SIGN_IN)
def show(request: Request, back: str = HOME) -> Response:
    """Ask who somebody is, or lead on who is signed in."""
    try:
        visitors.visitor_of(request)
    except SignInNeeded:
        return _asking(request, back)
    return RedirectResponse(own_path(back), status_code=303)


@router.post(SIGN_IN)
def sign_in(request: Request, fields: Annotated[FormData, Depends(read_form)]) -> Response:
    """Take a token, and lead on whom it speaks for.

    Raises:
        FormRefused: another site sent it.
        TooManyRequests: the address has sent too many tokens that are not valid.
    """
    token, back = _text(fields, "token"), _text(fields, "back")
    web = web_of(request)
    if not web.backends.settings.demo:
        return _asking(request, back)
    try:
        caller_of_token(web, token)
    except NotSignedIn as error:
        web.limits.count_failed_sign_in(address_of(request))
        return _asking(request, back, problem=error)
    answer = RedirectResponse(own_path(back), status_code=303)
    keep(answer, web.backends.settings, token)
    return answer


@router.post("/sign-out")
def sign_out(request: Request, sent: SentOf) -> Response:
    """Forget who it was."""
    answer = RedirectResponse(SIGN_IN, status_code=303)
    if sent.visitor.by_cookie:
        forget(answer, web_of(request).backends.settings)
    return answer


def _text(fields: FormData, name: str) -> str:
    value = fields.get(name)
    return value.strip() if isinstance(value, str) else ""


def _asking(request: Request, back: str, *, problem: NotSignedIn | None = None) -> Response:
    takes_tokens = web_of(request).backends.settings.demo
    refused = problem is not None or not takes_tokens
    return page(
        request,
        "sign_in",
        None,
        status=401 if refused else 200,
        headers={"WWW-Authenticate": "Bearer"} if refused else {},
        problem=problem,
        back=own_path(back),
        takes_tokens=takes_tokens,
    )
