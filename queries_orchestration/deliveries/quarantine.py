"""Hop 1 on failure: a schedule that cannot be dispatched is paused, with its reason.

Its slot is recorded as failed, so that history has a row for it. Where not even that can be
written, because the row itself cannot be read, the schedule is paused alone.
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection

from queries_orchestration.deliveries import events
from queries_orchestration.deliveries.settle import Settled
from queries_orchestration.deliveries.streaks import PAUSED_BEFORE, follow_up, pause_schedule
from queries_orchestration.model.errors import QueriesError, StoreUnavailable
from queries_orchestration.model.ids import slot_key
from queries_orchestration.receives.boundary import unforeseen_told
from queries_orchestration.store import admissions, missed, schedules
from queries_orchestration.store.cross_workspace import DueSchedule
from queries_orchestration.store.database import attempt

_WHAT_TO_DO = "Mend the schedule, then resume it."


def quarantine(
    connection: Connection, due: DueSchedule, error: QueriesError, *, at: datetime
) -> Settled:
    """Pause a due schedule that cannot be admitted, all in the caller's transaction.

    Args:
        at: now, by the calendar clock.

    Raises:
        StoreUnavailable: the database cannot be reached.
    """
    try:
        with unforeseen_told(due.id), attempt(connection):
            settled = _fail_slot(connection, due, error, at=at)
    except StoreUnavailable:
        raise
    except QueriesError:
        pause_schedule(
            connection,
            due.workspace_id,
            due.id,
            code=error.code,
            reason=f"{error.message} {_WHAT_TO_DO}",
            at=at,
        )
        missed.miss_waiting(connection, due.workspace_id, due.id, because=PAUSED_BEFORE, at=at)
        settled = Settled(
            workspace_id=due.workspace_id,
            occurrence_key=None,
            schedule_id=due.id,
            outcome="failed",
            code=error.code,
            streak=0,
            paused_with=error.code,
        )
    events.count(connection, settled)
    return settled


def _fail_slot(
    connection: Connection, due: DueSchedule, error: QueriesError, *, at: datetime
) -> Settled:
    slot = schedules.next_slot_of(connection, due.workspace_id, due.id)
    key = slot_key(due.id, slot)
    admissions.fail_slot(
        connection,
        due.workspace_id,
        key=key,
        schedule_id=due.id,
        slot=slot,
        via="recurrence",
        at=at,
        failed_with=error,
    )
    streak = schedules.extend_streak(connection, due.workspace_id, due.id)
    consequence = follow_up(
        connection,
        due.workspace_id,
        due.id,
        occurrence_key=key,
        failure=(error.code, error.message),
        pause=(error.code, f"{error.message} {_WHAT_TO_DO}"),
        streak=streak,
        at=at,
    )
    return Settled(
        workspace_id=due.workspace_id,
        occurrence_key=key,
        schedule_id=due.id,
        outcome="failed",
        code=error.code,
        streak=streak,
        paused_with=consequence.paused_with,
    )
