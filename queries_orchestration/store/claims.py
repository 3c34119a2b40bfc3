"""Claims: who holds a piece of work, by the lease clock, and the number that fences them.

A piece of work is an occurrence (lane ``delivery``) or an export of its own (lanes ``export``
and ``report``). It waits, is offered under a lease, is run by one receive at a time, and is done.
Every write of a worker passes through ``hold`` or ``end``: a compare-and-set on the receive
number, so that a worker that lost its claim changes nothing any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import sqlalchemy as sa
from sqlalchemy import ColumnElement, Connection, and_, or_, select, update

from queries_orchestration.model.errors import ReceiveLost
from queries_orchestration.settings import MAX_RECEIVES
from queries_orchestration.store import counters, database
from queries_orchestration.store.rows import every_of, one_or_none, select_records
from queries_orchestration.store.tables import claims, offers, receives

_LOST: Final = "Another worker has taken this work over, or it was settled."


@dataclass(frozen=True, slots=True)
class Receive:
    """One attempt at a piece of work, and the number that fences its writes."""

    workspace_id: str
    key: str
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Who holds a piece of work; instants are the lease clock's.

    Work of a ``backfill`` comes after all other.
    """

    workspace_id: str
    key: str
    lane: str
    state: str
    not_before: datetime
    offer_number: int
    lease_until: datetime | None
    receive_number: int
    heartbeat_at: datetime | None
    backfill: bool


