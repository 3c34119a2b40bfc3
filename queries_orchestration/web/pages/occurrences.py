"""An occurrence: what became of it, what each recipient got and why, and sending it again."""

from __future__ import annotations

from typing import Final

from fastapi import APIRouter, BackgroundTasks, Request, Response
from fastapi.responses import RedirectResponse
from sqlalchemy import Connection

from queries_orchestration.deliveries.addressed import UNREACHED
from queries_orchestration.deliveries.authority import occurrence_governed_by
from queries_orchestration.deliveries.resend import resend
from queries_orchestration.model.audit import Subject
from queries_orchestration.model.errors import NotFound, QueriesError
from queries_orchestration.orchestration.publish_now import publish_now
from queries_orchestration.store import people, resends
from queries_orchestration.store.occurrences import Occurrence
from queries_orchestration.store.refusals import refusals_recorded
from queries_orchestration.store.schedules import Schedule
from queries_orchestration.telling.occurrences import occurrence_json
from queries_orchestration.web.asked import BackendsOf, web_of
from queries_orchestration.web.pages.forms import SentOf
from queries_orchestration.web.pages.look import page
from queries_orchestration.web.pages.visitor import Visitor, VisitorOf
from queries_orchestration.web.pages.words import clocks_of
from queries_orchestration.web.problems import status_of

router = APIRouter(prefix="/schedules/{name}/occurrences", include_in_schema=False)

SENDABLE: Final = ("delivery", "resend")
"""The purposes of occurrences whose file can be sent again."""


@router.get("/{key}")
def show(request: Request, name: str, key: str, visitor: VisitorOf) -> Response:
    """Tell an occurrence."""
    return _shown(request, visitor, name, key)


@router.post("/{key}/resend")
def send_again(
    request: Request,
    name: str,
    key: str,
    sent: SentOf,
    backends: BackendsOf,
    after: BackgroundTasks,
) -> Response:
    """Send its file again to those whom it did not reach, and lead to the resend."""
    workspace_id = sent.visitor.workspace.id
    try:
        with refusals_recorded(
            backends.database,
            workspace_id,
            by=sent.visitor.by,
            attempted="resend_launched",
            subject=Subject.asked("occurrence", key),
            clock=backends.clock,
        ):
            with backends.database.read(workspace_id) as connection:
                _named(connection, sent.visitor, name, key)
            made = resend(
                backends,
                workspace_id,
                occurrence_key=key,
                by=sent.visitor.by,
                reason=sent.reason,
            )
    except NotFound:
        raise
    except QueriesError as error:
        return _shown(request, sent.visitor, name, key, problem=error)
    after.add_task(publish_now, backends, workspace_id, made)
    return RedirectResponse(f"/schedules/{name}/occurrences/{made}", status_code=303)


def _named(
    connection: Connection, visitor: Visitor, name: str, key: str
) -> tuple[Occurrence, Schedule]:
    occurrence, plan = occurrence_governed_by(
        connection, visitor.workspace.id, key=key, by=visitor.by
    )
    if plan.name != name:
        raise NotFound("There is no such occurrence, or its schedule is not yours to run.")
    return occurrence, plan


def _shown(
    request: Request,
    visitor: Visitor,
    name: str,
    key: str,
    *,
    problem: QueriesError | None = None,
) -> Response:
    backends = web_of(request).backends
    with backends.database.read(visitor.workspace.id) as connection:
        occurrence, plan = _named(connection, visitor, name, key)
        told = occurrence_json(connection, backends, visitor.workspace, plan, occurrence)
        actor = occurrence.actor_id and people.get(
            connection, plan.workspace_id, occurrence.actor_id
        )
        asker = occurrence.requested_by and people.get(
            connection, plan.workspace_id, occurrence.requested_by
        )
        again = resends.keys(connection, plan.workspace_id, key)
    can_resend = (
        occurrence.purpose in SENDABLE
        and bool(told["file"])
        and any(one["state"] in UNREACHED for one in told["deliveries"])
    )
    return page(
        request,
        "occurrence",
        visitor,
        status=200 if problem is None else status_of(problem),
        problem=problem,
        plan=plan,
        occurrence=occurrence,
        told=told,
        actor=actor or None,
        asker=asker or None,
        resends=again,
        clocks=clocks_of(plan.time_zone),
        is_live=occurrence.outcome is None,
        can_resend=can_resend,
        now=backends.clock(),
    )
