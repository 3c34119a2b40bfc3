"""What ``queries check`` looks for across workspaces: work that failed for good, work that hangs.

Instants and ages are by the lease clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, func, not_, null, or_, select

from queries_orchestration.settings import MAX_RECEIVES
from queries_orchestration.store import database
from queries_orchestration.store.exports import Export
from queries_orchestration.store.notices import Notice
from queries_orchestration.store.occurrences import follows_unsettled
from queries_orchestration.store.rows import every, readable, select_records
from queries_orchestration.store.schedules import Schedule
from queries_orchestration.store.tables import (
    claims,
    exports,
    notices,
    occurrences,
    offers,
    receives,
    schedules,
    sources,
    workspaces,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """A piece of work that somebody should look at; ``name`` is its schedule's or its query's.

    ``code`` is of a failure; ``since`` is when it failed, was last heard of, or began to wait.
    """

    workspace: str
    name: str
    key: str
    lane: str
    code: str | None
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """A row that a pass or a listing passes over; ``key`` names it in its ``table``."""

    table: str
    key: str


def unreadable_rows(connection: Connection) -> list[Unreadable]:
    """Return the rows that work, or tell of it, and hold what we have not written."""
    kept = exports.c.removed_at.is_(None)
    asked: list[tuple[type[Any], Select[Any], ColumnElement[Any]]] = [
        (Schedule, select_records(Schedule, schedules), schedules.c.id),
        (
            Notice,
            select_records(Notice, notices).where(notices.c.concluded_at.is_(None)),
            notices.c.communication_key,
        ),
        (Export, select_records(Export, exports).where(kept), exports.c.id),
    ]
    return [
        Unreadable(table=key.table.name, key=str(found[0]))
        for record, statement, key in asked
        for found in readable(connection, record, statement, key).unreadable
    ]


def dead_letters(connection: Connection, *, within: timedelta) -> list[Trouble]:
    """Return what failed after its third receive, ``within`` the time until now."""
    after = database.now(connection) - within
    failed = (
        _troubles(func.coalesce(occurrences.c.code, exports.c.code), receives.c.ended_at)
        .join(
            receives,
            and_(
                receives.c.workspace_id == claims.c.workspace_id,
                receives.c.key == claims.c.key,
                receives.c.number == MAX_RECEIVES,
            ),
        )
        .where(
            claims.c.state == "done",
            receives.c.ended_at >= after,
            or_(occurrences.c.outcome == "failed", exports.c.state == "failed"),
        )
        .order_by(receives.c.ended_at, claims.c.key)
    )
    return every(connection, Trouble, failed)


def silent_workers(connection: Connection, *, silence: float) -> list[Trouble]:
    """Return what runs, and whose heartbeat is older than ``silence`` seconds."""
    before = database.now(connection) - timedelta(seconds=silence)
    silent = (
        _troubles(None, claims.c.heartbeat_at)
        .where(claims.c.state == "running", claims.c.heartbeat_at < before)
        .order_by(claims.c.heartbeat_at, claims.c.key)
    )
    return every(connection, Trouble, silent)


def waiting_long(connection: Connection, *, longer_than: timedelta) -> list[Trouble]:
    """Return what could have started long ago, or was offered long ago, and no run took it.

    What follows an unsettled slot of its schedule is left out: that one is told, if it hangs. So is
    what a backfill admitted, until it is offered: it waits until there is nothing else to do.
    """
    before = database.now(connection) - longer_than
    offered_long_ago = (
        select(offers.c.number)
        .where(
            offers.c.workspace_id == claims.c.workspace_id,
            offers.c.key == claims.c.key,
            offers.c.state != "taken",
            offers.c.offered_at < before,
        )
        .exists()
    )
    waiting = (
        _troubles(None, claims.c.not_before)
        .where(
            claims.c.state == "waiting",
            or_(and_(claims.c.not_before < before, ~claims.c.backfill), offered_long_ago),
            not_(follows_unsettled(claims)),
        )
        .order_by(claims.c.not_before, claims.c.key)
    )
    return every(connection, Trouble, waiting)


def _troubles(code: ColumnElement[Any] | None, since: ColumnElement[Any]) -> Select[Any]:
    """Return a SELECT of claims with the names that people know them by."""
    in_schedule = and_(
        schedules.c.workspace_id == claims.c.workspace_id,
        schedules.c.id == occurrences.c.schedule_id,
    )
    of_source = and_(
        sources.c.workspace_id == claims.c.workspace_id, sources.c.id == exports.c.source_id
    )
    return (
        select(
            workspaces.c.name.label("workspace"),
            func.coalesce(schedules.c.name, sources.c.name).label("name"),
            claims.c.key,
            claims.c.lane,
            (null() if code is None else code).label("code"),
            since.label("since"),
        )
        .join(workspaces, workspaces.c.id == claims.c.workspace_id)
        .outerjoin(occurrences, _is_of(occurrences.c.workspace_id, occurrences.c.key))
        .outerjoin(exports, _is_of(exports.c.workspace_id, exports.c.id))
        .outerjoin(schedules, in_schedule)
        .outerjoin(sources, of_source)
    )


def _is_of(workspace_id: ColumnElement[Any], key: ColumnElement[Any]) -> ColumnElement[bool]:
    return and_(workspace_id == claims.c.workspace_id, key == claims.c.key)
