"""What a route is given: the backends, and who asks."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from queries_orchestration.communications.https_fetch import https_fetch
from queries_orchestration.communications.sns_signatures import Fetch, SnsSignatures
from queries_orchestration.model.audit import By
from queries_orchestration.observing.about import learn
from queries_orchestration.receives.backends import Backends
from queries_orchestration.store import people, workspaces
from queries_orchestration.store.people import Person
from queries_orchestration.store.workspaces import Workspace
from queries_orchestration.web.bearer_tokens import NotSignedIn, TokenVerifier
from queries_orchestration.web.meters import Meters
from queries_orchestration.web.rate_limits import RateLimits

_BEARER = HTTPBearer(auto_error=False, bearerFormat="JWT", description="A token of the caller.")


@dataclass(slots=True)
class Clicks:
    """The threads that look personal links up, and how many requests wait for them."""

    threads: ThreadPoolExecutor
    waiting: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Web:
    """All that routes share; ``fetch`` is how a subscription to a topic of SNS is confirmed."""

    backends: Backends
    verifier: TokenVerifier
    limits: RateLimits
    sns: SnsSignatures
    clicks: Clicks
    meters: Meters
    fetch: Fetch = https_fetch


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who asks, as the store knows them at this request."""

    workspace: Workspace
    person: Person

    @property
    def by(self) -> By:
        """Who asks, for what they ask for by the API."""
        return By(via="api", person_id=self.person.id)


def web_of(request: Request) -> Web:
    """Return what the routes share."""
    web: Web = request.app.state.web
    return web


# Not left to a thread, as what may wait is: these only look.
async def _web(request: Request) -> Web:
    return web_of(request)


async def _backends(request: Request) -> Backends:
    return web_of(request).backends


def backends_of(request: Request) -> Backends:
    """Return the backends."""
    return web_of(request).backends


def address_of(request: Request) -> str:
    """Return the network address that asks, as the server has it: of a proxy if it trusts none."""
    return request.client.host if request.client is not None else ""


def caller_of(
    request: Request,
    bearer: Annotated[HTTPAuthorizationCredentials | None, Depends(_BEARER)],
) -> Caller:
    """Return whom the request's token speaks for.

    A valid token is served always: nobody is locked out by others at the same address.

    Raises:
        NotSignedIn: there is no token, it is not valid, or its person is not active here.
        TooManyRequests: so it is, and the address has sent too many of them.
    """
    web = web_of(request)
    try:
        return caller_of_token(web, "" if bearer is None else bearer.credentials)
    except NotSignedIn:
        web.limits.count_failed_sign_in(address_of(request))
        raise


def caller_of_token(web: Web, token: str) -> Caller:
    """Return whom a token speaks for, with the rights that they have now.

    Raises:
        NotSignedIn: it is not valid, or its person is not active in its workspace: always the
            same answer.
        StoreUnavailable, KeysUnavailable: try again later.
    """
    named = web.verifier.verify(token)
    with web.backends.database.across.read() as connection:
        workspace = workspaces.by_name(connection, named.workspace)
        person = people.by_name(connection, workspace.id, named.person) if workspace else None
    if workspace is None or person is None or not person.active:
        raise NotSignedIn
    learn(workspace=workspace.id)
    return Caller(workspace=workspace, person=person)


BackendsOf = Annotated[Backends, Depends(_backends)]
CallerOf = Annotated[Caller, Depends(caller_of)]
WebOf = Annotated[Web, Depends(_web)]
