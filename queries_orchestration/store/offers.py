"""Offers: which occurrence is handed to Dagster next, under a lease.

Waiting work of all workspaces is offered in fair turns, so this module, with
``cross_workspace``, looks beyond one workspace.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import sqlalchemy as sa
from sqlalchemy import ColumnElement, Connection, func, not_, select, update

from queries_orchestration.settings import DELIVERY_LANE
from queries_orchestration.store import database
from queries_orchestration.store.occurrences import follows_unsettled, no_live_offer
from queries_orchestration.store.tables import occurrences, offers

_OFFERING: Final = 0x6F666672  # "offr": one number of our own in the database


@dataclass(frozen=True, slots=True)
class Offer:
    """One occurrence handed to Dagster; ``priority`` is minus the workspace's live offers."""

    workspace_id: str
    occurrence_key: str
    schedule_id: str
    number: int
    lane: str
    priority: int

    @property
    def run_key(self) -> str:
        """The run key of the Dagster run request."""
        return f"{self.occurrence_key}#{self.number}"


def offer_waiting(
    connection: Connection, lane: str, *, live_limit: int, lease: float, at_most: int | None = None
) -> list[Offer]:
    """Offer what waits and may start, in fair turns over workspaces.

    Args:
        live_limit: how many offers of the lane may be live at once; the rest waits in the store.
        lease: seconds until an offer that no run has taken is made again.
        at_most: how many to make now, if fewer.
    """
    # Whoever offers at the same time would count the live offers without these.
    database.take_turn(connection, _OFFERING)
    at = database.now(connection)
    live = _live_offers(connection, at)
    room = live_limit - sum(live.values())
    if at_most is not None:
        room = min(room, at_most)
    made: list[Offer] = []
    for workspace_id, key, schedule_id, last_number in _next_in_turn(connection, at, live, room):
        number = last_number + 1
        if not _write(connection, workspace_id, key, number, lane=lane, at=at, lease=lease):
            continue
        made.append(Offer(workspace_id, key, schedule_id, number, lane, -live.get(workspace_id, 0)))
        live[workspace_id] = live.get(workspace_id, 0) + 1
    return made


def offer_one(
    connection: Connection, workspace_id: str, occurrence_key: str, *, lease: float
) -> int | None:
    """Offer one occurrence to a run that a person launched; None if it may not start now."""
    at = database.now(connection)
    last_number = connection.scalar(
        select(occurrences.c.offer_number).where(
            occurrences.c.workspace_id == workspace_id,
            occurrences.c.key == occurrence_key,
            *_may_start(at),
        )
    )
    if last_number is None:
        return None
    number = last_number + 1
    offered = _write(
        connection, workspace_id, occurrence_key, number, lane=DELIVERY_LANE, at=at, lease=lease
    )
    return number if offered else None


def _may_start(at: datetime) -> list[ColumnElement[bool]]:
    return [
        occurrences.c.state == "waiting",
        occurrences.c.not_before <= at,
        no_live_offer(at),
        not_(follows_unsettled()),
    ]


def _live_offers(connection: Connection, at: datetime) -> dict[str, int]:
    counted = connection.execute(
        select(occurrences.c.workspace_id, func.count().label("live"))
        .where(occurrences.c.state == "waiting", occurrences.c.lease_until > at)
        .group_by(occurrences.c.workspace_id)
    )
    return {row.workspace_id: row.live for row in counted}


def _next_in_turn(
    connection: Connection, at: datetime, live: dict[str, int], room: int
) -> list[tuple[str, str, str, int]]:
    if room <= 0:
        return []
    turn = func.row_number().over(
        partition_by=occurrences.c.workspace_id,
        order_by=[occurrences.c.not_before, occurrences.c.slot, occurrences.c.key],
    )
    # A workspace that already has live offers has had that many turns.
    had = sa.case(live, value=occurrences.c.workspace_id, else_=0) if live else sa.literal(0)
    waiting = (
        select(
            occurrences.c.workspace_id,
            occurrences.c.key,
            occurrences.c.schedule_id,
            occurrences.c.offer_number,
            (turn + had).label("turn"),
            occurrences.c.not_before,
        )
        .where(*_may_start(at))
        .subquery()
    )
    rows = connection.execute(
        select(
            waiting.c.workspace_id,
            waiting.c.key,
            waiting.c.schedule_id,
            waiting.c.offer_number,
        )
        .order_by(waiting.c.turn, waiting.c.not_before, waiting.c.key)
        .limit(room)
    )
    return [tuple(row) for row in rows]


def _write(
    connection: Connection,
    workspace_id: str,
    key: str,
    number: int,
    *,
    lane: str,
    at: datetime,
    lease: float,
) -> bool:
    """Write one offer by compare-and-set; False if somebody else has just made it."""
    offered = connection.execute(
        update(occurrences)
        .where(
            occurrences.c.workspace_id == workspace_id,
            occurrences.c.key == key,
            occurrences.c.state == "waiting",
            occurrences.c.offer_number == number - 1,
        )
        .values(offer_number=number, lease_until=at + timedelta(seconds=lease))
    )
    if offered.rowcount != 1:
        return False
    connection.execute(
        update(offers)
        .where(
            offers.c.workspace_id == workspace_id,
            offers.c.occurrence_key == key,
            offers.c.state == "live",
        )
        .values(state="lost", ended_at=at)
    )
    connection.execute(
        sa.insert(offers).values(
            workspace_id=workspace_id,
            occurrence_key=key,
            number=number,
            lane=lane,
            state="live",
            offered_at=at,
        )
    )
    return True
