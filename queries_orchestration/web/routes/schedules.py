"""Schedules: make one, read it, make it another one, take it away."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Final

from fastapi import APIRouter, Body, Response
from pydantic import BaseModel, Field, WithJsonSchema

from queries_orchestration.catalog.one_schedule import change_schedule_to, create_schedule
from queries_orchestration.deliveries.authority import governed_schedules, schedule_named_by
from queries_orchestration.deliveries.schedule_changes import delete_schedule
from queries_orchestration.model.audit import Subject
from queries_orchestration.receives.backends import Backends
from queries_orchestration.store.refusals import refusals_recorded
from queries_orchestration.store.schedule_tags import schedule_tag
from queries_orchestration.telling.schedules import definition_json, schedule_json, transfers_json
from queries_orchestration.web.asked import BackendsOf, Caller, CallerOf
from queries_orchestration.web.cursors import (
    CursorOf,
    LimitOf,
    read_name_cursor,
    write_name_cursor,
)
from queries_orchestration.web.etags import TAGGED, IfMatch, set_tag
from queries_orchestration.web.named import schedule_asked
from queries_orchestration.web.problems import documented
from queries_orchestration.web.routes.examples import LISTED_SCHEDULE, SCHEDULE, shown
from queries_orchestration.web.routes.schedule_form import DEFINITION, NEW_DEFINITION

router = APIRouter(prefix="/schedules", tags=["schedules"])

BODY_REFUSED: Final = (400, 413)


class ToldRecipient(BaseModel):
    """A person, a group, or an outside address by its id and name."""

    person: str | None
    group: str | None
    outside: str | None
    title: str | None


class ToldUnsubscribed(BaseModel):
    """Who wants no more of it, since when; ``everywhere``: of no schedule of the workspace."""

    person: str | None
    outside: str | None
    title: str | None
    since: datetime
    everywhere: bool


class ListedSchedule(BaseModel):
    """A schedule: what, when, to whom, as whom, and how it stands."""

    model_config = shown(LISTED_SCHEDULE)

    schedule: str
    workspace: str
    title: str
    state: str
    pause_code: str | None
    pause_reason: str | None
    paused_at: datetime | None
    next_slot: datetime | None
    failure_streak: int
    cron: str
    time_zone: str
    last_day: bool
    starts_on: str | None
    ends_on: str | None
    source: str | None
    kind: str
    version: int
    current_version: int | None
    values: dict[str, Any]
    format: str
    owner: str | None
    recipients: list[ToldRecipient]
    unsubscribed: list[ToldUnsubscribed]
    skip_empty: bool
    missed_slots: str
    lateness_limit: int | None
    written_by: str


class ToldTransfer(BaseModel):
    """Who gave it to whom, and why."""

    from_: str | None = Field(alias="from")
    to: str | None
    by: str | None
    at: datetime
    reason: str | None


class ToldSchedule(ListedSchedule):
    """A schedule with its definition, which can be sent back changed, and who has owned it."""

    model_config = shown(SCHEDULE)

    definition: dict[str, Any]
    transfers: list[ToldTransfer]


class ToldSchedules(BaseModel):
    """Some schedules, by name."""

    model_config = shown({"schedules": [LISTED_SCHEDULE], "next_cursor": "WyJhbiBleGFtcGxlIl0"})

    schedules: list[ListedSchedule]
    next_cursor: str | None


Definition = Annotated[Any, Body(), WithJsonSchema(DEFINITION)]
NewDefinition = Annotated[Any, Body(), WithJsonSchema(NEW_DEFINITION)]


@router.get("", response_model=ToldSchedules)
def listing(
    caller: CallerOf, backends: BackendsOf, limit: LimitOf = 50, cursor: CursorOf = None
) -> dict[str, Any]:
    """List the caller's own schedules by name; to an administrator, all of the workspace."""
    with backends.database.read(caller.workspace.id) as connection:
        found = governed_schedules(
            connection,
            caller.workspace.id,
            person_id=caller.person.id,
            limit=limit + 1,
            after=read_name_cursor(cursor),
        )
        page, more = found[:limit], found[limit:]
        told = [schedule_json(connection, caller.workspace, plan) for plan in page]
    return {
        "schedules": told,
        "next_cursor": write_name_cursor(page[-1].name) if more else None,
    }


