"""What operators count, as log events with stable names and fields: see docs/events.md.

Ids and codes only; never an address, a value or a person's name. Each event is one line
``name key=value …``, and carries the same fields as attributes of the record.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from sqlalchemy import Connection

from queries_orchestration.store import counters

if TYPE_CHECKING:
    from queries_orchestration.deliveries.settle import Settled

RUN_FAILED: Final = "schedule_run_failed"
AUTO_PAUSED: Final = "schedule_auto_paused"
FIELDS: Final = ("workspace", "schedule", "occurrence", "code", "streak")

log = logging.getLogger(__name__)


def count(connection: Connection, settled: Settled) -> None:
    """Count what ``announce`` logs, in the transaction that settles."""
    if settled.outcome == "failed":
        counters.count(connection, counters.RUNS_FAILED, code=settled.code)
    if settled.paused_with is not None:
        counters.count(connection, counters.AUTO_PAUSES, code=settled.paused_with)


def announce(settled: Settled) -> None:
    """Log a failed run, an automatic pause and what was called off, once they are committed."""
    if settled.outcome == "failed":
        _log(RUN_FAILED, settled, settled.code)
    if settled.paused_with is not None:
        _log(AUTO_PAUSED, settled, settled.paused_with)
    if settled.called_off:
        log.warning(
            "backfill_called_off workspace=%s schedule=%s occurrence=%s code=%s slots=%d",
            settled.workspace_id,
            settled.schedule_id,
            settled.occurrence_key,
            settled.code,
            settled.called_off,
        )


def _log(event: str, settled: Settled, code: str | None) -> None:
    values = (
        settled.workspace_id,
        settled.schedule_id,
        settled.occurrence_key or "-",
        code or "-",
        settled.streak,
    )
    told = dict(zip(FIELDS, values, strict=True))
    log.warning(
        "%s %s",
        event,
        " ".join(f"{name}={value}" for name, value in told.items()),
        extra={"event": event, **told},
    )
