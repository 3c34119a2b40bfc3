"""The dispatcher's one lock and its heartbeat.

The lock belongs to a session of the database (PostgreSQL) or to an open file beside the
database (SQLite, which is local), so that a killed pass frees it at once; no lease of its own.
"""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from sqlalchemy import ColumnElement, Connection, func, make_url, select, update
from sqlalchemy.dialects import postgresql, sqlite

from queries_orchestration.settings import DELIVERY_LANE, EXPORT_LANE, REPORT_LANE
from queries_orchestration.store import database
from queries_orchestration.store.database import Database
from queries_orchestration.store.rows import every, one_or_none, select_records
from queries_orchestration.store.tables import dispatcher_heartbeats

DELIVERY_DISPATCHER: Final = "deliveries"
OFFERING_DISPATCHERS: Final[Mapping[str, str]] = {
    DELIVERY_LANE: "offer_deliveries",
    EXPORT_LANE: "offer_exports",
    REPORT_LANE: "offer_reports",
}
"""By lane: what offers, every few seconds, what waits in it. Its sensor has the same name."""
RETENTION: Final = "retention"
SWEEP: Final = "sweep_uploads"
UPKEEP: Final = (RETENTION, SWEEP)
"""What runs seldom and offers nothing: jobs that leave a heartbeat when all has gone well."""
_ADVISORY_LOCK: Final = 0x71756572  # "quer": one number of our own in the database


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    """The last pass of a dispatcher, and what the last one that ended did.

    ``pass_ended_at`` lies before ``pass_started_at`` while a pass works, or if it died; before the
    first has ended it is when one was first expected. ``errors``
    counts, since the beginning, what failed in passes; the last at ``failed_at``.
    """

    dispatcher: str
    holder: str
    pass_started_at: datetime
    pass_ended_at: datetime | None
    admitted: int | None
    missed: int | None
    recovered: int | None
    offered: int | None
    errors: int
    failed_at: datetime | None
    failure_code: str | None


@contextmanager
def only_pass(opened: Database) -> Iterator[bool]:
    """Hold the dispatcher's lock; yields False at once if another pass holds it."""
    if not opened.is_sqlite:
        with opened.session() as connection:
            yield bool(connection.scalar(select(func.pg_try_advisory_lock(_ADVISORY_LOCK))))
        return
    path = Path(f"{make_url(opened.url).database}.dispatcher.lock")
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True


def this_process() -> str:
    """Return how this process is named as a holder."""
    return f"process {os.getpid()} on {socket.gethostname()}"


def begin_pass(connection: Connection, dispatcher: str, holder: str) -> None:
    """Record that ``holder`` has begun a pass; from the first on it counts how long none ends."""
    expect(connection, dispatcher)
    connection.execute(
        update(dispatcher_heartbeats)
        .where(dispatcher_heartbeats.c.dispatcher == dispatcher)
        .values(holder=holder, pass_started_at=database.now(connection))
    )


def end_pass(
    connection: Connection,
    dispatcher: str,
    *,
    recovered: int | None = None,
    offered: int | None = None,
    admitted: int | None = None,
    missed: int | None = None,
) -> None:
    """Record that the pass has ended, with what it did; only one of deliveries admits."""
    connection.execute(
        update(dispatcher_heartbeats)
        .where(dispatcher_heartbeats.c.dispatcher == dispatcher)
        .values(
            pass_ended_at=database.now(connection),
            admitted=admitted,
            missed=missed,
            recovered=recovered,
            offered=offered,
        )
    )


def note_failure(connection: Connection, dispatcher: str, *, code: str) -> None:
    """Record that something failed in a pass of ``dispatcher``, the pass itself or a part of it."""
    connection.execute(
        update(dispatcher_heartbeats)
        .where(dispatcher_heartbeats.c.dispatcher == dispatcher)
        .values(
            errors=dispatcher_heartbeats.c.errors + 1,
            failed_at=database.now(connection),
            failure_code=code,
        )
    )


def heartbeats(connection: Connection) -> list[Heartbeat]:
    """Return the last pass of each dispatcher that has ever begun one."""
    return _heartbeats(connection, dispatcher_heartbeats.c.dispatcher.not_in(UPKEEP))


def upkeep(connection: Connection) -> list[Heartbeat]:
    """Return when each job of the upkeep has last begun, and ended well."""
    return _heartbeats(connection, dispatcher_heartbeats.c.dispatcher.in_(UPKEEP))


def _heartbeats(connection: Connection, which: ColumnElement[bool]) -> list[Heartbeat]:
    found = select_records(Heartbeat, dispatcher_heartbeats).where(which)
    return every(connection, Heartbeat, found.order_by(dispatcher_heartbeats.c.dispatcher))


def expect(connection: Connection, *names: str) -> None:
    """Count from now on how long dispatchers, or jobs of the upkeep, are silent, if nothing does.

    So that no alarm goes off while all is being started for the first time, and one does if
    something never is.
    """
    now = database.now(connection)
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    connection.execute(
        dialect.insert(dispatcher_heartbeats)
        .values(
            [
                {"dispatcher": name, "holder": "", "pass_started_at": now, "pass_ended_at": now}
                for name in names
            ]
        )
        .on_conflict_do_nothing()
    )


def heartbeat(connection: Connection, dispatcher: str) -> Heartbeat | None:
    """Return the last pass of ``dispatcher``."""
    return one_or_none(
        connection,
        Heartbeat,
        select_records(Heartbeat, dispatcher_heartbeats).where(
            dispatcher_heartbeats.c.dispatcher == dispatcher
        ),
    )
