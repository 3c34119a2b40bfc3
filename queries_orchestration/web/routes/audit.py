"""The audit trail of the caller's workspace, for its administrators."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel

from queries_orchestration.deliveries.audit_trail import audit_trail
from queries_orchestration.store.audit import Place
from queries_orchestration.telling.audit import audit_json
from queries_orchestration.web.asked import BackendsOf, CallerOf
from queries_orchestration.web.cursors import CursorOf, LimitOf, read_cursor, write_cursor
from queries_orchestration.web.problems import documented
from queries_orchestration.web.routes.examples import EVENT, shown

router = APIRouter(prefix="/audit", tags=["audit"])


class ToldEvent(BaseModel):
    """Who did what, by what way; ``attempted`` and ``code`` are of a refusal."""

    model_config = shown(EVENT)

    id: str
    at: datetime
    via: str
    person: str | None
    person_id: str | None
    outside_id: str | None
    action: str
    attempted: str | None
    subject_kind: str
    subject: str | None
    subject_id: str | None
    concerns: str | None
    concerns_id: str | None
    code: str | None


class ToldEvents(BaseModel):
    """Some events, the newest first."""

    model_config = shown({"events": [EVENT], "next_cursor": None})

    events: list[ToldEvent]
    next_cursor: str | None


@router.get("", response_model=ToldEvents, responses=documented(403))
def listing(
    caller: CallerOf, backends: BackendsOf, limit: LimitOf = 50, cursor: CursorOf = None
) -> dict[str, Any]:
    """List who launched, changed, downloaded and was refused, to administrators."""
    place = read_cursor(cursor)
    found = audit_trail(
        backends.database,
        caller.workspace.id,
        person_id=caller.person.id,
        before=None if place is None else Place(*place),
        limit=limit + 1,
    )
    page, more = found[:limit], found[limit:]
    with backends.database.read(caller.workspace.id) as connection:
        told = [audit_json(connection, caller.workspace, event) for event in page]
    return {
        "events": told,
        "next_cursor": write_cursor(page[-1].at, page[-1].id) if more else None,
    }
