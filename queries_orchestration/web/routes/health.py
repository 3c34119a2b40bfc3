"""Whether this process lives, and whether it can do its work."""

from __future__ import annotations

from fastapi import APIRouter

from queries_orchestration.model.errors import StoreUnavailable
from queries_orchestration.store.migrate import has_every_migration
from queries_orchestration.web.asked import BackendsOf
from queries_orchestration.web.problems import documented

router = APIRouter(tags=["health"])


@router.get("/healthz", summary="Whether the process lives")
async def live() -> dict[str, str]:
    """Answer as long as requests are taken."""
    return {"status": "ok"}


@router.get("/readyz", summary="Whether it can do its work", responses=documented(503))
def ready(backends: BackendsOf) -> dict[str, str]:
    """Answer if the application database is there, with every migration.

    Raises:
        StoreUnavailable: it is not.
    """
    if not has_every_migration(backends.database):
        raise StoreUnavailable("The application database is not of this version.")
    return {"status": "ok"}