@router.post(
    "",
    status_code=201,
    response_model=ToldSchedule,
    responses={201: TAGGED, **documented(*BODY_REFUSED, 403, 409)},
)
def create(
    definition: NewDefinition, caller: CallerOf, backends: BackendsOf, response: Response
) -> dict[str, Any]:
    """Make a schedule of the keys of a catalog file, as an author or administrator.

    Its owner is the caller, unless an administrator names somebody else.
    """
    with refusals_recorded(
        backends.database,
        caller.workspace.id,
        by=caller.by,
        attempted="schedule_created",
        subject=Subject("schedule", None),
        clock=backends.clock,
    ):
        made = create_schedule(
            backends.database,
            caller.workspace.id,
            definition,
            by=caller.by,
            clock=backends.clock,
        )
    response.headers["Location"] = f"/api/v1/schedules/{made.name}"
    return told_schedule(caller, backends, made.name, response)


@router.get("/{name}", response_model=ToldSchedule, responses={200: TAGGED, **documented(404)})
def show(name: str, caller: CallerOf, backends: BackendsOf, response: Response) -> dict[str, Any]:
    """Tell a schedule of one's own; an administrator any of the workspace."""
    return told_schedule(caller, backends, name, response)


@router.put(
    "/{name}",
    response_model=ToldSchedule,
    responses={200: TAGGED, **documented(*BODY_REFUSED, 404, 412, 428)},
)
def change(
    name: str,
    definition: Definition,
    if_match: IfMatch,
    caller: CallerOf,
    backends: BackendsOf,
    response: Response,
) -> dict[str, Any]:
    """Make a schedule as the whole definition says: what it leaves out is the default.

    The owner stays, and so does the version of its query: see transfer and repin.
    """
    with schedule_asked(
        backends, caller.workspace.id, name, by=caller.by, attempted="schedule_changed"
    ):
        changed = change_schedule_to(
            backends.database,
            caller.workspace.id,
            definition,
            find=lambda connection: schedule_named_by(
                connection, caller.workspace.id, name=name, by=caller.by
            ),
            by=caller.by,
            clock=backends.clock,
            expected=if_match,
        )
    return told_schedule(caller, backends, changed.name, response)


@router.delete(
    "/{name}", status_code=204, response_class=Response, responses=documented(404, 409, 412, 428)
)
def delete(name: str, if_match: IfMatch, caller: CallerOf, backends: BackendsOf) -> Response:
    """Take a schedule away; one that has a history ends instead, and its history stays."""
    with schedule_asked(
        backends, caller.workspace.id, name, by=caller.by, attempted="schedule_deleted"
    ) as schedule_id:
        delete_schedule(
            backends,
            caller.workspace.id,
            schedule_id=schedule_id,
            by=caller.by,
            expected=if_match,
        )
    return Response(status_code=204)


def told_schedule(
    caller: Caller, backends: Backends, name: str, response: Response
) -> dict[str, Any]:
    """Return what is told of a schedule as it is now, and tag the answer.

    Raises:
        NotFound: there is none of that name, or the caller has no authority over it.
    """
    place = caller.workspace
    with backends.database.read(caller.workspace.id) as connection:
        plan = schedule_named_by(connection, place.id, name=name, by=caller.by)
        set_tag(response, schedule_tag(connection, plan))
        return schedule_json(connection, place, plan) | {
            "definition": definition_json(connection, place, plan),
            "transfers": transfers_json(connection, plan),
        }
