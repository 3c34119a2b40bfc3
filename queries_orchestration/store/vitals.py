"""How the whole installation does, in numbers, over all workspaces: what ``/metrics`` tells.

A few statements, each of what is not done yet or of a few rows, so that a scrape costs the same
whatever the history's size. Ages are seconds by the lease clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import inf
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import Connection, Select, and_, func, not_, or_, select

from queries_orchestration.settings import LANE_WIDTHS
from queries_orchestration.store import counters, database, dispatch_stops, dispatchers
from queries_orchestration.store.claims import no_live_offer, unfinished
from queries_orchestration.store.counters import Counter
from queries_orchestration.store.dispatchers import (
    DELIVERY_DISPATCHER,
    OFFERING_DISPATCHERS,
    Heartbeat,
)
from queries_orchestration.store.occurrences import follows_unsettled
from queries_orchestration.store.tables import claims, notices, offers, schedules

STATES: Final = ("waiting", "delayed", "offered", "running")


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneVitals:
    """A lane: how much work is in each state, and how old the oldest is.

    ``waiting`` could be offered but for its turn or an earlier slot, ``delayed`` waits for an
    instant, ``offered`` for the run that it was offered to.
    """

    waiting: int = 0
    delayed: int = 0
    offered: int = 0
    running: int = 0
    silent: int = 0
    oldest_waiting: float = 0.0
    oldest_offer: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Vitals:
    """All of it; ``silences`` and ``errors`` are by dispatcher, ``lanes`` by lane.

    A dispatcher that has never ended a pass is silent for ever. ``upkeep`` are the silences of its
    jobs, since each last went well. ``due`` schedules have a slot that
    no pass has admitted yet, the oldest since ``due_lag`` seconds (calendar clock).
    """

    silences: Mapping[str, float]
    errors: Mapping[str, int]
    upkeep: Mapping[str, float]
    is_stopped: bool
    due: int
    due_lag: float
    lanes: Mapping[str, LaneVitals]
    unsent_notices: int
    counters: list[Counter]


def read(connection: Connection, *, at: datetime, silence: float) -> Vitals:
    """Read them all.

    Args:
        at: decides what is due (calendar clock).
        silence: seconds after which a worker counts as silent.
    """
    now = database.now(connection)
    passes = dispatchers.heartbeats(connection)
    due, first_due = connection.execute(
        select(func.count(), func.min(schedules.c.next_slot)).where(schedules.c.next_slot <= at)
    ).one()
    return Vitals(
        silences={DELIVERY_DISPATCHER: inf}
        | {one.dispatcher: _silence(one, now) for one in passes},
        # Of each from the beginning: what is first told as 1 has not grown.
        errors=dict.fromkeys((DELIVERY_DISPATCHER, *OFFERING_DISPATCHERS.values()), 0)
        | {one.dispatcher: one.errors for one in passes},
        upkeep={one.dispatcher: _silence(one, now) for one in dispatchers.upkeep(connection)},
        is_stopped=dispatch_stops.current(connection) is not None,
        due=due,
        due_lag=_age(at, first_due),
        lanes=_lanes(connection, now, silence=silence),
        unsent_notices=connection.scalar(
            select(func.count()).select_from(notices).where(notices.c.concluded_at.is_(None))
        )
        or 0,
        counters=counters.read(connection),
    )


def _silence(one: Heartbeat, now: datetime) -> float:
    return inf if one.pass_ended_at is None else _age(now, one.pass_ended_at)


def _age(now: datetime, since: datetime | None) -> float:
    return 0.0 if since is None else max(0.0, (now - since).total_seconds())


def _lanes(connection: Connection, now: datetime, *, silence: float) -> dict[str, LaneVitals]:
    counted = {row.lane: row._mapping for row in connection.execute(_counted(now, silence))}
    oldest = {row.lane: row._mapping for row in connection.execute(_oldest())}
    lanes: dict[str, LaneVitals] = {}
    for lane in LANE_WIDTHS:
        numbers: dict[str, Any] = {
            name: int(counted[lane][name] or 0) if lane in counted else 0
            for name in (*STATES, "silent")
        }
        ages = oldest.get(lane)
        if ages is not None:
            since = [one for one in (ages["free_since"], ages["offered_since"]) if one is not None]
            numbers["oldest_waiting"] = _age(now, min(since, default=None))
            numbers["oldest_offer"] = _age(now, ages["live_since"])
        lanes[lane] = LaneVitals(**numbers)
    return lanes


def _counted(now: datetime, silence: float) -> Select[Any]:
    """Return a SELECT of how much work of each lane is in which state."""
    waits = claims.c.state == "waiting"
    free = no_live_offer(now)
    before = now - timedelta(seconds=silence)

    def number(*of: sa.ColumnElement[bool]) -> sa.ColumnElement[Any]:
        return func.sum(sa.case((and_(*of), 1), else_=0))

    return (
        select(
            claims.c.lane,
            number(waits, free, claims.c.not_before <= now).label("waiting"),
            number(waits, free, claims.c.not_before > now).label("delayed"),
            number(waits, not_(free)).label("offered"),
            number(claims.c.state == "running").label("running"),
            number(claims.c.state == "running", claims.c.heartbeat_at < before).label("silent"),
        )
        .where(unfinished())
        .group_by(claims.c.lane)
    )


def _oldest() -> Select[Any]:
    """Return a SELECT of since when the work of each lane waits for a run.

    It is what ``health.waiting_long`` lists: that could have begun long ago (what a backfill
    admitted waits for all else), or was first offered long ago; and not behind an earlier slot.
    """

    def first_offered(*of: sa.ColumnElement[bool]) -> sa.ScalarSelect[Any]:
        return (
            select(func.min(offers.c.offered_at))
            .where(
                offers.c.workspace_id == claims.c.workspace_id, offers.c.key == claims.c.key, *of
            )
            .scalar_subquery()
        )

    waiting = (
        select(
            claims.c.lane,
            sa.case((claims.c.backfill, sa.null()), else_=claims.c.not_before).label("free_since"),
            first_offered(offers.c.state != "taken").label("offered_since"),
            first_offered(offers.c.state == "live").label("live_since"),
        )
        .where(
            unfinished(),
            claims.c.state == "waiting",
            or_(~claims.c.backfill, claims.c.offer_number > 0),
            not_(follows_unsettled(claims)),
        )
        .subquery()
    )
    ages = (waiting.c.free_since, waiting.c.offered_since, waiting.c.live_since)
    return select(waiting.c.lane, *(func.min(age).label(age.name) for age in ages)).group_by(
        waiting.c.lane
    )
