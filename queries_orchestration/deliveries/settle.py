"""Hop 7: settle an occurrence once, with its streak and its schedule's pause."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import Connection

from queries_orchestration.exports import settle as export_settle
from queries_orchestration.model.errors import ACCESS_CODES, QueriesError, ReceiveLost
from queries_orchestration.model.outcomes import (
    FAILURES_THAT_PAUSE,
    Outcome,
    outcome_of_deliveries,
    streak_change,
)
from queries_orchestration.receives.backends import Backends
from queries_orchestration.store import claims, deliveries, exports, occurrences, schedules
from queries_orchestration.store.claims import Receive
from queries_orchestration.store.occurrences import Occurrence

FIVE_FAILURES: Final = "five_failures"
ALL_REFUSED: Final = "all_refused"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """How an occurrence ends; ``access_lost`` pauses the schedule of an automatic one."""

    outcome: Outcome
    code: str | None = None
    message: str | None = None
    access_lost: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What a settlement did, to be announced once it is committed."""

    occurrence_key: str
    schedule_id: str
    outcome: Outcome
    code: str | None
    paused_with: str | None


def settle(
    connection: Connection, receive: Receive, settlement: Settlement, *, at: datetime
) -> Settled:
    """Settle the occurrence that ``receive`` holds, all in the caller's transaction.

    Raises:
        ReceiveLost: a newer receive or a settlement took the work; nothing was written.
    """
    occurrences.settle(
        connection,
        receive,
        outcome=settlement.outcome,
        code=settlement.code,
        message=settlement.message,
        at=at,
    )
    occurrence = _occurrence(connection, receive)
    if settlement.outcome in ("failed", "cancelled"):
        _close_unfinished(connection, occurrence, settlement)
    paused_with = _count(connection, occurrence, settlement, at=at)
    return Settled(
        occurrence_key=occurrence.key,
        schedule_id=occurrence.schedule_id,
        outcome=settlement.outcome,
        code=settlement.code,
        paused_with=paused_with,
    )


def cancel_within(
    connection: Connection, workspace_id: str, key: str, *, message: str, at: datetime
) -> bool:
    """Settle an unsettled occurrence as cancelled, whoever holds it; False if it is settled."""
    if not occurrences.cancel(connection, workspace_id, key, message=message, at=at):
        return False
    occurrence = occurrences.get(connection, workspace_id, key)
    if occurrence is not None:
        _close_unfinished(connection, occurrence, Settlement(outcome="cancelled", message=message))
    return True


def announce(settled: Settled) -> None:
    """Log what operators count: failed runs and automatic pauses."""
    if settled.outcome == "failed":
        log.warning(
            "schedule_run_failed schedule=%s occurrence=%s code=%s",
            settled.schedule_id,
            settled.occurrence_key,
            settled.code,
        )
    if settled.paused_with is not None:
        log.warning(
            "schedule_auto_paused schedule=%s occurrence=%s code=%s",
            settled.schedule_id,
            settled.occurrence_key,
            settled.paused_with,
        )


def settle_skipped_empty(backends: Backends, receive: Receive) -> Outcome:
    """Settle an occurrence whose empty result is not delivered."""
    with backends.database.transaction() as connection:
        settled = settle(
            connection, receive, Settlement(outcome="skipped_empty"), at=backends.clock()
        )
    announce(settled)
    return settled.outcome


def settle_delivered(backends: Backends, receive: Receive) -> Outcome:
    """Settle an occurrence whose recipients all have a final state."""
    with backends.database.transaction() as connection:
        rows = deliveries.of_occurrence(connection, receive.workspace_id, receive.key)
        outcome = outcome_of_deliveries([row.state for row in rows])
        all_refused = outcome == "failed"
        settled = settle(
            connection,
            receive,
            Settlement(
                outcome=outcome,
                code=ALL_REFUSED if all_refused else None,
                message="Every recipient was refused for good." if all_refused else None,
            ),
            at=backends.clock(),
        )
    announce(settled)
    return settled.outcome


def fail(backends: Backends, receive: Receive, error: QueriesError) -> None:
    """Settle an occurrence as failed for good with the code and message of ``error``."""
    with backends.database.transaction() as connection:
        settled = settle(
            connection,
            receive,
            Settlement(
                outcome="failed",
                code=error.code,
                message=error.message,
                access_lost=error.code in ACCESS_CODES,
            ),
            at=backends.clock(),
        )
    announce(settled)


def _occurrence(connection: Connection, receive: Receive) -> Occurrence:
    occurrence = occurrences.get(connection, receive.workspace_id, receive.key)
    if occurrence is None:
        raise ReceiveLost("The occurrence is gone.")
    return occurrence


def _close_unfinished(
    connection: Connection, occurrence: Occurrence, settlement: Settlement
) -> None:
    """Leave no export in the making and no delivery without a final state.

    The render of a report is work of its own: it goes on when its delivery has failed, and its file
    is kept; it is cancelled with its delivery.
    """
    code = settlement.code or settlement.outcome
    if occurrence.export_id is not None:
        _close_export(connection, occurrence.workspace_id, occurrence.export_id, settlement)
    for delivery in deliveries.of_occurrence(connection, occurrence.workspace_id, occurrence.key):
        if delivery.state == "sending":
            deliveries.conclude(connection, delivery, state="uncertain", code=code)


def _close_export(
    connection: Connection, workspace_id: str, export_id: str, settlement: Settlement
) -> None:
    is_cancelled = settlement.outcome == "cancelled"
    if claims.get(connection, workspace_id, export_id) is None:
        exports.settle_unfinished(
            connection,
            workspace_id,
            export_id,
            state="cancelled" if is_cancelled else "failed",
            code=None if is_cancelled else settlement.code or settlement.outcome,
            message=settlement.message,
        )
    elif is_cancelled:
        by = settlement.message or "Cancelled with its delivery."
        export_settle.cancel_within(connection, workspace_id, export_id, by=by)


def _count(
    connection: Connection, occurrence: Occurrence, settlement: Settlement, *, at: datetime
) -> str | None:
    """Write the streak, and pause when it is due; returns the code of the pause."""
    workspace_id, schedule_id = occurrence.workspace_id, occurrence.schedule_id
    change = streak_change(settlement.outcome, automatic=occurrence.is_automatic)
    if change == "reset":
        schedules.reset_streak(connection, workspace_id, schedule_id)
    streak = 0
    if change == "extend":
        streak = schedules.extend_streak(connection, workspace_id, schedule_id)
    code, reason = settlement.code, settlement.message
    if settlement.access_lost and occurrence.is_automatic:
        reason = f"{reason} Give the owner access or change the owner, then resume the schedule."
    elif streak >= FAILURES_THAT_PAUSE:
        code = FIVE_FAILURES
        reason = (
            f"{streak} deliveries in a row failed, the last with {settlement.code}:"
            f" {settlement.message} Mend the cause, then resume the schedule."
        )
    else:
        return None
    paused = schedules.pause(
        connection,
        workspace_id,
        schedule_id,
        code=code or settlement.outcome,
        reason=reason,
        at=at,
    )
    return code if paused else None
