"""What is done with a schedule: pause, resume, another version, another owner, run, test."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, BackgroundTasks, Response
from pydantic import Field

from queries_orchestration.deliveries import schedule_changes
from queries_orchestration.deliveries.run_now import run_now as admit
from queries_orchestration.model.audit import Action
from queries_orchestration.orchestration.publish_now import publish_now
from queries_orchestration.receives.backends import Backends
from queries_orchestration.store import people
from queries_orchestration.web.asked import BackendsOf, Caller, CallerOf
from queries_orchestration.web.bodies import Body
from queries_orchestration.web.clicks import ClientKey, Reason
from queries_orchestration.web.etags import TAGGED
from queries_orchestration.web.named import schedule_asked
from queries_orchestration.web.problems import documented
from queries_orchestration.web.routes.occurrences import ToldOccurrence, told_occurrence
from queries_orchestration.web.routes.schedules import BODY_REFUSED, ToldSchedule, told_schedule

router = APIRouter(prefix="/schedules/{name}", tags=["schedules"])


class Pause(Body):
    """Why."""

    reason: Reason = Field(examples=["The numbers are being checked."])


class Repin(Body):
    """To which version, with which values."""

    version: Annotated[int, Field(ge=1, le=2**31 - 1)] | None = Field(
        None, description="Of its query; default: the current one."
    )
    values: dict[str, Any] | None = Field(
        None,
        description="Take the place of all its values; default: they stay.",
        examples=[{"origin": "JFK"}],
    )


class Transfer(Body):
    """To whom, and why."""

    to: str = Field(max_length=200, description="The name of the new owner.", examples=["bob"])
    reason: Reason | None = Field(None, examples=["Ada is on leave."])


class RunNow(Body):
    """Why, for the history."""

    reason: Reason | None = Field(None, examples=["The numbers were corrected."])


@router.post(
    "/pause",
    response_model=ToldSchedule,
    responses={200: TAGGED, **documented(*BODY_REFUSED, 404, 409)},
)
def pause(
    name: str, asked: Pause, caller: CallerOf, backends: BackendsOf, response: Response
) -> dict[str, Any]:
    """Pause a schedule until it is resumed; what was due already is still delivered."""
    with schedule_asked(
        backends, caller.workspace.id, name, by=caller.by, attempted="schedule_paused"
    ) as schedule_id:
        schedule_changes.pause(
            backends,
            caller.workspace.id,
            schedule_id=schedule_id,
            by=caller.by,
            reason=asked.reason,
        )
    return told_schedule(caller, backends, name, response)


@router.post(
    "/resume", response_model=ToldSchedule, responses={200: TAGGED, **documented(403, 404, 409)}
)
def resume(name: str, caller: CallerOf, backends: BackendsOf, response: Response) -> dict[str, Any]:
    """Let a paused schedule go on with its next slot after now, never with a past one."""
    with schedule_asked(
        backends, caller.workspace.id, name, by=caller.by, attempted="schedule_resumed"
    ) as schedule_id:
        schedule_changes.resume(
            backends, caller.workspace.id, schedule_id=schedule_id, by=caller.by
        )
    return told_schedule(caller, backends, name, response)


@router.post(
    "/repin",
    response_model=ToldSchedule,
    responses={200: TAGGED, **documented(*BODY_REFUSED, 403, 404, 409)},
)
def repin(
    name: str, asked: Repin, caller: CallerOf, backends: BackendsOf, response: Response
) -> dict[str, Any]:
    """Move a schedule to another version of its query, if its owner can open that.

    Of a report, which is always rendered as it is now, this takes its change as seen.
    """
    with schedule_asked(
        backends, caller.workspace.id, name, by=caller.by, attempted="schedule_repinned"
    ) as schedule_id:
        schedule_changes.repin(
            backends,
            caller.workspace.id,
            schedule_id=schedule_id,
            by=caller.by,
            version=asked.version,
            values=asked.values,
        )
    return told_schedule(caller, backends, name, response)


@router.post(
    "/transfer",
    status_code=204,
    response_class=Response,
    responses=documented(*BODY_REFUSED, 403, 404, 409),
)
def transfer(name: str, asked: Transfer, caller: CallerOf, backends: BackendsOf) -> Response:
    """Give a schedule to another owner, who can open its source.

    Whoever is no administrator has no authority over it any more.
    """
    with schedule_asked(
        backends, caller.workspace.id, name, by=caller.by, attempted="schedule_transferred"
    ) as schedule_id:
        with backends.database.read(caller.workspace.id) as connection:
            to = people.by_name(connection, caller.workspace.id, asked.to)
        schedule_changes.transfer(
            backends,
            caller.workspace.id,
            schedule_id=schedule_id,
            to_person_id=to.id if to else "",  # nobody's
            by=caller.by,
            reason=asked.reason,
        )
    return Response(status_code=204)


@router.post(
    "/run-now",
    status_code=202,
    response_model=ToldOccurrence,
    responses=documented(*BODY_REFUSED, 403, 404, 409),
)
def run_now(
    name: str,
    caller: CallerOf,
    backends: BackendsOf,
    after: BackgroundTasks,
    response: Response,
    asked: RunNow | None = None,
    client_key: ClientKey = None,
) -> dict[str, Any]:
    """Run a schedule now, with the access of the caller, to all its recipients."""
    reason = asked.reason if asked else None
    return _launched(caller, backends, name, after, response, "delivery", client_key, reason)


@router.post(
    "/test",
    status_code=202,
    response_model=ToldOccurrence,
    responses=documented(403, 404, 409),
)
def try_delivery(
    name: str,
    caller: CallerOf,
    backends: BackendsOf,
    after: BackgroundTasks,
    response: Response,
    client_key: ClientKey = None,
) -> dict[str, Any]:
    """Deliver a schedule to the caller alone, with their access and no effect on it."""
    return _launched(caller, backends, name, after, response, "test", client_key, None)


def _launched(
    caller: Caller,
    backends: Backends,
    name: str,
    after: BackgroundTasks,
    response: Response,
    purpose: Literal["delivery", "test"],
    client_key: str | None,
    reason: str | None,
) -> dict[str, Any]:
    attempted: Action = "test_launched" if purpose == "test" else "run_launched"
    with schedule_asked(
        backends, caller.workspace.id, name, by=caller.by, attempted=attempted
    ) as schedule_id:
        key = admit(
            backends,
            caller.workspace.id,
            schedule_id=schedule_id,
            by=caller.by,
            client_key=client_key,
            reason=reason,
            purpose=purpose,
        )
    after.add_task(publish_now, backends, caller.workspace.id, key)
    response.headers["Location"] = f"/api/v1/occurrences/{key}"
    return told_occurrence(caller, backends, key)
