"""In which order the work of a lane is offered, over all workspaces; what ``cross_workspace`` asks.

Workspaces take turns. Work of a backfill comes after all other, and takes no turn from it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import Connection, Row, Select, and_, func, or_, select

from queries_orchestration.store import claims as claims_store
from queries_orchestration.store.offers import Offer, may_start, write_offer
from queries_orchestration.store.tables import claims, occurrences

AFTER_ALL_OTHERS: Final = 1_000
"""By how much the priority of a backfill's run lies below that of others, in Dagster's queue."""


@dataclass(frozen=True, slots=True)
class Live:
    """How many offers of a lane each workspace has that no run has taken; counted on as made."""

    backfills: dict[str, int] = field(default_factory=dict)
    others: dict[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """How many there are."""
        return sum(self.backfills.values()) + sum(self.others.values())

    def priority(self, workspace_id: str, *, backfill: bool) -> int:
        """Return the priority of the next one's run: a backfill lowers nobody else's."""
        others = self.others.get(workspace_id, 0)
        if not backfill:
            return -others
        return -others - self.backfills.get(workspace_id, 0) - AFTER_ALL_OTHERS

    def add(self, workspace_id: str, *, backfill: bool) -> None:
        """Count one that was just made."""
        of = self.backfills if backfill else self.others
        of[workspace_id] = of.get(workspace_id, 0) + 1


def with_schedule(*columns: sa.ColumnElement[Any]) -> Select[Any]:
    """Return a SELECT of claims, each with the schedule of its occurrence if it is one."""
    return select(
        claims.c.workspace_id,
        claims.c.key,
        claims.c.offer_number,
        claims.c.backfill,
        occurrences.c.schedule_id,
        *columns,
    ).outerjoin(
        occurrences,
        and_(
            occurrences.c.workspace_id == claims.c.workspace_id,
            occurrences.c.key == claims.c.key,
        ),
    )


def live_by_workspace(connection: Connection, lane: str, at: datetime) -> Live:
    """Count the live offers of a lane at ``at`` (lease clock)."""
    counted = connection.execute(
        select(claims.c.workspace_id, claims.c.backfill, func.count().label("live"))
        .where(
            claims_store.unfinished(),
            claims.c.lane == lane,
            claims.c.state == "waiting",
            claims.c.lease_until > at,
        )
        .group_by(claims.c.workspace_id, claims.c.backfill)
    )
    live = Live()
    for row in counted:
        (live.backfills if row.backfill else live.others)[row.workspace_id] = row.live
    return live


def busy_backfills(connection: Connection, lane: str, at: datetime) -> dict[str, int]:
    """Count, by workspace, a lane's work of backfills that a run has, or may take at ``at``."""
    counted = connection.execute(
        select(claims.c.workspace_id, func.count().label("busy"))
        .where(
            claims_store.unfinished(),
            claims.c.lane == lane,
            claims.c.backfill,
            or_(claims.c.state == "running", claims.c.lease_until > at),
        )
        .group_by(claims.c.workspace_id)
    )
    return {row.workspace_id: row.busy for row in counted}


def next_in_turn(lane: str, at: datetime, had: dict[str, int], *, backfill: bool) -> Select[Any]:
    """Return a SELECT of what may start in a lane, in turns over workspaces.

    Args:
        had: how many turns a workspace has: its live offers, of backfills what runs, too.
        backfill: the work of backfills alone; else all other.
    """
    turn = func.row_number().over(
        partition_by=claims.c.workspace_id,
        order_by=[claims.c.not_before, occurrences.c.slot, claims.c.key],
    )
    before = sa.case(had, value=claims.c.workspace_id, else_=0) if had else sa.literal(0)
    kind = claims.c.backfill if backfill else ~claims.c.backfill
    waiting = (
        with_schedule((turn + before).label("turn"), claims.c.not_before)
        .where(claims.c.lane == lane, kind, *may_start(at))
        .subquery()
    )
    return select(waiting).order_by(waiting.c.turn, waiting.c.not_before, waiting.c.key)


def make(
    connection: Connection,
    lane: str,
    rows: Iterable[Row[Any]],
    live: Live,
    *,
    at: datetime,
    lease: float,
) -> list[Offer]:
    """Write an offer for each of the rows, which ``with_schedule`` has chosen."""
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
                priority=live.priority(row.workspace_id, backfill=row.backfill),
                backfill=row.backfill,
            )
        )
        live.add(row.workspace_id, backfill=row.backfill)
    return made
