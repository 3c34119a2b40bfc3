"""What a settlement does to its schedule: the failures in a row, and the pause after too many."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import Connection

from queries_orchestration.deliveries.notify import write_notices
from queries_orchestration.model.audit import SYSTEM, AuditEvent, Subject
from queries_orchestration.model.backfills import CALLED_OFF, FAILURES_THAT_CALL_OFF, calls_off
from queries_orchestration.model.notices import notice_due
from queries_orchestration.model.outcomes import FAILURES_THAT_PAUSE, Outcome, streak_change
from queries_orchestration.store import audit, backfills, missed, schedules
from queries_orchestration.store.occurrences import Occurrence

FIVE_FAILURES: Final = "five_failures"
PAUSED_BEFORE: Final = "The schedule was paused before it could be delivered."


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """How an occurrence ends; ``access_lost`` pauses the schedule of an automatic one.

    Unless its actor is not the owner any more.
    """

    outcome: Outcome
    code: str | None = None
    message: str | None = None
    access_lost: bool = False


@dataclass(frozen=True, slots=True)
class Consequence:
    """The schedule's failures in a row now, and the code of its pause if it was paused.

    ``called_off`` is how many slots of its backfill were.
    """

    streak: int
    paused_with: str | None = None
    called_off: int = 0


def count(
    connection: Connection, occurrence: Occurrence, settlement: Settlement, *, at: datetime
) -> Consequence:
    """Write the streak, and pause when it is due, in the caller's transaction.

    A test, a resend and a slot that a backfill delivers count for nothing.
    """
    workspace_id, schedule_id = occurrence.workspace_id, occurrence.schedule_id
    change = streak_change(settlement.outcome, automatic=occurrence.is_automatic)
    counts = occurrence.purpose == "delivery" and not occurrence.is_backfilled
    if change == "untouched" or not counts:
        called_off = _call_off(connection, occurrence, settlement, at=at)
        streak = schedules.streak_of(connection, workspace_id, schedule_id)
        return Consequence(streak, called_off=called_off)
    if change == "reset":
        schedules.reset_streak(connection, workspace_id, schedule_id)
        return Consequence(0)
    streak = schedules.extend_streak(connection, workspace_id, schedule_id)
    code, reason = settlement.code or settlement.outcome, settlement.message or ""
    return follow_up(
        connection,
        workspace_id,
        schedule_id,
        occurrence_key=occurrence.key,
        failure=(code, reason),
        pause=_pause_due(settlement, streak, is_owners=_is_owners(connection, occurrence)),
        streak=streak,
        at=at,
    )


def _call_off(
    connection: Connection, occurrence: Occurrence, settlement: Settlement, *, at: datetime
) -> int:
    """Record as missed what waits of the schedule's backfill, if all of it would fail alike.

    Returns:
        How much that is.
    """
    if not occurrence.is_backfilled or settlement.outcome != "failed":
        return 0
    workspace_id, schedule_id = occurrence.workspace_id, occurrence.schedule_id
    last = backfills.last_failures(
        connection, workspace_id, schedule_id, limit=FAILURES_THAT_CALL_OFF
    )
    if not calls_off(last):
        return 0
    return missed.miss_backfilled(
        connection,
        workspace_id,
        schedule_id,
        because=f"Slots before it failed with {settlement.code}: {settlement.message}"
        " Mend the cause, then backfill again.",
        at=at,
        code=CALLED_OFF,
    )


def _is_owners(connection: Connection, occurrence: Occurrence) -> bool:
    """Tell whether it was read as who owns the schedule still; a transfer waits until we are done.

    The streak has just been written, so that the schedule's row is ours.
    """
    owner_id = schedules.owner_of(connection, occurrence.workspace_id, occurrence.schedule_id)
    return occurrence.actor_id == owner_id


def _pause_due(settlement: Settlement, streak: int, *, is_owners: bool) -> tuple[str, str] | None:
    """Return the code and reason of the pause that a failure calls for, with what to do.

    Args:
        is_owners: whether the schedule belongs to the actor; another's access is not its own.
    """
    code = settlement.code or settlement.outcome
    if settlement.access_lost and is_owners:
        return code, (
            f"{settlement.message} Give the owner access or transfer the schedule to another owner,"
            " then resume the schedule."
        )
    if streak >= FAILURES_THAT_PAUSE:
        return FIVE_FAILURES, (
            f"{streak} deliveries in a row failed, the last with {code}: {settlement.message}"
            " Mend the cause, then resume the schedule."
        )
    return None


def follow_up(
    connection: Connection,
    workspace_id: str,
    schedule_id: str,
    *,
    occurrence_key: str,
    failure: tuple[str, str],
    pause: tuple[str, str] | None,
    streak: int,
    at: datetime,
) -> Consequence:
    """Pause a schedule after a failure that calls for it, and let people be told.

    What waits then, and no run has, is missed: resuming never fires the past.

    Args:
        failure: code and reason of the failed occurrence.
        pause: code and reason of the pause, with what to do.
        streak: failures in a row, this one among them.
    """
    paused = pause is not None and pause_schedule(
        connection, workspace_id, schedule_id, code=pause[0], reason=pause[1], at=at
    )
    if paused:
        missed.miss_waiting(connection, workspace_id, schedule_id, because=PAUSED_BEFORE, at=at)
    kind = notice_due(streak=streak, paused=paused)
    if kind is not None:
        code, reason = pause if paused and pause else failure
        write_notices(
            connection,
            workspace_id,
            schedule_id,
            kind=kind,
            occurrence_key=occurrence_key,
            code=code,
            reason=reason,
            streak=streak,
            at=at,
        )
    return Consequence(streak, pause[0] if paused and pause else None)


def pause_schedule(
    connection: Connection,
    workspace_id: str,
    schedule_id: str,
    *,
    code: str,
    reason: str,
    at: datetime,
) -> bool:
    """Let the system pause an active schedule; False if it is not active."""
    paused = schedules.pause(connection, workspace_id, schedule_id, code=code, reason=reason, at=at)
    if paused:
        audit.record(
            connection,
            AuditEvent(
                workspace_id=workspace_id,
                at=at,
                by=SYSTEM,
                action="schedule_paused",
                subject=Subject("schedule", schedule_id),
                code=code,
            ),
        )
    return paused
