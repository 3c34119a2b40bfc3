"""Exports: start one, follow it, take its file, cancel it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any

from fastapi import APIRouter, BackgroundTasks, Response
from fastapi.responses import RedirectResponse
from pydantic import BaseModel, Field

from queries_orchestration.exports.admit import admit_export
from queries_orchestration.exports.cancel import cancel_export
from queries_orchestration.exports.download import download
from queries_orchestration.exports.look_up import look_up, own_exports
from queries_orchestration.model.audit import Action, Subject
from queries_orchestration.model.errors import ACCESS_CODES, NotFound, QueriesError
from queries_orchestration.orchestration.publish_now import publish_now
from queries_orchestration.store.refusals import refusals_recorded
from queries_orchestration.telling.exports import export_json
from queries_orchestration.web.asked import BackendsOf, Caller, CallerOf
from queries_orchestration.web.bodies import Body
from queries_orchestration.web.clicks import ClientKey
from queries_orchestration.web.cursors import CursorOf, LimitOf, read_cursor, write_cursor
from queries_orchestration.web.named import source_asked
from queries_orchestration.web.problems import documented

router = APIRouter(prefix="/exports", tags=["exports"])


class StartExport(Body):
    """What file of what."""

    source: str = Field(max_length=200, examples=["late-departures"])
    format: str = Field(max_length=10, examples=["csv"])
    values: dict[str, Any] = Field(
        default_factory=dict,
        description="Runtime values by parameter.",
        examples=[{"origin": "JFK"}],
    )
    time_zone: str | None = Field(
        None, max_length=200, description="IANA name; default: the workspace's."
    )


class ToldExport(BaseModel):
    """An export, as it is now."""

    export: str
    workspace: str
    source: str
    kind: str
    version: int
    purpose: str
    schedule: str | None
    format: str
    values: dict[str, Any]
    time_zone: str
    state: str
    code: str | None
    message: str | None
    rows_done: int
    bytes_done: int
    rows: int | None
    size: int | None
    sha256: str | None
    replaced_characters: int | None
    cut_cells: int | None
    cut_sections: int | None
    columns: list[dict[str, Any]] | None
    snapshot_at: datetime | None
    started_at: datetime | None
    duration_seconds: float | None
    rows_per_second: float | None
    file_name: str
    created_at: datetime
    completed_at: datetime | None
    expires_at: datetime | None


class ToldExports(BaseModel):
    """Some exports, the newest first."""

    exports: list[ToldExport]
    next_cursor: str | None


@router.post(
    "", status_code=202, response_model=ToldExport, responses=documented(400, 404, 409, 413, 429)
)
def start(
    asked: StartExport,
    caller: CallerOf,
    backends: BackendsOf,
    after: BackgroundTasks,
    response: Response,
    client_key: ClientKey = None,
) -> dict[str, Any]:
    """Start an export of a query or report, as the caller; follow it by its address."""
    try:
        asked_for = source_asked(backends, caller.workspace.id, asked.source)
        with _refusals(backends, caller, "export_asked", asked_for):
            export_id = admit_export(
                backends,
                caller.workspace.id,
                by=caller.by,
                source_name=asked.source,
                file_format=asked.format,
                given_values=asked.values,
                time_zone=asked.time_zone,
                client_key=client_key,
            )
    except QueriesError as error:
        if error.code in ACCESS_CODES:  # what one may not open looks as if it were not there
            raise NotFound(f"There is no query or report {asked.source!r}.") from None
        raise
    after.add_task(publish_now, backends, caller.workspace.id, export_id)
    response.headers["Location"] = f"/api/v1/exports/{export_id}"
    return _told(backends, caller, export_id)


@router.get("", response_model=ToldExports)
def listing(
    caller: CallerOf, backends: BackendsOf, limit: LimitOf = 50, cursor: CursorOf = None
) -> dict[str, Any]:
    """List the caller's own exports, the newest first."""
    found = own_exports(
        backends.database,
        caller.workspace.id,
        person_id=caller.person.id,
        limit=limit + 1,
        after=read_cursor(cursor),
    )
    page, more = found[:limit], found[limit:]
    last = page[-1].export if page and more else None
    return {
        "exports": [export_json(caller.workspace.name, file) for file in page],
        "next_cursor": write_cursor(last.created_at, last.id) if last else None,
    }


@router.get("/{export_id}", response_model=ToldExport, responses=documented(404))
def show(export_id: str, caller: CallerOf, backends: BackendsOf) -> dict[str, Any]:
    """Tell how far an export is, or how it ended."""
    return _told(backends, caller, export_id)


@router.post("/{export_id}/cancel", response_model=ToldExport, responses=documented(404, 409))
def cancel(export_id: str, caller: CallerOf, backends: BackendsOf) -> dict[str, Any]:
    """Cancel an export that is not finished."""
    with _refusals(backends, caller, "export_cancelled", Subject.asked("export", export_id)):
        cancel_export(backends, caller.workspace.id, by=caller.by, export_id=export_id)
    return _told(backends, caller, export_id)


@router.get(
    "/{export_id}/file",
    status_code=302,
    response_class=RedirectResponse,
    responses=documented(403, 404, 409, 410),
)
def file(export_id: str, caller: CallerOf, backends: BackendsOf) -> RedirectResponse:
    """Lead to the file by a link of five minutes, made for this request."""
    with _refusals(backends, caller, "file_downloaded", Subject.asked("export", export_id)):
        link = download(
            backends.database,
            backends.storage,
            workspace_id=caller.workspace.id,
            by=caller.by,
            export_id=export_id,
            clock=backends.clock,
            environment=backends.environment,
        )
    return RedirectResponse(link.url, status_code=302)


def _told(backends: BackendsOf, caller: Caller, export_id: str) -> dict[str, Any]:
    found = look_up(
        backends.database, caller.workspace.id, person_id=caller.person.id, export_id=export_id
    )
    return export_json(caller.workspace.name, found)


def _refusals(
    backends: BackendsOf, caller: Caller, attempted: Action, subject: Subject
) -> AbstractContextManager[None]:
    return refusals_recorded(
        backends.database,
        caller.workspace.id,
        by=caller.by,
        attempted=attempted,
        subject=subject,
        clock=backends.clock,
    )
