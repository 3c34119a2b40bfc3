"""What looks across workspaces: dispatch, recovery and what providers of mail tell.

Nothing here is what a person can ask for.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import sqlalchemy as sa
from sqlalchemy import Connection, and_, select

from queries_orchestration.model.formats import SourceKind
from queries_orchestration.settings import LANE_WIDTHS
from queries_orchestration.store import claims as claims_store, database, dispatch_stops
from queries_orchestration.store.claims import Receive
from queries_orchestration.store.deliveries import Delivery
from queries_orchestration.store.notices import Notice
from queries_orchestration.store.offer_turns import (
    live_by_workspace,
    make,
    next_in_turn,
    running_backfills,
    with_schedule,
)
from queries_orchestration.store.offers import Offer, is_free, may_start
from queries_orchestration.store.rows import (
    Readable,
    every,
    one_or_none,
    readable,
    select_records,
)
from queries_orchestration.store.tables import (
    claims,
    deliveries,
    notices,
    occurrences,
    receives,
    schedules,
    sources,
    workspaces,
)

_OFFERING: Final = 0x6F666672  # "offr": one number of our own in the database


@dataclass(frozen=True, slots=True, kw_only=True)
class DueSchedule:
    """A schedule with a slot that is due, not read yet."""

    workspace_id: str
    id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Silent:
    """A running receive whose heartbeat has been silent, and the Dagster run it was."""

    receive: Receive
    lane: str
    run_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Work that is not done, and for what it waits; ``until`` is by the lease clock.

    ``may_start`` unless it waits for an instant, a worker or the start of all dispatching; an
    earlier slot of its schedule may still come first.
    """

    workspace_id: str
    key: str
    lane: str
    schedule_id: str | None
    is_running: bool
    may_start: bool
    why: str
    until: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownSource:
    """A saved query or report that is not archived, as whoever runs the installation sees it."""

    workspace_name: str
    name: str
    kind: SourceKind


def shown_sources(connection: Connection, *, limit: int) -> list[ShownSource]:
    """Return the sources of all workspaces, by the names of both."""
    names = (workspaces.c.name.label("workspace_name"), sources.c.name, sources.c.kind)
    return every(
        connection,
        ShownSource,
        select(*names)
        .join(workspaces, workspaces.c.id == sources.c.workspace_id)
        .where(~sources.c.archived)
        .order_by(workspaces.c.name, sources.c.name)
        .limit(limit),
    )


def delivery_of_message(connection: Connection, message_id: str) -> Delivery | None:
    """Return the delivery whose message has this Message-ID, which is all its provider knows."""
    return one_or_none(
        connection,
        Delivery,
        select_records(Delivery, deliveries).where(deliveries.c.message_id == message_id),
    )


def due_schedules(
    connection: Connection, at: datetime, *, limit: int | None = None
) -> list[DueSchedule]:
    """Return the schedules whose next slot is due at ``at``, the longest due first.

    Only their ids are read: a row that cannot be read as a whole keeps no other from being found.
    """
    return every(
        connection,
        DueSchedule,
        select_records(DueSchedule, schedules)
        .where(schedules.c.next_slot.is_not(None), schedules.c.next_slot <= at)
        .order_by(schedules.c.next_slot, schedules.c.id)
        .limit(limit),
    )


def active_schedules(connection: Connection, workspace_id: str | None) -> list[DueSchedule]:
    """Return the active schedules of a workspace, None: of all, not read yet."""
    which = schedules.c.state == "active"
    if workspace_id is not None:
        which = and_(which, schedules.c.workspace_id == workspace_id)
    found = select_records(DueSchedule, schedules).where(which)
    return every(connection, DueSchedule, found.order_by(schedules.c.workspace_id, schedules.c.id))


def offer_waiting(
    connection: Connection,
    lane: str,
    *,
    live_limit: int,
    lease: float,
    at_most: int | None = None,
    backfill_limit: int | None = None,
) -> list[Offer]:
    """Offer what waits in ``lane`` and may start, in fair turns over workspaces.

    The work of backfills comes last. Nothing is offered while all dispatching is stopped.

    Args:
        live_limit: how many offers of the lane may be live at once; the rest waits in the store.
        lease: seconds until an offer that no run has taken is made again.
        at_most: how many to make now, if fewer.
        backfill_limit: how much work of backfills may be offered or run at once; None: any.
    """
    # Whoever offers at the same time would count the live offers without these.
    database.take_turn(connection, _OFFERING)
    if dispatch_stops.current(connection) is not None:
        return []
    at = database.now(connection)
    live = live_by_workspace(connection, lane, at)
    room = live_limit - live.total
    if at_most is not None:
        room = min(room, at_most)
    if room <= 0:
        return []
    others = next_in_turn(connection, lane, at, live.others, backfill=False, limit=room)
    made = make(connection, lane, others, live, at=at, lease=lease)
    room -= len(others)
    busy = running_backfills(connection, lane) + Counter(live.backfills)
    if backfill_limit is not None:
        room = min(room, backfill_limit - sum(busy.values()))
    if room <= 0:
        return made
    backfills = next_in_turn(connection, lane, at, busy, backfill=True, limit=room)
    return made + make(connection, lane, backfills, live, at=at, lease=lease)


