"""The catalog as code, for administrators of a workspace."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import APIRouter, Depends, HTTPException, Query, Request
from pydantic import BaseModel

from queries_orchestration.catalog.apply import apply_own_catalog
from queries_orchestration.model.audit import Subject
from queries_orchestration.store.refusals import refusals_recorded
from queries_orchestration.web.asked import BackendsOf, CallerOf
from queries_orchestration.web.problems import documented
from queries_orchestration.web.routes.examples import CHANGES, shown

router = APIRouter(prefix="/catalog", tags=["catalog"])

_YAML: Final = ("application/yaml", "text/yaml")
_EXAMPLE: Final = """\
workspace: {name: acme}
people:
  eve: {title: Eve Example, address: eve@example.org, roles: [reader]}
"""


class ToldKind(BaseModel):
    """The names of one kind of rows, within the workspace as ``workspace/name``."""

    created: list[str]
    changed: list[str]
    unchanged: list[str]


class ToldPruned(BaseModel):
    """What became of a row that the file lacks."""

    kind: str
    name: str
    outcome: str


class ToldVersion(BaseModel):
    """A version that a query or report got."""

    source: str
    version: int


class ToldChanges(BaseModel):
    """What an apply did; ``unset_variables`` are those of connections that this process lacks."""

    model_config = shown(CHANGES)

    workspaces: ToldKind
    people: ToldKind
    groups: ToldKind
    connections: ToldKind
    datasets: ToldKind
    queries: ToldKind
    reports: ToldKind
    schedules: ToldKind
    pruned: list[ToldPruned]
    new_versions: list[ToldVersion]
    unset_variables: list[str]


async def _sent(request: Request) -> bytes:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in _YAML:
        raise HTTPException(415)
    return await request.body()


@router.post(
    "/apply",
    response_model=ToldChanges,
    responses=documented(403, 413, 415),
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                kind: {"schema": {"type": "string"}, "example": _EXAMPLE} for kind in _YAML
            },
        }
    },
)
def apply(
    caller: CallerOf,
    backends: BackendsOf,
    sent: Annotated[bytes, Depends(_sent)],
    prune: Annotated[bool, Query(description="Take away what the file lacks.")] = False,
    take_over: Annotated[
        bool, Query(description="Overwrite also what somebody else wrote last.")
    ] = False,
) -> dict[str, Any]:
    """Check a catalog file as a whole, then write what is new or changed of the own workspace.

    Any fault is named with its line, and then nothing is written.
    """
    with refusals_recorded(
        backends.database,
        caller.workspace.id,
        by=caller.by,
        attempted="catalog_applied",
        subject=Subject("workspace", caller.workspace.id),
        clock=backends.clock,
    ):
        changes = apply_own_catalog(
            backends.database,
            caller.workspace.id,
            sent,
            clock=backends.clock,
            environment=backends.environment,
            by=caller.by,
            prune=prune,
            take_over=take_over,
        )
    return changes.to_dict()
