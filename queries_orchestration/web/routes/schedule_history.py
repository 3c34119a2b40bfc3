"""What a schedule looks back and forward on: its history, its next slots, its recipients."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from queries_orchestration.deliveries.authority import schedule_named_by
from queries_orchestration.deliveries.unsubscribe import resubscribe as admit
from queries_orchestration.store import occurrences
from queries_orchestration.telling.occurrences import occurrences_json
from queries_orchestration.telling.recipients import recipients_json, unsubscribed_json
from queries_orchestration.web.asked import BackendsOf, CallerOf
from queries_orchestration.web.bodies import Body
from queries_orchestration.web.cursors import CursorOf, LimitOf, read_cursor, write_cursor
from queries_orchestration.web.named import schedule_asked
from queries_orchestration.web.problems import documented
from queries_orchestration.web.routes.examples import LISTED_SCHEDULE, OCCURRENCE, shown
from queries_orchestration.web.routes.occurrences import ToldOccurrence
from queries_orchestration.web.routes.recurrences import AfterOf, CountOf, ToldSlots, told_slots
from queries_orchestration.web.routes.schedules import (
    BODY_REFUSED,
    ToldRecipient,
    ToldUnsubscribed,
)

router = APIRouter(prefix="/schedules/{name}", tags=["schedules"])


class ToldHistory(BaseModel):
    """Some occurrences of a schedule, the newest first."""

    model_config = shown({"occurrences": [OCCURRENCE], "next_cursor": "WyJhbiBleGFtcGxlIl0"})

    occurrences: list[ToldOccurrence]
    next_cursor: str | None


class ToldRecipients(BaseModel):
    """Whom a schedule names, and who wants no more of it."""

    model_config = shown({"recipients": LISTED_SCHEDULE["recipients"], "unsubscribed": []})

    recipients: list[ToldRecipient]
    unsubscribed: list[ToldUnsubscribed]


class Resubscribe(Body):
    """Who may have messages again, at their own wish."""

    recipient: str = Field(
        max_length=200,
        description="A person's name, or the id of an outside address.",
        examples=["bob"],
    )


@router.get("/history", response_model=ToldHistory, responses=documented(404))
def history(
    name: str,
    caller: CallerOf,
    backends: BackendsOf,
    limit: LimitOf = 50,
    cursor: CursorOf = None,
) -> dict[str, Any]:
    """Tell what became of every slot and run of a schedule, the newest first."""
    after = read_cursor(cursor)
    place = caller.workspace
    with backends.database.read(caller.workspace.id) as connection:
        plan = schedule_named_by(connection, place.id, name=name, by=caller.by)
        found = occurrences.history(connection, place.id, plan.id, limit=limit + 1, after=after)
        page, more = found[:limit], found[limit:]
        told = occurrences_json(connection, backends, place, plan, page)
    last = page[-1] if more else None
    return {
        "occurrences": told,
        "next_cursor": write_cursor(last.admitted_at, last.key) if last else None,
    }


@router.get("/preview", response_model=ToldSlots, responses=documented(404))
def preview(
    name: str,
    caller: CallerOf,
    backends: BackendsOf,
    after: AfterOf = None,
    count: CountOf = 10,
) -> dict[str, Any]:
    """Tell the next slots of a schedule, also on days when the clocks change."""
    with backends.database.read(caller.workspace.id) as connection:
        plan = schedule_named_by(connection, caller.workspace.id, name=name, by=caller.by)
    return told_slots(plan.recurrence(), after or backends.clock(), count)


@router.get("/recipients", response_model=ToldRecipients, responses=documented(404))
def recipients(name: str, caller: CallerOf, backends: BackendsOf) -> dict[str, Any]:
    """Tell whom a schedule names, and who has unsubscribed from it; no address is told."""
    with backends.database.read(caller.workspace.id) as connection:
        plan = schedule_named_by(connection, caller.workspace.id, name=name, by=caller.by)
        return {
            "recipients": recipients_json(connection, caller.workspace, plan),
            "unsubscribed": unsubscribed_json(connection, caller.workspace, plan),
        }


@router.post(
    "/resubscribe",
    status_code=204,
    response_class=Response,
    responses=documented(*BODY_REFUSED, 403, 404, 409),
)
def resubscribe(name: str, asked: Resubscribe, caller: CallerOf, backends: BackendsOf) -> Response:
    """Let who had unsubscribed have messages again, as an administrator, at their own wish."""
    with schedule_asked(
        backends, caller.workspace.id, name, by=caller.by, attempted="resubscribed"
    ) as schedule_id:
        admit(
            backends,
            caller.workspace.id,
            schedule_id=schedule_id,
            recipient=asked.recipient,
            by=caller.by,
        )
    return Response(status_code=204)
