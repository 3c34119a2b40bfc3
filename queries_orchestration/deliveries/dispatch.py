"""Hop 1: claim due recurrences, insert unique occurrences, advance, recover, offer.

A pass asks "what is due since", never "what is due at this tick": whatever an earlier pass
missed, the next one finds.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Connection

from queries_orchestration.deliveries.recover import recover_silent, tend_offers
from queries_orchestration.exports.expire import expire_files
from queries_orchestration.model.errors import Refused
from queries_orchestration.model.ids import slot_key
from queries_orchestration.model.missed_slots import why_missed
from queries_orchestration.model.recurrences import Recurrence, next_slot
from queries_orchestration.receives.backends import Backends
from queries_orchestration.receives.publish import offer_lane
from queries_orchestration.receives.runs import Runs
from queries_orchestration.settings import DELIVERY_LANE
from queries_orchestration.store import cross_workspace, dispatchers, occurrences, schedules
from queries_orchestration.store.dispatchers import DELIVERY_DISPATCHER
from queries_orchestration.store.offers import Offer
from queries_orchestration.store.schedules import Schedule

SCHEDULES_A_BATCH: Final = 50
SLOTS_A_BATCH: Final = 200
OVERTAKEN: Final = "The slot before it was still being delivered when the next one came due."

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """What one dispatcher pass did; ``held_by`` names the other pass if this one ended at once."""

    held_by: str | None = None
    admitted: int = 0
    missed: int = 0
    recovered: int = 0
    offers: tuple[Offer, ...] = ()


def run_pass(backends: Backends, runs: Runs, *, at: datetime, offer: bool) -> Pass:
    """Run one dispatcher pass under the dispatcher's lock.

    Args:
        runs: what Dagster says of runs, for recovery.
        at: decides what is due, and nothing else (calendar clock).
        offer: whether somebody stands ready to take the offers to Dagster.
    """
    database, settings = backends.database, backends.settings
    with dispatchers.only_pass(database) as alone:
        if not alone:
            with database.read() as connection:
                last = dispatchers.heartbeat(connection, DELIVERY_DISPATCHER)
            return Pass(held_by=last.holder if last else "another process")
        with database.transaction() as connection:
            dispatchers.begin_pass(connection, DELIVERY_DISPATCHER, dispatchers.this_process())
        admitted, missed = _admit_due(backends, at)
        recovered = recover_silent(backends, runs) + tend_offers(backends, runs, DELIVERY_LANE)
        expire_files(backends)
        backends.reached("before offering")
        offers = offer_lane(database, settings, DELIVERY_LANE) if offer else []
        backends.reached("offers made")
        with database.transaction() as connection:
            dispatchers.end_pass(
                connection,
                DELIVERY_DISPATCHER,
                admitted=admitted,
                missed=missed,
                recovered=recovered,
                offered=len(offers),
            )
        return Pass(admitted=admitted, missed=missed, recovered=recovered, offers=tuple(offers))


def _admit_due(backends: Backends, at: datetime) -> tuple[int, int]:
    """Admit in batches until nothing is due or the pass's time is spent."""
    admitted = missed = 0
    end = time.monotonic() + backends.settings.dispatch_budget
    while time.monotonic() < end:
        with backends.database.transaction() as connection:
            due = cross_workspace.due_schedules(connection, at, limit=SCHEDULES_A_BATCH)
            for schedule in due:
                newly_admitted, newly_missed = _admit(backends, connection, schedule, at)
                admitted += newly_admitted
                missed += newly_missed
            backends.reached("admitted, not committed")
        if not due:
            break
    return admitted, missed


def _admit(
    backends: Backends, connection: Connection, schedule: Schedule, at: datetime
) -> tuple[int, int]:
    """Admit a schedule's due slots and advance its recurrence, in the caller's transaction."""
    claimed = schedule.next_slot
    if claimed is None:
        return 0, 0
    try:
        recurrence = schedule.recurrence()
    except Refused as error:
        _quarantine(backends, connection, schedule, error)
        return 0, 0
    due, following = _due_slots(recurrence, claimed, at)
    moved = schedules.advance(
        connection, schedule.workspace_id, schedule.id, claimed=claimed, next_slot=following
    )
    if not moved:
        return 0, 0
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
    return admitted, missed


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


def _quarantine(
    backends: Backends, connection: Connection, schedule: Schedule, error: Refused
) -> None:
    """Pause a schedule whose rule cannot be read, so that it stops nobody else."""
    schedules.pause(
        connection,
        schedule.workspace_id,
        schedule.id,
        code=error.code,
        reason=f"{error.message} Mend the rule, then resume the schedule.",
        at=backends.clock(),
    )
    log.error("schedule_auto_paused schedule=%s code=%s", schedule.id, error.code)


def _seconds(seconds: int | None) -> timedelta | None:
    return None if seconds is None else timedelta(seconds=seconds)
