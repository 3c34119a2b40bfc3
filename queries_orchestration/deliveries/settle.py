"""Hop 7: settle an occurrence once, with its streak and its schedule's pause."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlalchemy import Connection

from queries_orchestration.deliveries import events
from queries_orchestration.deliveries.streaks import Settlement, count
from queries_orchestration.deliveries.submit import conclude_unfinished
from queries_orchestration.exports import settle as export_settle
from queries_orchestration.model.errors import ACCESS_CODES, QueriesError, ReceiveLost
from queries_orchestration.model.outcomes import Outcome, outcome_of_deliveries
from queries_orchestration.observing.traces import span
from queries_orchestration.receives.backends import Backends
from queries_orchestration.store import claims, deliveries, exports, occurrences
from queries_orchestration.store.claims import Receive
from queries_orchestration.store.occurrences import Occurrence

ALL_REFUSED: Final = "all_refused"
NOBODY_TOOK_IT: Final = "Every recipient was refused for good."


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What a settlement did, to be announced once it is committed.

    ``streak`` is the schedule's failures in a row since; ``occurrence_key`` is None if not even
    the slot could be read; ``called_off`` is how much of the schedule's backfill was.
    """

    workspace_id: str
    occurrence_key: str | None
    schedule_id: str
    outcome: Outcome
    code: str | None
    streak: int
    paused_with: str | None
    called_off: int = 0


def settle(
    connection: Connection, receive: Receive, settlement: Settlement, *, at: datetime
) -> Settled:
    """Settle the occurrence that ``receive`` holds, all in the caller's transaction.

    Raises:
        ReceiveLost: a newer receive or a settlement took the work; nothing was written.
    """
    with span("settle", work=receive.key, outcome=settlement.outcome):
        occurrences.settle(
            connection,
            receive,
            outcome=settlement.outcome,
            code=settlement.code,
            message=settlement.message,
            at=at,
        )
    occurrence = _occurrence(connection, receive)
    if settlement.outcome in ("failed", "cancelled", "missed"):
        _close_unfinished(connection, occurrence, settlement)
    deliveries.forget_mailboxes(connection, occurrence.workspace_id, occurrence.key)
    consequence = count(connection, occurrence, settlement, at=at)
    settled = Settled(
        workspace_id=occurrence.workspace_id,
        occurrence_key=occurrence.key,
        schedule_id=occurrence.schedule_id,
        outcome=settlement.outcome,
        code=settlement.code,
        streak=consequence.streak,
        paused_with=consequence.paused_with,
        called_off=consequence.called_off,
    )
    events.count(connection, settled)
    return settled


def cancel_within(
    connection: Connection, workspace_id: str, key: str, *, message: str, at: datetime
) -> bool:
    """Settle an unsettled occurrence as cancelled, whoever holds it; False if it is settled."""
    if not occurrences.cancel(connection, workspace_id, key, message=message, at=at):
        return False
    occurrence = occurrences.get(connection, workspace_id, key)
    if occurrence is not None:
        _close_unfinished(connection, occurrence, Settlement(outcome="cancelled", message=message))
        deliveries.forget_mailboxes(connection, workspace_id, key)
    return True


def settle_skipped_empty(backends: Backends, receive: Receive) -> Outcome:
    """Settle an occurrence whose empty result is not delivered."""
    with backends.database.transaction(receive.workspace_id) as connection:
        settled = settle(
            connection, receive, Settlement(outcome="skipped_empty"), at=backends.clock()
        )
    events.announce(settled)
    return settled.outcome


def settle_delivered(backends: Backends, receive: Receive) -> Outcome:
    """Settle an occurrence whose recipients all have a final state."""
    with backends.database.transaction(receive.workspace_id) as connection:
        rows = deliveries.of_occurrence(connection, receive.workspace_id, receive.key)
        outcome = outcome_of_deliveries([row.state for row in rows])
        all_refused = outcome == "failed"
        settled = settle(
            connection,
            receive,
            Settlement(
                outcome=outcome,
                code=ALL_REFUSED if all_refused else None,
                message=NOBODY_TOOK_IT if all_refused else None,
            ),
            at=backends.clock(),
        )
    events.announce(settled)
    return settled.outcome


def fail(backends: Backends, receive: Receive, error: QueriesError) -> None:
    """Settle an occurrence as failed for good with the code and message of ``error``."""
    with backends.database.transaction(receive.workspace_id) as connection:
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
    backends.reached("failure settled, nobody told")
    events.announce(settled)


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
    # A resend has made no export: it sends another one's.
    if occurrence.export_id is not None and occurrence.purpose != "resend":
        _close_export(connection, occurrence.workspace_id, occurrence.export_id, settlement)
    for delivery in deliveries.of_occurrence(connection, occurrence.workspace_id, occurrence.key):
        if delivery.state == "sending":
            conclude_unfinished(connection, delivery, code=code)


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
        message = settlement.message or "Cancelled with its delivery."
        export_settle.cancel_within(connection, workspace_id, export_id, message=message)
