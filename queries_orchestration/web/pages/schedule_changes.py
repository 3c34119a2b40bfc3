"""What a person does to a schedule from its page: run it now, try it, pause, resume, move it on."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import APIRouter, BackgroundTasks, Request, Response
from fastapi.responses import RedirectResponse

from queries_orchestration.deliveries import schedule_changes
from queries_orchestration.deliveries.run_now import run_now
from queries_orchestration.model.audit import Action
from queries_orchestration.model.errors import NotFound, QueriesError
from queries_orchestration.orchestration.publish_now import publish_now
from queries_orchestration.receives.backends import Backends
from queries_orchestration.web.asked import BackendsOf
from queries_orchestration.web.named import schedule_asked
from queries_orchestration.web.pages.forms import Sent, SentOf
from queries_orchestration.web.pages.schedules import shown

router = APIRouter(prefix="/schedules/{name}", include_in_schema=False)

Change = Callable[[str], str]
"""Does something to the schedule of an id, and returns the address to lead to."""


@router.post("/run")
def run(
    request: Request, name: str, sent: SentOf, backends: BackendsOf, after: BackgroundTasks
) -> Response:
    """Deliver it now, with the visitor's access, and lead to the occurrence."""

    def change(schedule_id: str) -> str:
        key = run_now(
            backends,
            sent.visitor.workspace.id,
            schedule_id=schedule_id,
            by=sent.visitor.by,
            client_key=sent.click,
            reason=sent.reason,
        )
        after.add_task(publish_now, backends, sent.visitor.workspace.id, key)
        return f"/schedules/{name}/occurrences/{key}"

    return _changed(request, name, sent, backends, "run_launched", change)


@router.post("/test")
def test(
    request: Request, name: str, sent: SentOf, backends: BackendsOf, after: BackgroundTasks
) -> Response:
    """Deliver it to the visitor alone, and lead to the occurrence."""

    def change(schedule_id: str) -> str:
        key = run_now(
            backends,
            sent.visitor.workspace.id,
            schedule_id=schedule_id,
            by=sent.visitor.by,
            client_key=sent.click,
            purpose="test",
        )
        after.add_task(publish_now, backends, sent.visitor.workspace.id, key)
        return f"/schedules/{name}/occurrences/{key}"

    return _changed(request, name, sent, backends, "test_launched", change)


@router.post("/pause")
def pause(request: Request, name: str, sent: SentOf, backends: BackendsOf) -> Response:
    """Pause it until somebody resumes it."""

    def change(schedule_id: str) -> str:
        schedule_changes.pause(
            backends,
            sent.visitor.workspace.id,
            schedule_id=schedule_id,
            by=sent.visitor.by,
            reason=sent.reason or f"Paused by {sent.visitor.person.title}.",
        )
        return f"/schedules/{name}?done=paused"

    return _changed(request, name, sent, backends, "schedule_paused", change)


@router.post("/resume")
def resume(request: Request, name: str, sent: SentOf, backends: BackendsOf) -> Response:
    """Let it go on with its next slot."""

    def change(schedule_id: str) -> str:
        schedule_changes.resume(
            backends, sent.visitor.workspace.id, schedule_id=schedule_id, by=sent.visitor.by
        )
        return f"/schedules/{name}?done=resumed"

    return _changed(request, name, sent, backends, "schedule_resumed", change)


@router.post("/repin")
def repin(request: Request, name: str, sent: SentOf, backends: BackendsOf) -> Response:
    """Move it to its source's current version."""

    def change(schedule_id: str) -> str:
        schedule_changes.repin(
            backends, sent.visitor.workspace.id, schedule_id=schedule_id, by=sent.visitor.by
        )
        return f"/schedules/{name}?done=repinned"

    return _changed(request, name, sent, backends, "schedule_repinned", change)


def _changed(
    request: Request,
    name: str,
    sent: Sent,
    backends: Backends,
    attempted: Action,
    change: Change,
) -> Response:
    """Return where a change leads to, or the schedule's page with why it was refused."""
    visitor = sent.visitor
    try:
        with schedule_asked(
            backends, visitor.workspace.id, name, by=visitor.by, attempted=attempted
        ) as schedule_id:
            return RedirectResponse(change(schedule_id), status_code=303)
    except NotFound:
        raise
    except QueriesError as error:
        return shown(request, visitor, name, problem=error)
