"""Hop 1, first half: admit the due slots of every schedule and advance its recurrence.

One transaction a batch, in turns over workspaces and with a share of slots for each schedule: what
has piled up somewhere keeps nobody's fresh slot waiting. A schedule that cannot be admitted is
quarantined: its slot is recorded as failed and it is paused with the reason. It stops nobody else.
"""

from __future__ import annotations

from collections.abc import Sequence
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
from queries_orchestration.model.turns import in_turns
from queries_orchestration.receives.backends import Backends
from queries_orchestration.receives.boundary import unforeseen_told
from queries_orchestration.store import (
    cross_workspace,
    dispatch_stops,
    missed as missed_slots,
    occurrences,
    schedules,
)
from queries_orchestration.store.cross_workspace import DueSchedule
from queries_orchestration.store.database import attempt
from queries_orchestration.store.schedules import Schedule

SCHEDULES_A_BATCH: Final = 50
SLOTS_A_TURN: Final = 50
"""Due slots of one schedule until all others have had a turn."""
OVERTAKEN: Final = "The slot before it was still being delivered when the next one came due."


@dataclass(frozen=True, slots=True)
class Admitted:
    """How many slots were admitted, and how many recorded as missed."""

    admitted: int = 0
    missed: int = 0

    def __add__(self, other: Admitted) -> Admitted:
        return Admitted(self.admitted + other.admitted, self.missed + other.missed)


def admit_due(backends: Backends, at: datetime) -> Admitted:
    """Admit in turns until nothing is due, dispatching is stopped or the pass's time is spent.

    Args:
        at: decides what is due (calendar clock).

    Raises:
        StoreUnavailable: the database cannot be reached; the batch is as if it had not begun.
    """
    total = Admitted()
    end = backends.waiting.now() + backends.settings.dispatch_budget
    while backends.waiting.now() < end:
        with backends.database.across.read() as connection:
            found = cross_workspace.due_schedules(connection, at)
        due = in_turns(found, lambda one: one.workspace_id)
        for start in range(0, len(due), SCHEDULES_A_BATCH):
            done, goes_on = _admit_batch(backends, due[start : start + SCHEDULES_A_BATCH], at, end)
            total += done
            if not goes_on:
                return total
        if not due:
            break
    return total


def _admit_batch(
    backends: Backends, due: Sequence[DueSchedule], at: datetime, end: float
) -> tuple[Admitted, bool]:
    """Admit a turn of some schedules; also returns False if no more may be admitted now."""
    done, goes_on = Admitted(), True
    quarantined: list[Settled] = []
    with backends.database.across.transaction() as connection:
        if dispatch_stops.current(connection) is not None:
            return done, False
        for one in due:
            if backends.waiting.now() >= end:
                goes_on = False
                break
            done += _admit_or_quarantine(backends, connection, one, at, quarantined)
        backends.reached("admitted, not committed")
    for settled in quarantined:
        backends.reached("quarantined, nobody told")
        events.announce(settled)
    return done, goes_on


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
    """Admit a turn of a schedule's due slots and advance its recurrence.

    All in the caller's transaction.

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
    admitted, why = 0, dict[datetime, str]()
    for slot in due:
        because = why_missed(
            schedule.missed_slots,
            slot,
            newest=slot == due[-1] and (following is None or following > at),
            at=at,
            lateness_limit=_seconds(schedule.lateness_limit),
        )
        if because is not None:
            why[slot] = because
            continue
        admitted += occurrences.admit_slot(
            connection,
            schedule.workspace_id,
            key=slot_key(schedule.id, slot),
            schedule_id=schedule.id,
            slot=slot,
            via="recurrence",
            at=backends.clock(),
        )
    missed = missed_slots.record_missed(
        connection,
        schedule.workspace_id,
        schedule.id,
        why,
        via="recurrence",
        at=backends.clock(),
    )
    if schedule.missed_slots == "latest" and admitted:
        missed += missed_slots.miss_overtaken(
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
    """Return the due slots from ``first`` on, a turn of them at most, and the slot that follows."""
    due = [first]
    following = next_slot(recurrence, first)
    while following is not None and following <= at and len(due) < SLOTS_A_TURN:
        due.append(following)
        following = next_slot(recurrence, following)
    return due, following


def _seconds(seconds: int | None) -> timedelta | None:
    return None if seconds is None else timedelta(seconds=seconds)
