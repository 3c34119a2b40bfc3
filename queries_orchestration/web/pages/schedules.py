"""Schedules: the list, and one with all that there is to know of it."""

from __future__ import annotations

from datetime import datetime, tzinfo
from itertools import islice
from typing import Any, Final

from fastapi import APIRouter, Request, Response
from sqlalchemy import Connection

from queries_orchestration.deliveries.authority import governed_schedules, schedule_named_by
from queries_orchestration.model.errors import InvalidRecurrence, QueriesError, UnknownTimeZone
from queries_orchestration.model.recurrences import Recurrence
from queries_orchestration.model.slot_readings import preview
from queries_orchestration.receives.backends import Backends
from queries_orchestration.store import exports, occurrences, people, sources
from queries_orchestration.store.schedules import Schedule
from queries_orchestration.telling.days import Day, days_of, first_day, midnight
from queries_orchestration.telling.occurrences import occurrences_json
from queries_orchestration.telling.schedules import schedule_json, transfers_json
from queries_orchestration.web.asked import BackendsOf, web_of
from queries_orchestration.web.cursors import CursorOf, read_cursor, write_cursor
from queries_orchestration.web.pages.chart import bars_of
from queries_orchestration.web.pages.look import page
from queries_orchestration.web.pages.visitor import Visitor, VisitorOf
from queries_orchestration.web.pages.words import clocks_of
from queries_orchestration.web.problems import status_of

PAGE: Final = 100
HISTORY: Final = 15
WEEKS: Final = 13
"""A quarter."""
FORTNIGHT: Final = 14
SLOTS: Final = 5
BARS: Final = 40

router = APIRouter(prefix="/schedules", include_in_schema=False)


@router.get("")
def listing(
    request: Request, visitor: VisitorOf, backends: BackendsOf, after: str | None = None
) -> Response:
    """List the schedules that the visitor governs."""
    now = backends.clock()
    with backends.database.read(visitor.workspace.id) as connection:
        found = governed_schedules(
            connection,
            visitor.workspace.id,
            person_id=visitor.person.id,
            limit=PAGE + 1,
            after=after if after and after.isprintable() else None,
        )
        rows = [_row(connection, visitor, plan, now) for plan in found[:PAGE]]
    return page(
        request,
        "schedules",
        visitor,
        rows=rows,
        next_after=found[PAGE - 1].name if len(found) > PAGE else None,
        is_first=after is None,
        now=now,
    )


@router.get("/{name}")
def show(
    request: Request,
    name: str,
    visitor: VisitorOf,
    cursor: CursorOf = None,
    done: str | None = None,
) -> Response:
    """Show a schedule: what, when, to whom, as whom, and what became of it."""
    return shown(request, visitor, name, cursor=cursor, done=done)


def shown(
    request: Request,
    visitor: Visitor,
    name: str,
    *,
    cursor: str | None = None,
    done: str | None = None,
    problem: QueriesError | None = None,
) -> Response:
    """Return the page of a schedule.

    Args:
        done: what the visitor has just changed.
        problem: why what they asked for was not done.

    Raises:
        NotFound: there is none of that name, or it is not the visitor's.
        Refused: the cursor is none of ours.
    """
    backends = web_of(request).backends
    now = backends.clock()
    with backends.database.read(visitor.workspace.id) as connection:
        plan = schedule_named_by(connection, visitor.workspace.id, name=name, by=visitor.by)
        clocks = clocks_of(plan.time_zone)
        source = sources.get(connection, plan.workspace_id, plan.source_id)
        owner = people.get(connection, plan.workspace_id, plan.owner_id)
        told = schedule_json(connection, visitor.workspace, plan)
        history, next_cursor = _history(connection, backends, visitor, plan, cursor)
        made = exports.made_for(connection, plan.workspace_id, plan.id, limit=BARS)
        days = _days(connection, plan, clocks, now)
        given = transfers_json(connection, plan)
    recurrence = recurrence_of(plan)
    slots = list(islice(preview(recurrence, after=now), SLOTS)) if recurrence else []
    return page(
        request,
        "schedule",
        visitor,
        status=200 if problem is None else status_of(problem),
        problem=problem,
        done=done,
        plan=plan,
        told=told,
        source=source,
        owner=owner,
        transfers=given,
        clocks=clocks,
        recurrence=recurrence,
        slots=slots if plan.state == "active" else [],
        days=days,
        made=made,
        rows_of={one.key: one.rows for one in made},
        row_bars=bars_of([one.rows for one in made]),
        duration_bars=bars_of([one.duration_seconds or 0 for one in made]),
        history=history,
        next_cursor=next_cursor,
        is_first=cursor is None,
        is_live=any(one["state"] != "settled" for one in history),
        is_newer=source is not None and source.current_version != plan.pinned_version,
        now=now,
    )


def recurrence_of(plan: Schedule) -> Recurrence | None:
    """Return the rule of a schedule; None where it cannot be read any more."""
    try:
        return plan.recurrence()
    except (InvalidRecurrence, UnknownTimeZone):
        return None


def _row(connection: Connection, visitor: Visitor, plan: Schedule, now: datetime) -> dict[str, Any]:
    last = occurrences.history(connection, plan.workspace_id, plan.id, limit=1)
    clocks = clocks_of(plan.time_zone)
    return {
        "plan": plan,
        "told": schedule_json(connection, visitor.workspace, plan),
        "clocks": clocks,
        "recurrence": recurrence_of(plan),
        "last": last[0] if last else None,
        "days": _days(connection, plan, clocks, now)[-FORTNIGHT:],
    }


def _days(connection: Connection, plan: Schedule, clocks: tzinfo, now: datetime) -> list[Day]:
    today = now.astimezone(clocks).date()
    first = first_day(today, WEEKS)
    ended = occurrences.outcomes_since(
        connection, plan.workspace_id, plan.id, midnight(first, clocks)
    )
    return days_of(ended, first=first, last=today, clocks=clocks)


def _history(
    connection: Connection,
    backends: Backends,
    visitor: Visitor,
    plan: Schedule,
    cursor: str | None,
) -> tuple[list[dict[str, Any]], str | None]:
    found = occurrences.history(
        connection, plan.workspace_id, plan.id, limit=HISTORY + 1, after=read_cursor(cursor)
    )
    page_, more = found[:HISTORY], found[HISTORY:]
    actors = people.those(
        connection, plan.workspace_id, {one.actor_id for one in page_ if one.actor_id}
    )
    titles = {one.id: one.title for one in actors}
    told = [
        told | {"read_as": titles.get(one.actor_id or "")}
        for one, told in zip(
            page_,
            occurrences_json(connection, backends, visitor.workspace, plan, page_),
            strict=True,
        )
    ]
    last = page_[-1] if more else None
    return told, write_cursor(last.admitted_at, last.key) if last else None