def offer_one(
    connection: Connection, workspace_id: str, key: str, *, live_limit: int | None, lease: float
) -> Offer | None:
    """Offer one piece of work out of turn; None if it may not start, or nothing may, now.

    Args:
        live_limit: as for ``offer_waiting``; None for a run that is there already.
    """
    database.take_turn(connection, _OFFERING)
    if dispatch_stops.current(connection) is not None:
        return None
    at = database.now(connection)
    found = connection.execute(
        with_schedule(claims.c.lane).where(
            claims.c.workspace_id == workspace_id, claims.c.key == key, *may_start(at)
        )
    ).one_or_none()
    if found is None:
        return None
    live = live_by_workspace(connection, found.lane, at)
    if live_limit is not None and live.total >= live_limit:
        return None
    made = make(connection, found.lane, [found], live, at=at, lease=lease)
    return made[0] if made else None


def live_offers(connection: Connection, lane: str, *, limit: int) -> list[Offer]:
    """Return the offers of ``lane`` that no run has taken yet, those whose lease ends first."""
    rows = connection.execute(
        with_schedule(claims.c.lane)
        .where(claims.c.lane == lane, claims.c.lease_until.is_not(None))
        .order_by(claims.c.lease_until, claims.c.key)
        .limit(limit)
    )
    return [
        Offer(
            workspace_id=row.workspace_id,
            key=row.key,
            schedule_id=row.schedule_id,
            lane=row.lane,
            number=row.offer_number,
            priority=0,
        )
        for row in rows
    ]


def silent_receives(connection: Connection, *, silence: float, limit: int) -> list[Silent]:
    """Return running receives whose heartbeat is older than ``silence`` seconds."""
    rows = connection.execute(
        select(
            claims.c.workspace_id,
            claims.c.key,
            claims.c.receive_number,
            claims.c.lane,
            receives.c.run_id,
        )
        .join(
            receives,
            and_(
                receives.c.workspace_id == claims.c.workspace_id,
                receives.c.key == claims.c.key,
                receives.c.number == claims.c.receive_number,
            ),
        )
        .where(
            claims_store.unfinished(),
            claims.c.state == "running",
            claims.c.heartbeat_at < database.now(connection) - timedelta(seconds=silence),
        )
        .order_by(claims.c.heartbeat_at)
        .limit(limit)
    )
    return [
        Silent(
            receive=Receive(row.workspace_id, row.key, row.receive_number),
            lane=row.lane,
            run_id=row.run_id,
        )
        for row in rows
    ]


def unsent_notices(connection: Connection, *, limit: int) -> Readable[Notice]:
    """Return the notices that may be sent now (lease clock), the longest waiting first."""
    return readable(
        connection,
        Notice,
        select_records(Notice, notices)
        .where(notices.c.concluded_at.is_(None), notices.c.not_before <= database.now(connection))
        .order_by(notices.c.not_before, notices.c.communication_key)
        .limit(limit),
        notices.c.communication_key,
    )


def lanes_that_may_start(connection: Connection) -> list[str]:
    """Return the lanes with work that neither runs nor waits for an instant, however much."""
    if dispatch_stops.current(connection) is not None:
        return []
    free = is_free(database.now(connection))
    return [
        lane
        for lane in sorted(LANE_WIDTHS)
        if connection.scalar(select(claims.c.key).where(claims.c.lane == lane, *free).limit(1))
    ]


def workspace_of(connection: Connection, key: str) -> str | None:
    """Return the workspace that a piece of work belongs to."""
    return connection.scalar(select(claims.c.workspace_id).where(claims.c.key == key))


def workspace_of_occurrence(connection: Connection, key: str) -> str | None:
    """Return the workspace that an occurrence belongs to, one that was missed as well."""
    return connection.scalar(select(occurrences.c.workspace_id).where(occurrences.c.key == key))


def workspace_of_schedule(connection: Connection, schedule_id: str) -> str | None:
    """Return the workspace that a schedule belongs to."""
    return connection.scalar(select(schedules.c.workspace_id).where(schedules.c.id == schedule_id))


def unfinished(
    connection: Connection, *, silence: float, key: str | None = None, limit: int = 1_000
) -> list[Waiting]:
    """Return what is not done, and for what it waits; with ``key`` that piece of work only."""
    at = database.now(connection)
    is_stopped = dispatch_stops.current(connection) is not None
    rows = connection.execute(
        with_schedule(
            claims.c.lane,
            claims.c.state,
            claims.c.not_before,
            claims.c.lease_until,
            claims.c.heartbeat_at,
        )
        .where(claims_store.unfinished(), claims.c.key == key if key else sa.true())
        .order_by(claims.c.not_before, claims.c.key)
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
        elif is_stopped:
            why = "all dispatching to be started again (`queries dispatch start`)"
        waiting.append(
            Waiting(
                workspace_id=row.workspace_id,
                key=row.key,
                lane=row.lane,
                schedule_id=row.schedule_id,
                is_running=row.state == "running",
                may_start=until is None and not is_stopped,
                why=why,
                until=until,
            )
        )
    return waiting
