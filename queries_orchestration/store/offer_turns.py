"""In which order the work of a lane is offered, over all workspaces; what ``cross_workspace`` asks.

Workspaces take turns. Work of a backfill comes after all other, and takes no turn from it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import ColumnElement, Connection, Row, Select, and_, select

from queries_orchestration.settings import DELIVERY_LANE
from queries_orchestration.store import claims as claims_store
from queries_orchestration.store.occurrences import BACKFILL, same_work
from queries_orchestration.store.offers import Offer, is_free, may_start, write_offer
from queries_orchestration.store.tables import claims, occurrences

AFTER_ALL_OTHERS: Final = 1_000
"""By how much the priority of a backfill's run lies below that of others, in Dagster's queue."""
_OFFERED: Final = (
    claims.c.workspace_id,
    claims.c.key,
    claims.c.offer_number,
    claims.c.backfill,
    occurrences.c.schedule_id,
)
_OF_WORKSPACE: Final = sa.bindparam("workspace_id", type_=sa.String())


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
    return select(*_OFFERED, *columns).select_from(claims.outerjoin(occurrences, same_work()))


def live_by_workspace(connection: Connection, lane: str, at: datetime) -> Live:
    """Count the live offers of a lane at ``at`` (lease clock)."""
    offered = connection.execute(
        select(claims.c.workspace_id, claims.c.backfill).where(
            claims.c.lane == lane, claims.c.lease_until > at
        )
    )
    live = Live()
    for row in offered:
        live.add(row.workspace_id, backfill=row.backfill)
    return live


def running_backfills(connection: Connection, lane: str) -> Counter[str]:
    """Count, by workspace, a lane's work of backfills that a run has."""
    return Counter(
        connection.scalars(
            select(claims.c.workspace_id).where(
                claims_store.unfinished(),
                claims.c.lane == lane,
                claims.c.state == "running",
                claims.c.backfill,
            )
        )
    )


def next_in_turn(
    connection: Connection,
    lane: str,
    at: datetime,
    had: Mapping[str, int],
    *,
    backfill: bool,
    limit: int,
) -> list[Row[Any]]:
    """Return what may start in a lane, in turns over workspaces.

    Of a workspace ``limit`` rows are read at most, and none of one whose turn cannot come: what
    this costs grows with the workspaces that have work, not with the work.

    Args:
        had: how many turns a workspace has: its live offers, of backfills what runs, too.
        backfill: the work of backfills alone; else all other.
    """
    begin = [
        (had.get(row.workspace_id, 0) + 1, row.since, row.workspace_id)
        for row in connection.execute(_since_when(lane, at, backfill=backfill))
        if row.since is not None
    ]
    found: list[tuple[int, datetime, str, Row[Any]]] = []
    for first in sorted(begin):
        if sum(place[:3] < first for place in found) >= limit:
            break
        turn, _, workspace_id = first
        by_schedule = backfill and lane == DELIVERY_LANE
        keys = connection.scalars(
            (_heads(at) if by_schedule else _longest(lane, at, backfill=backfill)).limit(limit),
            {"workspace_id": workspace_id},
        ).all()
        if not keys:
            continue
        rows = connection.execute(
            with_schedule(claims.c.not_before)
            .where(claims.c.workspace_id == workspace_id, claims.c.key.in_(keys))
            .order_by(claims.c.not_before, occurrences.c.slot, claims.c.key)
        )
        for number, row in enumerate(rows):
            found.append((turn + number, row.not_before, workspace_id, row))
    return [row for *_, row in sorted(found, key=lambda place: place[:3])[:limit]]


def _since_when(lane: str, at: datetime, *, backfill: bool) -> Select[Any]:
    """Return a SELECT of the workspaces that have work waiting, and since when it may start.

    Of backfills what is behind an earlier slot counts, too: there may be thousands before the
    first that is not.
    """
    waiting = (claims.c.lane == lane, _kind(backfill), claims_store.waiting())
    tenants = _each(claims.c.workspace_id, *waiting)
    since = (
        select(claims.c.not_before)
        .where(
            *waiting,
            claims.c.workspace_id == tenants.c.workspace_id,
            *(is_free(at) if backfill else may_start(at)),
        )
        .order_by(claims.c.not_before)
        .limit(1)
        .scalar_subquery()
    )
    return select(tenants.c.workspace_id, since.label("since")).where(
        tenants.c.workspace_id.is_not(None)
    )


def _longest(lane: str, at: datetime, *, backfill: bool) -> Select[Any]:
    """Return a SELECT of the keys of what may start, the longest waiting first."""
    return (
        select(claims.c.key)
        .where(
            claims.c.lane == lane,
            _kind(backfill),
            claims.c.workspace_id == _OF_WORKSPACE,
            *may_start(at),
        )
        .order_by(claims.c.not_before)
    )


def _heads(at: datetime) -> Select[Any]:
    """Return a SELECT of the keys of backfilled slots that may start: of each schedule the first.

    All others of the schedule come after it, thousands perhaps, and are not looked at. Each step
    is a subquery of one row: no plan reads more, whatever the server believes of the tables.
    """
    of_workspace = occurrences.c.workspace_id == _OF_WORKSPACE
    unsettled = occurrences.c.outcome.is_(None)
    backfilled = occurrences.c.via == sa.literal_column(f"'{BACKFILL}'")
    planned = _each(occurrences.c.schedule_id, of_workspace, unsettled, backfilled)
    earliest = (
        select(occurrences.c.key)
        .where(
            of_workspace,
            occurrences.c.schedule_id == planned.c.schedule_id,
            unsettled,
            occurrences.c.slot.is_not(None),
        )
        .order_by(occurrences.c.slot)
        .limit(1)
        .correlate(planned)
        .scalar_subquery()
    )
    free = (
        select(sa.case((and_(_kind(True), *is_free(at)), claims.c.key)))
        .where(claims.c.workspace_id == _OF_WORKSPACE, claims.c.key == earliest)
        .correlate(planned)
        .scalar_subquery()
    )
    return select(free.label("key")).where(planned.c.schedule_id.is_not(None), free.is_not(None))


def _each(column: sa.Column[str], *which: ColumnElement[bool]) -> sa.CTE:
    """Return the values of an index's column, each once, and a NULL at the end.

    From one to the next along the index, however many rows have the same.
    """

    def least(*more: ColumnElement[bool]) -> sa.ScalarSelect[str]:
        found = select(column).where(*which, *more).order_by(column).limit(1)
        return found.correlate_except(column.table).scalar_subquery()

    begin = select(least().label(column.name)).cte(f"each_{column.name}", recursive=True)
    last = begin.c[column.name]
    return begin.union_all(select(least(column > last)).where(last.is_not(None)))


def _kind(backfill: bool) -> ColumnElement[bool]:
    return claims.c.backfill if backfill else ~claims.c.backfill


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
