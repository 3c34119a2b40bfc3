"""Occurrences: how one ended, what each recipient got, send it again."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from fastapi import APIRouter, BackgroundTasks, Response
from pydantic import BaseModel, Field

from queries_orchestration.deliveries.authority import occurrence_governed_by
from queries_orchestration.deliveries.resend import resend as admit_resend
from queries_orchestration.model.audit import Subject
from queries_orchestration.orchestration.publish_now import publish_now
from queries_orchestration.receives.backends import Backends
from queries_orchestration.store.refusals import refusals_recorded
from queries_orchestration.telling.occurrences import occurrence_json
from queries_orchestration.web.asked import BackendsOf, Caller, CallerOf
from queries_orchestration.web.bodies import Body
from queries_orchestration.web.clicks import Reason
from queries_orchestration.web.problems import documented
from queries_orchestration.web.routes.examples import OCCURRENCE, shown

router = APIRouter(prefix="/occurrences/{key}", tags=["occurrences"])


class ToldFile(BaseModel):
    """The file of an occurrence; it is downloaded as the export that it is."""

    export: str
    format: str
    rows: int | None
    size: int | None
    sha256: str | None
    expires_at: datetime | None


class LateFile(BaseModel):
    """An export that was completed after its delivery had failed."""

    export: str
    completed_at: datetime
    state: str


class ToldAttempt(BaseModel):
    """One receive."""

    receive: int
    run: str | None
    started_at: datetime
    ended_at: datetime | None
    code: str | None


class ToldMessage(BaseModel):
    """What its provider told last of a message."""

    state: str
    code: str | None
    at: datetime


class ToldDelivery(BaseModel):
    """What one recipient got, or why not."""

    person: str | None
    outside: str | None
    title: str | None
    state: str
    code: str | None
    words: str | None
    resubmitted_at: datetime | None
    message_id: str | None
    message: ToldMessage | None


class ToldNotice(BaseModel):
    """Who was to be told of a failure or a pause."""

    kind: str
    person: str | None
    state: str
    code: str | None
    concluded_at: datetime | None


class ToldOccurrence(BaseModel):
    """One slot of a schedule, or one run that somebody asked for."""

    model_config = shown(OCCURRENCE)

    occurrence: str
    workspace: str
    schedule: str
    slot: datetime | None
    via: str
    purpose: str
    resend_of: str | None
    requested_by: str | None
    reason: str | None
    admitted_at: datetime
    state: str
    outcome: str | None
    code: str | None
    message: str | None
    actor: str | None
    receives: int
    attempts: list[ToldAttempt]
    source_changed: bool
    message_fault: str | None
    late_file: LateFile | None
    settled_at: datetime | None
    file: ToldFile | None
    deliveries: list[ToldDelivery]
    notices: list[ToldNotice]


class Resend(Body):
    """Why, for the history."""

    reason: Reason | None = Field(None, examples=["Their mailbox was full."])


@router.get("", response_model=ToldOccurrence, responses=documented(404))
def show(key: str, caller: CallerOf, backends: BackendsOf) -> dict[str, Any]:
    """Tell how an occurrence of one's own schedule stands, and what each recipient got."""
    return told_occurrence(caller, backends, key)


@router.post(
    "/resend",
    status_code=202,
    response_model=ToldOccurrence,
    responses=documented(400, 403, 404, 409, 410, 413),
)
def resend(
    key: str,
    caller: CallerOf,
    backends: BackendsOf,
    after: BackgroundTasks,
    response: Response,
    asked: Resend | None = None,
) -> dict[str, Any]:
    """Send the file again to those whom it did not reach, as an occurrence of its own.

    While one is under way, that is the answer.
    """
    with refusals_recorded(
        backends.database,
        caller.workspace.id,
        by=caller.by,
        attempted="resend_launched",
        subject=Subject.asked("occurrence", key),
        clock=backends.clock,
    ):
        made = admit_resend(
            backends,
            caller.workspace.id,
            occurrence_key=key,
            by=caller.by,
            reason=asked.reason if asked else None,
        )
    after.add_task(publish_now, backends, caller.workspace.id, made)
    response.headers["Location"] = f"/api/v1/occurrences/{made}"
    return told_occurrence(caller, backends, made)


def told_occurrence(caller: Caller, backends: Backends, key: str) -> dict[str, Any]:
    """Return what is told of an occurrence.

    Raises:
        NotFound: there is none, or the caller has no authority over its schedule.
    """
    with backends.database.read(caller.workspace.id) as connection:
        found, plan = occurrence_governed_by(connection, caller.workspace.id, key=key, by=caller.by)
        return occurrence_json(connection, backends, caller.workspace, plan, found)
