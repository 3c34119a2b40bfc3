"""The application: which routes there are, what stands around all of them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Final

from fastapi import FastAPI

from queries_orchestration.deliveries.provider_events import sns_signatures_of, webhook_keys_of
from queries_orchestration.receives.backends import Backends
from queries_orchestration.web import openapi, problems
from queries_orchestration.web.asked import Clicks, Web
from queries_orchestration.web.bearer_tokens import TokenVerifier
from queries_orchestration.web.body_limit import BodyLimit
from queries_orchestration.web.meters import Meters
from queries_orchestration.web.observed import Observed
from queries_orchestration.web.pages import pages
from queries_orchestration.web.rate_limits import RateLimits
from queries_orchestration.web.response_headers import ResponseHeaders
from queries_orchestration.web.routes import (
    audit,
    catalog,
    exports,
    files,
    groups,
    health,
    links,
    metrics,
    occurrences,
    recurrences,
    schedule_actions,
    schedule_history,
    schedules,
    sources,
    webhooks,
)
from queries_orchestration.web.unforeseen import Unforeseen

API = "/api/v1"
CLICK_THREADS: Final = 6


def create_app(backends: Backends, verifier: TokenVerifier) -> FastAPI:
    """Return the application over these backends; ``verifier`` says who a token speaks for.

    Raises:
        InvalidSettings: QUERIES_SNS_TOPICS or QUERIES_WEBHOOK_KEYS cannot be read.
    """
    app = FastAPI(
        title="queries",
        version=version("queries-orchestration"),
        summary="Saved queries and reports as files, on time, in the right hands.",
        redirect_slashes=False,  # else to an address that is made of the request's Host
        docs_url=None,  # its scripts come from elsewhere, which our policy forbids
        redoc_url=None,
        openapi_url=f"{API}/openapi.json",
        responses=problems.DOCUMENTED,
        lifespan=_lifespan,
    )
    webhook_keys_of(backends)  # told at the start rather than to a provider
    app.state.web = Web(
        backends=backends,
        verifier=verifier,
        limits=RateLimits(backends.settings),
        sns=sns_signatures_of(backends),
        clicks=Clicks(ThreadPoolExecutor(CLICK_THREADS, thread_name_prefix="click")),
        meters=Meters(backends),
    )
    problems.install(app)
    openapi.install(app)
    app.include_router(links.click_router)  # the first that is looked at: clicks are many
    app.include_router(links.router)
    app.include_router(exports.router, prefix=API)
    app.include_router(schedules.router, prefix=API)
    app.include_router(schedule_actions.router, prefix=API)
    app.include_router(schedule_history.router, prefix=API)
    app.include_router(recurrences.router, prefix=API)
    app.include_router(occurrences.router, prefix=API)
    app.include_router(sources.router, prefix=API)
    app.include_router(groups.router, prefix=API)
    app.include_router(catalog.router, prefix=API)
    app.include_router(audit.router, prefix=API)
    app.include_router(health.router)
    app.include_router(metrics.router)
    app.include_router(files.router)
    app.include_router(webhooks.router)
    app.add_middleware(BodyLimit)
    app.add_middleware(Unforeseen)
    pages.install(app)
    app.add_middleware(Observed)
    app.add_middleware(ResponseHeaders)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    yield
    web: Web = app.state.web
    web.clicks.threads.shutdown(wait=False, cancel_futures=True)
