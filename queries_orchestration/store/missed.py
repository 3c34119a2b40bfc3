"""Slots that are missed: recorded so at once, or after they were admitted and never begun."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

from sqlalchemy import ColumnElement, Connection, and_, or_, select, tuple_, update

from queries_orchestration.model.ids import slot_key
from queries_orchestration.store import claims as claims_store, counters, database
from queries_orchestration.store.admissions import insert_into
from queries_orchestration.store.occurrences import (
    BACKFILL,
    follows_unsettled,
    same_work,
)
from queries_orchestration.store.tables import claims, occurrences

_AT_ONCE: Final = 500


def record_missed(
    connection: Connection,
    workspace_id: str,
    schedule_id: str,
    missed: Mapping[datetime, str],
    *,
    via: str,
    at: datetime,
) -> int:
    """Insert the occurrences of slots that are missed, each with why; returns how many are new.

    All at once: after days without a dispatcher they are thousands.
    """
    if not missed:
        return 0
    rows = [
        {
            "workspace_id": workspace_id,
            "key": slot_key(schedule_id, slot),
            "schedule_id": schedule_id,
            "slot": slot,
            "via": via,
            "admitted_at": at,
            "outcome": "missed",
            "message": because,
            "settled_at": at,
        }
        for slot, because in missed.items()
    ]
    inserting = insert_into(connection).on_conflict_do_nothing().returning(occurrences.c.key)
    recorded = len(connection.scalars(inserting, rows).all())
    counters.count(connection, counters.OCCURRENCES_SETTLED, label="missed", by=recorded)
    return recorded


def schedules_with_waiting(
    connection: Connection, which: Collection[tuple[str, str]], *, besides: Collection[str]
) -> list[tuple[str, str]]:
    """Return those of some schedules that have slots of the recurrence that are not settled.

    Args:
        which: of each the ids of its workspace and of itself; some hundreds.
        besides: the keys of slots that do not count.
    """
    if not which:
        return []
    found = (
        select(occurrences.c.workspace_id, occurrences.c.schedule_id)
        .where(
            tuple_(occurrences.c.workspace_id, occurrences.c.schedule_id).in_(which),
            occurrences.c.outcome.is_(None),
            occurrences.c.slot.is_not(None),
            occurrences.c.via != BACKFILL,
            occurrences.c.key.not_in(besides),
        )
        .distinct()
    )
    return [(row.workspace_id, row.schedule_id) for row in connection.execute(found)]


def miss_overtaken(
    connection: Connection,
    workspace_id: str,
    schedule_id: str,
    *,
    before: datetime,
    because: str,
    at: datetime,
) -> int:
    """Record as missed what waits behind an unsettled predecessor while a newer slot is due.

    An occurrence that a run may still take (a live offer) or has taken before is left alone, and so
    is what a backfill admitted: it comes late anyway.

    Returns:
        How many occurrences with a slot earlier than ``before`` were recorded.
    """
    return _miss(
        connection,
        workspace_id,
        schedule_id,
        occurrences.c.slot < before,
        occurrences.c.via != BACKFILL,
        follows_unsettled(claims),
        because=because,
        at=at,
    )


def miss_waiting(
    connection: Connection, workspace_id: str, schedule_id: str, *, because: str, at: datetime
) -> int:
    """Record as missed every slot that waits, as ``miss_overtaken`` does; returns how many."""
    return _miss(
        connection,
        workspace_id,
        schedule_id,
        occurrences.c.slot.is_not(None),
        because=because,
        at=at,
    )


def miss_backfilled(
    connection: Connection,
    workspace_id: str,
    schedule_id: str,
    *,
    because: str,
    at: datetime,
    code: str | None = None,
) -> int:
    """Record as missed again every slot of a backfill that waits; returns how many.

    Args:
        code: of why, where it has one.
    """
    return _miss(
        connection,
        workspace_id,
        schedule_id,
        occurrences.c.via == BACKFILL,
        because=because,
        at=at,
        code=code,
    )


def _miss(
    connection: Connection,
    workspace_id: str,
    schedule_id: str,
    *which: ColumnElement[bool],
    because: str,
    at: datetime,
    code: str | None = None,
) -> int:
    waiting = connection.scalars(
        select(claims.c.key)
        .join(occurrences, same_work())
        .where(
            occurrences.c.workspace_id == workspace_id,
            occurrences.c.schedule_id == schedule_id,
            claims.c.state == "waiting",
            or_(claims.c.receive_number == 0, _only_taken_back()),
            claims_store.no_live_offer(database.now(connection)),
            *which,
        )
        # In one order, so that no two who do so wait for each other.
        .order_by(claims.c.key)
        .with_for_update(of=claims)
    ).all()
    # A backfill may have let thousands wait.
    for keys in _batched(waiting, _AT_ONCE):
        claims_store.end_all_waiting(connection, workspace_id, keys)
        connection.execute(
            update(occurrences)
            .where(
                occurrences.c.workspace_id == workspace_id,
                occurrences.c.key.in_(keys),
                occurrences.c.outcome.is_(None),
            )
            .values(outcome="missed", code=code, message=because, settled_at=at)
        )
    counters.count(
        connection, counters.OCCURRENCES_SETTLED, label="missed", code=code, by=len(waiting)
    )
    return len(waiting)


def _only_taken_back() -> ColumnElement[bool]:
    """Return the condition that all receives of a slot were before a backfill took it back.

    A receive writes first of all as whom it reads, and what is taken back has nobody: nothing was
    made of it since.
    """
    return and_(occurrences.c.via == BACKFILL, occurrences.c.actor_id.is_(None))


def _batched(keys: Sequence[str], number: int) -> Iterator[Sequence[str]]:
    """Yield ``number`` of the keys at a time."""
    for first in range(0, len(keys), number):
        yield keys[first : first + number]
