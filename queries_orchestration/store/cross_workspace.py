"""What looks across workspaces: dispatch and recovery, nothing that a person can ask for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import Connection, select

from queries_orchestration.store import database
from queries_orchestration.store.occurrences import Receive
from queries_orchestration.store.rows import every, select_records
from queries_orchestration.store.schedules import Schedule
from queries_orchestration.store.tables import occurrences, schedules


@dataclass(frozen=True, slots=True)
class Waiting:
    """Work that is not settled and cannot start now; ``until`` is by the lease clock."""

    workspace_id: str
    occurrence_key: str
    schedule_id: str
    why: str
    until: datetime | None


def due_schedules(connection: Connection, at: datetime, *, limit: int) -> list[Schedule]:
    """Return the schedules whose next slot is due at ``at``, the longest due first."""
    return every(
        connection,
        Schedule,
        select_records(Schedule, schedules)
        .where(schedules.c.next_slot.is_not(None), schedules.c.next_slot <= at)
        .order_by(schedules.c.next_slot, schedules.c.id)
        .limit(limit),
    )


def silent_receives(connection: Connection, *, silence: float, limit: int) -> list[Receive]:
    """Return running receives whose heartbeat is older than ``silence`` seconds, locked.

    The lock keeps a heartbeat that comes just now from being overtaken by the recovery.
    """
    rows = connection.execute(
        select(occurrences.c.workspace_id, occurrences.c.key, occurrences.c.receive_number)
        .where(
            occurrences.c.state == "running",
            occurrences.c.heartbeat_at < database.now(connection) - timedelta(seconds=silence),
        )
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    return [Receive(*row) for row in rows]


def workspace_of(connection: Connection, occurrence_key: str) -> str | None:
    """Return the workspace that an occurrence belongs to."""
    return connection.scalar(
        select(occurrences.c.workspace_id).where(occurrences.c.key == occurrence_key)
    )


def unsettled(connection: Connection, *, silence: float, limit: int = 1_000) -> list[Waiting]:
    """Return what is not settled, and for what it waits."""
    at = database.now(connection)
    rows = connection.execute(
        select(occurrences)
        .where(occurrences.c.state != "settled")
        .order_by(occurrences.c.not_before, occurrences.c.key)
        .limit(limit)
    )
    waiting: list[Waiting] = []
    for row in rows:
        why, until = "an earlier slot of its schedule, or its turn", None
        if row.state == "running":
            why = "its worker, or the worker's heartbeat to fall silent"
            until = row.heartbeat_at + timedelta(seconds=silence)
        elif row.lease_until is not None and row.lease_until > at:
            why, until = "the run it was offered to", row.lease_until
        elif row.not_before > at:
            why, until = "its next receive", row.not_before
        waiting.append(Waiting(row.workspace_id, row.key, row.schedule_id, why, until))
    return waiting
