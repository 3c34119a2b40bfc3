"""The switch that stops all dispatching, over all workspaces, and who turned it when and why.

While a stop is open no slot is admitted and no work is offered; what a run has goes on.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection, func, select, update
from sqlalchemy.dialects import postgresql, sqlite

from queries_orchestration.store.rows import every, one_or_none, select_records
from queries_orchestration.store.tables import dispatch_stops


@dataclass(frozen=True, slots=True, kw_only=True)
class DispatchStop:
    """One stop and, once it is over, its start; instants are the calendar clock's."""

    number: int
    stopped_at: datetime
    stopped_by: str
    stop_reason: str
    started_at: datetime | None
    started_by: str | None
    start_reason: str | None


def current(connection: Connection) -> DispatchStop | None:
    """Return the stop that is open; None while dispatching goes on."""
    return one_or_none(
        connection,
        DispatchStop,
        select_records(DispatchStop, dispatch_stops).where(dispatch_stops.c.started_at.is_(None)),
    )


def listing(connection: Connection, *, limit: int) -> list[DispatchStop]:
    """Return the newest stops, the newest first."""
    newest = select_records(DispatchStop, dispatch_stops).order_by(dispatch_stops.c.number.desc())
    return every(connection, DispatchStop, newest.limit(limit))


def stop(connection: Connection, *, by: str, reason: str, at: datetime) -> bool:
    """Open a stop; False if one is open, or somebody else has just opened one."""
    if current(connection) is not None:
        return False
    last = connection.scalar(select(func.max(dispatch_stops.c.number))) or 0
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    opened = connection.execute(
        dialect.insert(dispatch_stops)
        .values(number=last + 1, stopped_at=at, stopped_by=by, stop_reason=reason)
        .on_conflict_do_nothing()
    )
    return opened.rowcount == 1


def start(connection: Connection, *, by: str, reason: str, at: datetime) -> bool:
    """End the open stop; False if none is open."""
    ended = connection.execute(
        update(dispatch_stops)
        .where(dispatch_stops.c.started_at.is_(None))
        .values(started_at=at, started_by=by, start_reason=reason)
    )
    return ended.rowcount == 1