def get(connection: Connection, workspace_id: str, key: str) -> Claim | None:
    """Return the claim on a piece of work of the workspace."""
    return one_or_none(
        connection, Claim, select_records(Claim, claims).where(_is(workspace_id, key))
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One receive as history tells it; ``code`` says why it ended without settling."""

    key: str
    number: int
    run_id: str
    started_at: datetime
    ended_at: datetime | None
    code: str | None


def attempts(connection: Connection, workspace_id: str, key: str) -> list[Attempt]:
    """Return the receives of a piece of work, in order."""
    return attempts_of(connection, workspace_id, [key])


def attempts_of(connection: Connection, workspace_id: str, keys: Iterable[str]) -> list[Attempt]:
    """Return the receives of pieces of work, those of each in order."""
    return every_of(
        connection,
        Attempt,
        select_records(Attempt, receives)
        .where(receives.c.workspace_id == workspace_id)
        .order_by(receives.c.number),
        receives.c.key,
        keys,
    )


def wait(connection: Connection, workspace_id: str, key: str, *, lane: str) -> None:
    """Let a new piece of work wait for its first offer."""
    let_wait(connection, [(workspace_id, key)], lane=lane)


def let_wait(connection: Connection, work: Sequence[tuple[str, str]], *, lane: str) -> None:
    """Let new pieces of work, each of a workspace, wait for their first offers."""
    if not work:
        return
    common = {"lane": lane, "state": "waiting", "not_before": database.now(connection)}
    connection.execute(
        sa.insert(claims),
        [{"workspace_id": workspace_id, "key": key} | common for workspace_id, key in work],
    )


def start(
    connection: Connection, workspace_id: str, key: str, *, offer_number: int, run_id: str
) -> Receive | None:
    """Take the work for one run, by compare-and-set on its live offer.

    Returns:
        The receive, or None if the offer is no longer the live one, or the work is held or done.
    """
    at = database.now(connection)
    taken = connection.execute(
        update(claims)
        .where(
            _is(workspace_id, key),
            claims.c.state == "waiting",
            claims.c.offer_number == offer_number,
            claims.c.lease_until.is_not(None),
        )
        .values(
            state="running",
            receive_number=claims.c.receive_number + 1,
            lease_until=None,
            heartbeat_at=at,
        )
        .returning(claims.c.receive_number, claims.c.lane)
    ).one_or_none()
    if taken is None:
        return None
    number, lane = taken
    counters.count(connection, counters.RECEIVES_STARTED, label=lane)
    end_offers(connection, workspace_id, key, state="taken")
    connection.execute(
        sa.insert(receives).values(
            workspace_id=workspace_id, key=key, number=number, run_id=run_id, started_at=at
        )
    )
    return Receive(workspace_id, key, number)


def hold(connection: Connection, receive: Receive) -> None:
    """Keep the claim: a heartbeat, and the guard of every other write of the transaction.

    Raises:
        ReceiveLost: a newer receive or a settlement took the work.
    """
    _move(connection, receive, heartbeat_at=database.now(connection))


def take_silent(connection: Connection, receive: Receive, *, silence: float) -> bool:
    """Take a receive over whose heartbeat is older than ``silence`` seconds, to end it.

    It counts as a heartbeat, so that two recoveries do not end the same receive.

    Returns:
        False if the heartbeat has come after all, or somebody else was faster.
    """
    at = database.now(connection)
    taken = connection.execute(
        update(claims)
        .where(
            _is(receive.workspace_id, receive.key),
            claims.c.state == "running",
            claims.c.receive_number == receive.number,
            claims.c.heartbeat_at < at - timedelta(seconds=silence),
        )
        .values(heartbeat_at=at)
    )
    return taken.rowcount == 1


def wait_again(connection: Connection, receive: Receive, *, code: str, delay: float) -> None:
    """End ``receive`` without settling; the work may be offered again after ``delay`` seconds.

    Raises:
        ReceiveLost: a newer receive or a settlement took the work.
    """
    at = database.now(connection)
    lane = _move(
        connection,
        receive,
        state="waiting",
        heartbeat_at=None,
        not_before=at + timedelta(seconds=delay),
    )
    counters.count(connection, counters.RECEIVES_FAILED, label=lane, code=code)
    _close(connection, receive, at=at, code=code)


def end(connection: Connection, receive: Receive, *, failed_with: str | None = None) -> None:
    """End the work that ``receive`` holds; the caller settles it in the same transaction.

    Args:
        failed_with: the code of a failure for good.

    Raises:
        ReceiveLost: a newer receive or a settlement took the work.
    """
    lane = _move(connection, receive, state="done", heartbeat_at=None)
    if failed_with is not None:
        counters.count(connection, counters.RECEIVES_FAILED, label=lane, code=failed_with)
        if receive.number >= MAX_RECEIVES:
            counters.count(connection, counters.DEAD_LETTERS, label=lane)
    _close(connection, receive, at=database.now(connection), code=None)


def end_waiting(connection: Connection, workspace_id: str, key: str) -> bool:
    """End work that no run holds, so that none can take it any more.

    Returns:
        False if a run holds it, or it is done.
    """
    ended = connection.execute(
        update(claims)
        .where(_is(workspace_id, key), claims.c.state == "waiting")
        .values(state="done", lease_until=None)
    )
    end_offers(connection, workspace_id, key, state="released")
    return ended.rowcount == 1


def end_all_waiting(connection: Connection, workspace_id: str, keys: Sequence[str]) -> None:
    """End work that no run holds nor may take; offers that nobody took are ``lost``.

    Args:
        keys: of claims that the caller has locked; some hundreds.
    """
    connection.execute(
        update(offers)
        .where(
            offers.c.workspace_id == workspace_id,
            offers.c.key.in_(keys),
            offers.c.state == "live",
        )
        .values(state="lost", ended_at=database.now(connection))
    )
    connection.execute(
        update(claims)
        .where(
            claims.c.workspace_id == workspace_id,
            claims.c.key.in_(keys),
            claims.c.state == "waiting",
        )
        .values(state="done", lease_until=None)
    )


def end_running(connection: Connection, workspace_id: str, key: str) -> bool:
    """End work that a run holds, against its will: its next write is refused.

    Returns:
        False if no run holds it.
    """
    number = connection.execute(
        update(claims)
        .where(_is(workspace_id, key), claims.c.state == "running")
        .values(state="done", heartbeat_at=None)
        .returning(claims.c.receive_number)
    ).scalar_one_or_none()
    if number is None:
        return False
    receive = Receive(workspace_id, key, number)
    _close(connection, receive, at=database.now(connection), code=None)
    return True


def end_held_or_not(connection: Connection, workspace_id: str, key: str) -> bool:
    """End work whether a run holds it or not; False if it is done.

    The row is locked first: work that changes hands meanwhile is not overlooked.
    """
    connection.execute(select(claims.c.state).where(_is(workspace_id, key)).with_for_update())
    return end_waiting(connection, workspace_id, key) or end_running(connection, workspace_id, key)


def end_offers(connection: Connection, workspace_id: str, key: str, *, state: str) -> None:
    """Close the history row of the live offer, if there is one."""
    connection.execute(
        update(offers)
        .where(offers.c.workspace_id == workspace_id, offers.c.key == key, offers.c.state == "live")
        .values(state=state, ended_at=database.now(connection))
    )


def unfinished() -> ColumnElement[bool]:
    """Return the condition that work is not done, in the words of its partial index.

    SQLite uses that index only for a query that says the same, which no bound value does.
    """
    return claims.c.state != sa.literal_column("'done'")


def waiting() -> ColumnElement[bool]:
    """Return the condition that no run has the work and it is not done, likewise."""
    return claims.c.state == sa.literal_column("'waiting'")


def no_live_offer(at: datetime) -> ColumnElement[bool]:
    """Return the condition that no run may take the work by an offer made before ``at``."""
    return or_(claims.c.lease_until.is_(None), claims.c.lease_until <= at)


def _move(connection: Connection, receive: Receive, **values: object) -> str:
    """Write columns of the claim that ``receive`` holds; returns its lane."""
    lane: str | None = connection.execute(
        update(claims)
        .where(
            _is(receive.workspace_id, receive.key),
            claims.c.state == "running",
            claims.c.receive_number == receive.number,
        )
        .values(**values)
        .returning(claims.c.lane)
    ).scalar_one_or_none()
    if lane is None:
        raise ReceiveLost(_LOST)
    return lane


def _close(connection: Connection, receive: Receive, *, at: datetime, code: str | None) -> None:
    connection.execute(
        update(receives)
        .where(
            receives.c.workspace_id == receive.workspace_id,
            receives.c.key == receive.key,
            receives.c.number == receive.number,
        )
        .values(ended_at=at, code=code)
    )


def _is(workspace_id: str, key: str) -> ColumnElement[bool]:
    return and_(claims.c.workspace_id == workspace_id, claims.c.key == key)
