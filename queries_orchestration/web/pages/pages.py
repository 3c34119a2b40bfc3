"""All pages, put into the application."""

from __future__ import annotations

from fastapi import FastAPI

from queries_orchestration.web.pages import (
    exports,
    mailbox,
    occurrences,
    schedule_changes,
    schedules,
    sign_in,
    start_export,
    static,
    visitor,
)
from queries_orchestration.web.pages.problem_pages import ProblemPages

ROUTERS = (
    sign_in.router,
    exports.router,
    start_export.router,
    schedules.router,
    occurrences.router,
    schedule_changes.router,
    mailbox.router,
    static.router,
)


def install(app: FastAPI) -> None:
    """Give the application its pages; call it before what stands around all of them."""
    for router in ROUTERS:
        app.include_router(router)
    visitor.install(app)
    app.add_middleware(ProblemPages)
