"""Hop 1, after its time: admit the slots of a UTC day that nobody delivered, each once.

One transaction for some schedules: a backfill that is killed goes on where it was when it is
launched again, and two at once admit each slot once. What it admits is offered after all other
work.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import groupby
from typing import Final, get_args

from sqlalchemy import Connection

from queries_orchestration.deliveries.authority import governs, no_such_schedule
from queries_orchestration.deliveries.stop_dispatch import told
from queries_orchestration.model.audit import Action, AuditEvent, By, Subject
from queries_orchestration.model.backfills import (
    HISTORY,
    Change,
    Life,
    TakenBack,
    Turn,
    day_of,
    life_of,
    missing_slots,
)
from queries_orchestration.model.errors import (
    NotFound,
    QueriesError,
    Refused,
    StoreUnavailable,
)
from queries_orchestration.receives.backends import Backends
from queries_orchestration.receives.boundary import unforeseen_told
from queries_orchestration.receives.resting import resting
from queries_orchestration.store import (
    audit,
    backfills,
    cross_workspace,
    dispatch_stops,
    people,
    schedules,
    workspaces,
)
from queries_orchestration.store.database import attempt
from queries_orchestration.store.schedules import Schedule

_TURNS: Final[dict[Action, Turn]] = {
    "schedule_changed": "changed",
    "schedule_paused": "paused",
    "schedule_resumed": "resumed",
    "schedule_deleted": "ended",
}

BATCH_SECONDS: Final = 1.0
"""After so long a batch takes no more schedules: a pass or an edit of one of them waits for it."""

log = logging.getLogger(__name__)


class DispatchStopped(Refused):
    """All dispatching is stopped: no slot is admitted."""

    code = "dispatch_stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Backfilled:
    """What was admitted: slots recorded as missed, without a record, and failures of a backfill.

    ``called_off`` are those that were missed because slots before them failed in a backfill;
    ``passed_over`` the schedules that could not be looked at, each with the code.
    """

    missed: int = 0
    missing: int = 0
    called_off: int = 0
    failed: int = 0
    passed_over: tuple[tuple[str, str], ...] = ()

    @property
    def admitted(self) -> int:
        """How many slots are delivered now."""
        return self.missed + self.missing + self.called_off + self.failed

    def __add__(self, other: Backfilled) -> Backfilled:
        return Backfilled(
            missed=self.missed + other.missed,
            missing=self.missing + other.missing,
            called_off=self.called_off + other.called_off,
            failed=self.failed + other.failed,
            passed_over=(*self.passed_over, *other.passed_over),
        )


def backfill(
    backends: Backends,
    day: date,
    *,
    by: By,
    workspace_id: str | None = None,
    schedule_id: str | None = None,
) -> Backfilled:
    """Admit the slots of a UTC day that are missed, or missing, up to now; launched twice, once.

    What a backfill tried before and nobody got is admitted again.

    Only of schedules that are active, and only slots that were due while they were: after their
    creation, in no pause, within the last 365 days. What the dispatcher has yet to reach is its
    own.

    Args:
        day: of UTC, whatever the zones of the schedules are; today is one.
        by: who asks. A person's backfill is of the schedules over which they have authority.
        workspace_id: of this workspace alone; None: of all, which no person can ask for.
        schedule_id: of this schedule of the workspace alone; None: of each.

    Raises:
        NotFound: there is no such workspace or schedule, or who asks has no authority over it:
            always the same answer.
        Refused: the day is still to come (``future_day``) or is older than the history
            (``before_history``); the one schedule is paused (``schedule_paused``) or has ended
            (``schedule_ended``); all dispatching is stopped (``dispatch_stopped``); a schedule or a
            person without their workspace (``no_workspace``).
        StoreUnavailable: the database cannot be reached; what is committed stays.
    """
    now = backends.clock()
    _check_day(day, now)
    _check_scope(by, workspace_id, schedule_id)
    if schedule_id is not None and workspace_id is not None:
        with _admitting(backends, workspace_id) as connection:
            return _backfill_schedule(
                backends, connection, workspace_id, schedule_id, day, by=by, alone=True
            )
    with backends.database.across.read() as connection:
        if workspace_id is not None and not _may_ask(connection, workspace_id, by):
            raise NotFound("There is no such workspace, or not for you.")
        found = cross_workspace.active_schedules(connection, workspace_id)
    total = Backfilled()
    for of_workspace, those in groupby(found, lambda one: one.workspace_id):
        left = deque(one.id for one in those)
        while left:
            total += _backfill_batch(backends, of_workspace, left, day, by=by)
    return total


def _backfill_batch(
    backends: Backends, workspace_id: str, left: deque[str], day: date, *, by: By
) -> Backfilled:
    """Admit the slots of the first schedules that are left, and take these from there."""
    done = Backfilled()
    with _admitting(backends, workspace_id) as connection:
        end = backends.waiting.now() + BATCH_SECONDS
        while left:
            schedule_id = left.popleft()
            try:
                with unforeseen_told(schedule_id), attempt(connection):
                    done += _backfill_schedule(
                        backends, connection, workspace_id, schedule_id, day, by=by, alone=False
                    )
            except StoreUnavailable:
                raise
            except QueriesError as error:
                log.warning("backfill_passed_over schedule=%s code=%s", schedule_id, error.code)
                done += Backfilled(passed_over=((schedule_id, error.code),))
            if backends.waiting.now() >= end:
                break
    return done


def backfill_range(
    backends: Backends,
    first: date,
    last: date,
    *,
    by: By,
    workspace_id: str | None = None,
    schedule_id: str | None = None,
) -> Iterator[tuple[date, Backfilled]]:
    """Admit the slots of the UTC days from ``first`` to ``last``, and yield what came of each.

    Raises:
        Refused: the days are in the wrong order (``empty_range``); else as ``backfill``, at either
            end before anything is admitted.
        NotFound, StoreUnavailable: as ``backfill``.
    """
    if last < first:
        raise Refused(
            f"There is no day from {first} to {last}: give the earlier one first.",
            code="empty_range",
        )
    now = backends.clock()
    _check_day(first, now)
    _check_day(last, now)
    for number in range((last - first).days + 1):
        day = first + timedelta(days=number)
        yield (
            day,
            backfill(backends, day, by=by, workspace_id=workspace_id, schedule_id=schedule_id),
        )


def _check_day(day: date, now: datetime) -> None:
    if day > now.astimezone(UTC).date():
        raise Refused(
            f"{day} is still to come: a backfill is of days up to today, by UTC.",
            code="future_day",
        )
    if day_of(day).until <= now - HISTORY:
        raise Refused(
            f"{day} is older than the history, which reaches back {HISTORY.days} days.",
            code="before_history",
        )


def _check_scope(by: By, workspace_id: str | None, schedule_id: str | None) -> None:
    if workspace_id is None and (schedule_id is not None or not by.governs_all):
        raise Refused(
            "Give the workspace, too: schedules and people are of one.", code="no_workspace"
        )


def _may_ask(connection: Connection, workspace_id: str, by: By) -> bool:
    """Whether there is such a workspace, and who asks is active there if it is a person."""
    if workspaces.get(connection, workspace_id) is None:
        return False
    if by.person_id is None:
        return True
    person = people.get(connection, workspace_id, by.person_id)
    return person is not None and person.active


@contextmanager
def _admitting(backends: Backends, workspace_id: str) -> Iterator[Connection]:
    """Open a transaction that admits slots, unless all dispatching is stopped."""
    with resting(backends):
        with backends.database.transaction(workspace_id) as connection:
            stop = dispatch_stops.current(connection)
            if stop is not None:
                raise DispatchStopped(told(stop))
            yield connection
            backends.reached("backfill, not committed")
        backends.reached("schedules backfilled, not the next")


def _backfill_schedule(
    backends: Backends,
    connection: Connection,
    workspace_id: str,
    schedule_id: str,
    day: date,
    *,
    by: By,
    alone: bool,
) -> Backfilled:
    """Admit the slots of one schedule, in the caller's transaction.

    Args:
        alone: whether it was asked for by itself, so that it is told why it has none.
    """
    schedule = schedules.hold(connection, workspace_id, schedule_id)
    if schedule is None or not governs(connection, schedule, by):
        if alone:
            raise no_such_schedule()
        return Backfilled()
    if schedule.state != "active":
        if alone:
            raise _not_active(schedule)
        return Backfilled()
    now = backends.clock()
    life = _life(connection, schedule, now)
    again: dict[TakenBack, int] = {
        outcome: backfills.admit_again(
            connection,
            workspace_id,
            schedule_id,
            _settled(connection, schedule, life, day, outcome),
            outcome=outcome,
            at=now,
        )
        for outcome in get_args(TakenBack)
    }
    missing = backfills.admit_missing(
        connection,
        workspace_id,
        schedule_id,
        missing_slots(schedule.recurrence(), life, day, before=schedule.next_slot),
        at=now,
    )
    done = Backfilled(
        missed=again["missed"],
        missing=missing,
        called_off=again["called_off"],
        failed=again["failed"],
    )
    if done.admitted:
        audit.record(
            connection,
            AuditEvent(
                workspace_id=workspace_id,
                at=now,
                by=by,
                action="backfill_launched",
                subject=Subject("schedule", schedule_id),
            ),
        )
    return done


def _life(connection: Connection, schedule: Schedule, now: datetime) -> Life:
    """Return when the schedule was active, as the audit trail tells.

    Every version of the code has written it, in the transaction of each pause and change.
    """
    told_of = audit.moments(
        connection,
        schedule.workspace_id,
        Subject("schedule", schedule.id),
        tuple(_TURNS),
        since=now - HISTORY,
    )
    changes = [Change(at, _TURNS[action]) for action, at in told_of]
    return life_of(schedule.created_at, changes, now=now)


def _settled(
    connection: Connection, schedule: Schedule, life: Life, day: date, outcome: TakenBack
) -> Sequence[datetime]:
    sought = day_of(day)
    recorded = backfills.settled_slots(
        connection,
        schedule.workspace_id,
        schedule.id,
        outcome=outcome,
        after=sought.after,
        until=sought.until,
    )
    return [slot for slot in recorded if life.was_due(slot)]


def _not_active(schedule: Schedule) -> Refused:
    if schedule.state == "ended":
        return Refused(
            "The schedule has ended: give it another end, or run it now.", code="schedule_ended"
        )
    return Refused(
        f"The schedule is paused, with {schedule.pause_code}: resume it first.",
        code="schedule_paused",
    )
