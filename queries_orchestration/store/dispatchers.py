"""The dispatcher's one lock and its heartbeat.

The lock belongs to a session of the database (PostgreSQL) or to an open file beside the
database (SQLite, which is local), so that a killed pass frees it at once; no lease of its own.
"""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

import sqlalchemy as sa
from sqlalchemy import Connection, func, make_url, select, update

from queries_orchestration.store import database
from queries_orchestration.store.database import Database
from queries_orchestration.store.rows import one_or_none, select_records
from queries_orchestration.store.tables import dispatcher_heartbeats

DELIVERY_DISPATCHER: Final = "deliveries"
_ADVISORY_LOCK: Final = 0x71756572  # "quer": one number of our own in the database


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    """The last pass of a dispatcher, and what the last one that ended did.

    ``pass_ended_at`` lies before ``pass_started_at`` while a pass works, or if it died.
    """

    dispatcher: str
    holder: str
    pass_started_at: datetime
    pass_ended_at: datetime | None
    admitted: int | None
    missed: int | None
    recovered: int | None
    offered: int | None


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
    """Record that ``holder`` has begun a pass."""
    values = {"holder": holder, "pass_started_at": database.now(connection)}
    updated = connection.execute(
        update(dispatcher_heartbeats)
        .where(dispatcher_heartbeats.c.dispatcher == dispatcher)
        .values(values)
    )
    if updated.rowcount == 0:
        connection.execute(sa.insert(dispatcher_heartbeats).values(dispatcher=dispatcher, **values))


def end_pass(
    connection: Connection,
    dispatcher: str,
    *,
    admitted: int,
    missed: int,
    recovered: int,
    offered: int,
) -> None:
    """Record that the pass has ended, with what it did."""
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


def heartbeat(connection: Connection, dispatcher: str) -> Heartbeat | None:
    """Return the last pass of ``dispatcher``."""
    return one_or_none(
        connection,
        Heartbeat,
        select_records(Heartbeat, dispatcher_heartbeats).where(
            dispatcher_heartbeats.c.dispatcher == dispatcher
        ),
    )
