"""My exports: the list, one of them, its file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from queries_orchestration.exports.cancel import cancel_export
from queries_orchestration.exports.download import download
from queries_orchestration.exports.export_file import ExportFile
from queries_orchestration.exports.look_up import look_up, own_exports
from queries_orchestration.model.audit import Subject
from queries_orchestration.model.errors import NotFound, QueriesError
from queries_orchestration.store.refusals import refusals_recorded
from queries_orchestration.web.asked import BackendsOf, web_of
from queries_orchestration.web.cursors import CursorOf, read_cursor, write_cursor
from queries_orchestration.web.pages.forms import SentOf
from queries_orchestration.web.pages.look import page
from queries_orchestration.web.pages.visitor import Visitor, VisitorOf
from queries_orchestration.web.pages.words import clocks_of
from queries_orchestration.web.problems import status_of

PAGE: Final = 25
UNFINISHED: Final = ("queued", "running")

router = APIRouter(prefix="/exports", include_in_schema=False)


@dataclass(frozen=True, slots=True)
class Row:
    """An export in the list; ``has_file`` is whether there is something to download now."""

    file: ExportFile
    has_file: bool


@router.get("")
def listing(
    request: Request, visitor: VisitorOf, backends: BackendsOf, cursor: CursorOf = None
) -> Response:
    """List the visitor's own exports, the newest first."""
    found = own_exports(
        backends.database,
        visitor.workspace.id,
        person_id=visitor.person.id,
        limit=PAGE + 1,
        after=read_cursor(cursor),
    )
    shown, more = found[:PAGE], found[PAGE:]
    last = shown[-1].export if more else None
    now = backends.clock()
    return page(
        request,
        "exports",
        visitor,
        rows=[Row(file, file.refusal(at=now) is None) for file in shown],
        is_live=any(file.export.state in UNFINISHED for file in shown),
        next_cursor=write_cursor(last.created_at, last.id) if last else None,
        is_first=cursor is None,
        now=now,
    )


@router.get("/{export_id}")
def show(request: Request, export_id: str, visitor: VisitorOf) -> Response:
    """Tell how far an export is, or how it ended."""
    return _shown(request, visitor, export_id)


@router.post("/{export_id}/cancel")
def cancel(request: Request, export_id: str, sent: SentOf, backends: BackendsOf) -> Response:
    """Cancel an export that is not finished."""
    workspace_id = sent.visitor.workspace.id
    try:
        with refusals_recorded(
            backends.database,
            workspace_id,
            by=sent.visitor.by,
            attempted="export_cancelled",
            subject=Subject.asked("export", export_id),
            clock=backends.clock,
        ):
            cancel_export(backends, workspace_id, by=sent.visitor.by, export_id=export_id)
    except NotFound:
        raise
    except QueriesError as error:
        return _shown(request, sent.visitor, export_id, problem=error)
    return RedirectResponse(f"/exports/{export_id}", status_code=303)


@router.get("/{export_id}/file")
def file(request: Request, export_id: str, visitor: VisitorOf, backends: BackendsOf) -> Response:
    """Lead to the file by a link of five minutes, made for this request."""
    try:
        with refusals_recorded(
            backends.database,
            visitor.workspace.id,
            by=visitor.by,
            attempted="file_downloaded",
            subject=Subject.asked("export", export_id),
            clock=backends.clock,
        ):
            link = download(
                backends.database,
                backends.storage,
                workspace_id=visitor.workspace.id,
                by=visitor.by,
                export_id=export_id,
                clock=backends.clock,
                environment=backends.environment,
            )
    except NotFound:
        raise
    except QueriesError as error:
        return _shown(request, visitor, export_id, problem=error)
    return RedirectResponse(link.url, status_code=302)


def _shown(
    request: Request, visitor: Visitor, export_id: str, *, problem: QueriesError | None = None
) -> Response:
    backends = web_of(request).backends
    found = look_up(
        backends.database,
        visitor.workspace.id,
        person_id=visitor.person.id,
        export_id=export_id,
    )
    now = backends.clock()
    return page(
        request,
        "export",
        visitor,
        status=200 if problem is None else status_of(problem),
        problem=problem,
        file=found,
        export=found.export,
        clocks=clocks_of(found.export.time_zone),
        is_live=found.export.state in UNFINISHED,
        has_file=found.refusal(at=now) is None,
        is_own=found.schedule is None,
        now=now,
    )
