"""Hop 1, first half: admit the due slots of every schedule and advance its recurrence.

One transaction a batch, in turns over workspaces and with a share of slots for each schedule: what
has piled up somewhere keeps nobody's fresh slot waiting. A schedule that cannot be admitted is
quarantined: its slot is recorded as failed and it is paused with the reason. It stops nobody else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, cast

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
    admissions,
    cross_workspace,
    dispatch_stops,
    missed as missed_slots,
    schedules,
)
from queries_orchestration.store.cross_workspace import DueSchedule
from queries_orchestration.store.database import attempt
from queries_orchestration.store.schedules import Schedule

SCHEDULES_A_BATCH: Final = 200
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
            if backends.waiting.now() >= end:
                return total
            done, goes_on = _admit_batch(backends, due[start : start + SCHEDULES_A_BATCH], at)
            total += done
            if not goes_on:
                return total
        if not due:
            break
    return total


def _admit_batch(
    backends: Backends, due: Sequence[DueSchedule], at: datetime
) -> tuple[Admitted, bool]:
    """Admit a turn of some schedules; also returns False if no more may be admitted now."""
    quarantined: list[Settled] = []
    with backends.database.across.transaction() as connection:
        if dispatch_stops.current(connection) is not None:
            return Admitted(), False
        done = _admit_or_quarantine(backends, connection, due, at, quarantined)
        backends.reached("admitted, not committed")
    for settled in quarantined:
        backends.reached("quarantined, nobody told")
        events.announce(settled)
    return done, True


def _admit_or_quarantine(
    backends: Backends,
    connection: Connection,
    due: Sequence[DueSchedule],
    at: datetime,
    quarantined: list[Settled],
) -> Admitted:
    """Admit all at once, or, if one cannot be, each by itself."""
    try:
        with unforeseen_told(due[0].id), attempt(connection):
            return _admit(backends, connection, due, at)
    except StoreUnavailable:
        raise
    except QueriesError as error:
        if len(due) == 1:
            quarantined.append(quarantine(connection, due[0], error, at=backends.clock()))
            return Admitted()
    done = Admitted()
    # In the order in which all at once are locked.
    for one in sorted(due, key=lambda one: (one.workspace_id, one.id)):
        done += _admit_or_quarantine(backends, connection, [one], at, quarantined)
    return done


def _admit(
    backends: Backends, connection: Connection, due: Sequence[DueSchedule], at: datetime
) -> Admitted:
    """Admit a turn of the due slots of some schedules and advance their recurrences.

    All in the caller's transaction; so many statements whatever their number.

    Raises:
        InvalidRecurrence, UnknownTimeZone: a rule cannot be read.
        UnreadableRow: the row of one cannot be read.
    """
    held = schedules.hold_due(connection, [(one.workspace_id, one.id) for one in due], at)
    turns = [_turn(schedule, at) for schedule in held]
    schedules.advance(connection, {turn.of: turn.following for turn in turns})
    admitted = admissions.admit_slots(
        connection,
        [(*turn.of, slot) for turn in turns for slot in turn.slots],
        via="recurrence",
        at=backends.clock(),
    )
    missed = 0
    for turn in turns:
        missed += missed_slots.record_missed(
            connection, *turn.of, turn.why_missed, via="recurrence", at=backends.clock()
        )
    newest = {
        turn.of: turn.newest
        for turn in turns
        if turn.overtakes and any(slot_key(turn.of[1], slot) in admitted for slot in turn.slots)
    }
    for of in missed_slots.schedules_with_waiting(connection, list(newest), besides=admitted):
        missed += missed_slots.miss_overtaken(
            connection, *of, before=newest[of], because=OVERTAKEN, at=backends.clock()
        )
    return Admitted(len(admitted), missed)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Turn:
    """What becomes of some due slots of a schedule, and the slot that follows.

    ``of`` are the ids of its workspace and of itself; ``overtakes``: the newest slot makes a miss
    of those that still wait.
    """

    of: tuple[str, str]
    slots: list[datetime]
    why_missed: dict[datetime, str]
    newest: datetime
    following: datetime | None
    overtakes: bool


def _turn(schedule: Schedule, at: datetime) -> _Turn:
    claimed = cast(datetime, schedule.next_slot)  # it is due
    due, following = _due_slots(schedule.recurrence(), claimed, at)
    slots, why = list[datetime](), dict[datetime, str]()
    for slot in due:
        because = why_missed(
            schedule.missed_slots,
            slot,
            newest=slot == due[-1] and (following is None or following > at),
            at=at,
            lateness_limit=_seconds(schedule.lateness_limit),
        )
        if because is None:
            slots.append(slot)
        else:
            why[slot] = because
    return _Turn(
        of=(schedule.workspace_id, schedule.id),
        slots=slots,
        why_missed=why,
        newest=due[-1],
        following=following,
        overtakes=schedule.missed_slots == "latest",
    )


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
