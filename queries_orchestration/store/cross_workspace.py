"""What looks across workspaces: dispatch, recovery and what providers of mail tell.

Nothing here is what a person can ask for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import Connection, Select, and_, func, select

from queries_orchestration.store import claims as claims_store, database, dispatch_stops
from queries_orchestration.store.claims import Receive
from queries_orchestration.store.deliveries import Delivery
from queries_orchestration.store.exports import Export
from queries_orchestration.store.notices import Notice
from queries_orchestration.store.offers import Offer, may_start, write_offer
from queries_orchestration.store.rows import Readable, every, one_or_none, readable, select_records
from queries_orchestration.store.tables import (
    claims,
    deliveries,
    exports,
    notices,
    occurrences,
    receives,
    schedules,
)

_OFFERING: Final = 0x6F666672  # "offr": one number of our own in the database
_IDS_A_STATEMENT: Final = 500


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


def offer_waiting(
    connection: Connection, lane: str, *, live_limit: int, lease: float, at_most: int | None = None
) -> list[Offer]:
    """Offer what waits in ``lane`` and may start, in fair turns over workspaces.

    Nothing is offered while all dispatching is stopped.

    Args:
        live_limit: how many offers of the lane may be live at once; the rest waits in the store.
        lease: seconds until an offer that no run has taken is made again.
        at_most: how many to make now, if fewer.
    """
    # Whoever offers at the same time would count the live offers without these.
    database.take_turn(connection, _OFFERING)
    if dispatch_stops.current(connection) is not None:
        return []
    at = database.now(connection)
    live = _live_by_workspace(connection, lane, at)
    room = live_limit - sum(live.values())
    if at_most is not None:
        room = min(room, at_most)
    if room <= 0:
        return []
    next_ones = connection.execute(_next_in_turn(lane, at, live).limit(room)).all()
    return _make(connection, lane, next_ones, live, at=at, lease=lease)


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
        _with_schedule(claims.c.lane).where(
            claims.c.workspace_id == workspace_id, claims.c.key == key, *may_start(at)
        )
    ).one_or_none()
    if found is None:
        return None
    live = _live_by_workspace(connection, found.lane, at)
    if live_limit is not None and sum(live.values()) >= live_limit:
        return None
    made = _make(connection, found.lane, [found], live, at=at, lease=lease)
    return made[0] if made else None


def live_offers(connection: Connection, lane: str, *, limit: int) -> list[Offer]:
    """Return the offers of ``lane`` that no run has taken yet, those whose lease ends first."""
    rows = connection.execute(
        _with_schedule(claims.c.lane)
        .where(
            claims_store.unfinished(),
            claims.c.lane == lane,
            claims.c.state == "waiting",
            claims.c.lease_until.is_not(None),
        )
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


def files_to_expire(connection: Connection, at: datetime, *, limit: int) -> Readable[Export]:
    """Return exports whose time is over at ``at`` and whose object is still there."""
    return readable(
        connection,
        Export,
        select_records(Export, exports)
        .where(
            exports.c.removed_at.is_(None),
            exports.c.expires_at.is_not(None),
            exports.c.expires_at <= at,
        )
        .order_by(exports.c.expires_at)
        .limit(limit)
        .with_for_update(),
        exports.c.id,
    )


def left_behind(connection: Connection, *, limit: int) -> Readable[Export]:
    """Return failed and cancelled exports whose upload, or object, may still be there."""
    return readable(
        connection,
        Export,
        select_records(Export, exports)
        .where(exports.c.upload_id.is_not(None), exports.c.state.in_(("failed", "cancelled")))
        .order_by(exports.c.created_at, exports.c.id)
        .limit(limit),
        exports.c.id,
    )


def recorded_uploads(connection: Connection, upload_ids: Sequence[str]) -> set[str]:
    """Return those of ``upload_ids`` that an export records as its upload."""
    found: set[str] = set()
    for start in range(0, len(upload_ids), _IDS_A_STATEMENT):
        some = upload_ids[start : start + _IDS_A_STATEMENT]
        found.update(
            connection.scalars(select(exports.c.upload_id).where(exports.c.upload_id.in_(some)))
        )
    return found


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
        _with_schedule(
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


def _with_schedule(*columns: sa.ColumnElement[Any]) -> Select[Any]:
    """Return a SELECT of claims, each with the schedule of its occurrence if it is one."""
    return select(
        claims.c.workspace_id,
        claims.c.key,
        claims.c.offer_number,
        occurrences.c.schedule_id,
        *columns,
    ).outerjoin(
        occurrences,
        and_(
            occurrences.c.workspace_id == claims.c.workspace_id,
            occurrences.c.key == claims.c.key,
        ),
    )


def _live_by_workspace(connection: Connection, lane: str, at: datetime) -> dict[str, int]:
    counted = connection.execute(
        select(claims.c.workspace_id, func.count().label("live"))
        .where(
            claims_store.unfinished(),
            claims.c.lane == lane,
            claims.c.state == "waiting",
            claims.c.lease_until > at,
        )
        .group_by(claims.c.workspace_id)
    )
    return {row.workspace_id: row.live for row in counted}


def _next_in_turn(lane: str, at: datetime, live: dict[str, int]) -> Select[Any]:
    turn = func.row_number().over(
        partition_by=claims.c.workspace_id,
        order_by=[claims.c.not_before, occurrences.c.slot, claims.c.key],
    )
    # A workspace that already has live offers has had that many turns.
    had = sa.case(live, value=claims.c.workspace_id, else_=0) if live else sa.literal(0)
    waiting = (
        _with_schedule((turn + had).label("turn"), claims.c.not_before)
        .where(claims.c.lane == lane, *may_start(at))
        .subquery()
    )
    return select(waiting).order_by(waiting.c.turn, waiting.c.not_before, waiting.c.key)


def _make(
    connection: Connection,
    lane: str,
    rows: Any,
    live: dict[str, int],
    *,
    at: datetime,
    lease: float,
) -> list[Offer]:
    made: list[Offer] = []
    for row in rows:
        number = row.offer_number + 1
        if not write_offer(connection, row.workspace_id, row.key, number, at=at, lease=lease):
            continue
        made.append(
            Offer(
                workspace_id=row.workspace_id,
                key=row.key,
                schedule_id=row.schedule_id,
                lane=lane,
                number=number,
                priority=-live.get(row.workspace_id, 0),
            )
        )
        live[row.workspace_id] = live.get(row.workspace_id, 0) + 1
    return made
