"""Hop 1, first half: admit the due slots of every schedule and advance its recurrence.

One transaction a batch. A schedule that cannot be admitted is quarantined: its slot is recorded
as failed and it is paused with the reason. It stops nobody else.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Connection

from queries_orchestration.deliveries import events
from queries_orchestration.deliveries.quarantine import quarantine
from queries_orchestration.deliveries.settle import Settled
from queries_orchestration.model.errors import QueriesError, StoreUnavailable
from queries_orchestration.model.ids import slot_key
from queries_orchestration.model.missed_slots import why_missed
from queries_orchestration.model.recurrences import Recurrence, next_slot
from queries_orchestration.receives.backends import Backends
from queries_orchestration.receives.boundary import unforeseen_told
from queries_orchestration.store import cross_workspace, dispatch_stops, occurrences, schedules
from queries_orchestration.store.cross_workspace import DueSchedule
from queries_orchestration.store.database import attempt
from queries_orchestration.store.schedules import Schedule

SCHEDULES_A_BATCH: Final = 50
SLOTS_A_BATCH: Final = 200
OVERTAKEN: Final = "The slot before it was still being delivered when the next one came due."


@dataclass(frozen=True, slots=True)
class Admitted:
    """How many slots were admitted, and how many recorded as missed."""

    admitted: int = 0
    missed: int = 0

    def __add__(self, other: Admitted) -> Admitted:
        return Admitted(self.admitted + other.admitted, self.missed + other.missed)


def admit_due(backends: Backends, at: datetime) -> Admitted:
    """Admit in batches until nothing is due, dispatching is stopped or the pass's time is spent.

    Args:
        at: decides what is due (calendar clock).

    Raises:
        StoreUnavailable: the database cannot be reached; the batch is as if it had not begun.
    """
    total = Admitted()
    stopwatch = backends.waiting
    end = stopwatch.now() + backends.settings.dispatch_budget
    while stopwatch.now() < end:
        quarantined: list[Settled] = []
        with backends.database.transaction() as connection:
            if dispatch_stops.current(connection) is not None:
                break
            due = cross_workspace.due_schedules(connection, at, limit=SCHEDULES_A_BATCH)
            for one in due:
                if stopwatch.now() >= end:
                    break
                total += _admit_or_quarantine(backends, connection, one, at, quarantined)
            backends.reached("admitted, not committed")
        for settled in quarantined:
            events.announce(settled)
        if not due:
            break
    return total


def _admit_or_quarantine(
    backends: Backends,
    connection: Connection,
    due: DueSchedule,
    at: datetime,
    quarantined: list[Settled],
) -> Admitted:
    try:
        with unforeseen_told(due.id), attempt(connection):
            schedule = schedules.hold_due(connection, due.workspace_id, due.id, at)
            return Admitted() if schedule is None else _admit(backends, connection, schedule, at)
    except StoreUnavailable:
        raise
    except QueriesError as error:
        quarantined.append(quarantine(connection, due, error, at=backends.clock()))
        return Admitted()


def _admit(
    backends: Backends, connection: Connection, schedule: Schedule, at: datetime
) -> Admitted:
    """Admit a schedule's due slots and advance its recurrence, in the caller's transaction.

    Raises:
        InvalidRecurrence, UnknownTimeZone: its rule cannot be read.
    """
    claimed = schedule.next_slot
    if claimed is None:
        return Admitted()
    due, following = _due_slots(schedule.recurrence(), claimed, at)
    moved = schedules.advance(
        connection, schedule.workspace_id, schedule.id, claimed=claimed, next_slot=following
    )
    if not moved:
        return Admitted()
    admitted = missed = 0
    for slot in due:
        because = why_missed(
            schedule.missed_slots,
            slot,
            newest=slot == due[-1] and (following is None or following > at),
            at=at,
            lateness_limit=_seconds(schedule.lateness_limit),
        )
        inserted = occurrences.admit_slot(
            connection,
            schedule.workspace_id,
            key=slot_key(schedule.id, slot),
            schedule_id=schedule.id,
            slot=slot,
            via="recurrence",
            at=backends.clock(),
            missed_because=because,
        )
        admitted += inserted and because is None
        missed += inserted and because is not None
    if schedule.missed_slots == "latest" and admitted:
        missed += occurrences.miss_overtaken(
            connection,
            schedule.workspace_id,
            schedule.id,
            before=due[-1],
            because=OVERTAKEN,
            at=backends.clock(),
        )
    return Admitted(admitted, missed)


def _due_slots(
    recurrence: Recurrence, first: datetime, at: datetime
) -> tuple[list[datetime], datetime | None]:
    """Return the due slots from ``first`` on, a batch at most, and the slot that follows."""
    due = [first]
    following = next_slot(recurrence, first)
    while following is not None and following <= at and len(due) < SLOTS_A_BATCH:
        due.append(following)
        following = next_slot(recurrence, following)
    return due, following


def _seconds(seconds: int | None) -> timedelta | None:
    return None if seconds is None else timedelta(seconds=seconds)
