"""Who looks at a page: by the header that a proxy sends, or in development by a cookie of ours.

Behind an identity-aware proxy each request brings the token itself. In development a person gives
a token once, and a cookie holds it as long as it lasts. The API never takes the cookie.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import quote, urlsplit

from fastapi import Depends, FastAPI, Request, Response
from fastapi.responses import RedirectResponse
from fastapi.security.utils import get_authorization_scheme_param

from queries_orchestration.model.audit import By
from queries_orchestration.settings import Settings
from queries_orchestration.store.people import Person
from queries_orchestration.store.workspaces import Workspace
from queries_orchestration.web.asked import Caller, address_of, caller_of_token, web_of
from queries_orchestration.web.bearer_tokens import NotSignedIn, ends_at

SIGN_IN = "/sign-in"
HOME = "/exports"


@dataclass(frozen=True, slots=True, kw_only=True)
class Visitor:
    """A caller who looks at pages; ``session`` is what the forms shown to them are bound to."""

    caller: Caller
    session: str
    by_cookie: bool

    @property
    def workspace(self) -> Workspace:
        """Where they are."""
        return self.caller.workspace

    @property
    def person(self) -> Person:
        """Who they are."""
        return self.caller.person

    @property
    def by(self) -> By:
        """How what they do is recorded."""
        return By(via="page", person_id=self.person.id)


class SignInNeeded(Exception):
    """A stranger asks for a page: they are led to the sign-in, and from there to ``back``."""

    def __init__(self, back: str) -> None:
        super().__init__()
        self.back = back


def visitor_of(request: Request) -> Visitor:
    """Return who looks at the page.

    Raises:
        SignInNeeded: nobody whom we know.
        TooManyRequests: so it is, and the address has sent too many wrong tokens.
        StoreUnavailable, KeysUnavailable: try again later.
    """
    web = web_of(request)
    scheme, token = get_authorization_scheme_param(request.headers.get("authorization"))
    by_cookie = not (scheme.lower() == "bearer" and token)
    if by_cookie:
        settings = web.backends.settings
        token = request.cookies.get(cookie_name(settings), "") if settings.demo else ""
    try:
        caller = caller_of_token(web, token)
    except NotSignedIn:
        if token:
            web.limits.count_failed_sign_in(address_of(request))
        asked = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        raise SignInNeeded(asked if request.method == "GET" else HOME) from None
    # A proxy's tokens change while a page lies open, the person does not.
    bound_to = token if by_cookie else f"{caller.workspace.id}/{caller.person.id}"
    session = hashlib.sha256(bound_to.encode()).hexdigest()
    return Visitor(caller=caller, session=session, by_cookie=by_cookie)


VisitorOf = Annotated[Visitor, Depends(visitor_of)]


def cookie_name(settings: Settings) -> str:
    """Return the name of the cookie: over https one that no other site of the domain can set."""
    return "__Host-session" if _is_secure(settings) else "session"


def keep(answer: Response, settings: Settings, token: str) -> None:
    """Let the browser keep a token that was verified, as long as it lasts."""
    answer.set_cookie(
        cookie_name(settings),
        token,
        expires=ends_at(token),
        path="/",
        secure=_is_secure(settings),
        httponly=True,
        samesite="lax",
    )


def forget(answer: Response, settings: Settings) -> None:
    """Let the browser forget the token."""
    answer.delete_cookie(
        cookie_name(settings),
        path="/",
        secure=_is_secure(settings),
        httponly=True,
        samesite="lax",
    )


def own_path(back: str) -> str:
    """Return where to go on: ``back`` if it is a path of ours, else the first page."""
    is_ours = back.startswith("/") and back.isprintable() and "\\" not in back
    return back if is_ours and not back.startswith(("//", SIGN_IN)) else HOME


def _is_secure(settings: Settings) -> bool:
    return urlsplit(settings.public_url).scheme == "https"


def install(app: FastAPI) -> None:
    """Lead strangers to the sign-in."""

    async def to_sign_in(_request: Request, error: Exception) -> Response:
        assert isinstance(error, SignInNeeded)  # noqa: S101 - what it is registered for
        return RedirectResponse(f"{SIGN_IN}?back={quote(error.back, safe='')}", status_code=303)

    app.add_exception_handler(SignInNeeded, to_sign_in)
