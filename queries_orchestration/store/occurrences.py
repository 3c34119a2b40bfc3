"""Occurrences: admitted once, held by one receive at a time, settled once.

Every write of a worker passes through ``hold``: a compare-and-set on the receive number, so
that a worker that lost its claim changes nothing any more.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy import ColumnElement, Connection, and_, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite

from queries_orchestration.model.errors import ReceiveLost
from queries_orchestration.store import database
from queries_orchestration.store.rows import every, one_or_none, select_records
from queries_orchestration.store.tables import occurrences, offers, receives


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """One slot of one schedule, or one run-now request; ``key`` is unique over all workspaces."""

    workspace_id: str
    key: str
    schedule_id: str
    slot: datetime | None
    requested_by: str | None
    via: str
    reason: str | None
    state: str
    outcome: str | None
    code: str | None
    message: str | None
    actor_id: str | None
    export_id: str | None
    source_changed: bool
    admitted_at: datetime
    settled_at: datetime | None
    not_before: datetime
    offer_number: int
    lease_until: datetime | None
    receive_number: int
    heartbeat_at: datetime | None

    @property
    def is_automatic(self) -> bool:
        """Whether the recurrence named it, rather than a person."""
        return self.slot is not None


@dataclass(frozen=True, slots=True)
class Receive:
    """One attempt at an occurrence, and the number that fences its writes."""

    workspace_id: str
    occurrence_key: str
    number: int


def get(connection: Connection, workspace_id: str, key: str) -> Occurrence | None:
    """Return one occurrence of the workspace."""
    return one_or_none(
        connection,
        Occurrence,
        select_records(Occurrence, occurrences).where(_is(workspace_id, key)),
    )


def history(
    connection: Connection, workspace_id: str, schedule_id: str | None, *, limit: int
) -> list[Occurrence]:
    """Return the newest occurrences, of one schedule or of all."""
    statement = select_records(Occurrence, occurrences).where(
        occurrences.c.workspace_id == workspace_id
    )
    if schedule_id is not None:
        statement = statement.where(occurrences.c.schedule_id == schedule_id)
    newest = statement.order_by(
        occurrences.c.admitted_at.desc(), occurrences.c.slot.desc(), occurrences.c.key
    )
    return every(connection, Occurrence, newest.limit(limit))


def admit(
    connection: Connection,
    workspace_id: str,
    *,
    key: str,
    schedule_id: str,
    slot: datetime,
    via: str,
    at: datetime,
    missed_because: str | None = None,
) -> bool:
    """Insert the occurrence of a slot, waiting or already missed; False if it is there."""
    values: dict[str, Any] = {
        "workspace_id": workspace_id,
        "key": key,
        "schedule_id": schedule_id,
        "slot": slot,
        "via": via,
        "state": "waiting",
        "admitted_at": at,
        "not_before": database.now(connection),
    }
    if missed_because is not None:
        values |= {
            "state": "settled",
            "outcome": "missed",
            "message": missed_because,
            "settled_at": at,
        }
    return _insert_once(connection, values)


def _insert_once(connection: Connection, values: dict[str, Any]) -> bool:
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    inserted = connection.execute(
        dialect.insert(occurrences).values(values).on_conflict_do_nothing()
    )
    return inserted.rowcount == 1


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

    An occurrence that a run may still take (a live offer) or has taken before is left alone.

    Returns:
        How many occurrences with a slot earlier than ``before`` were recorded.
    """
    now = database.now(connection)
    missed = connection.scalars(
        update(occurrences)
        .where(
            occurrences.c.workspace_id == workspace_id,
            occurrences.c.schedule_id == schedule_id,
            occurrences.c.slot < before,
            occurrences.c.state == "waiting",
            occurrences.c.receive_number == 0,
            no_live_offer(now),
            follows_unsettled(),
        )
        .values(state="settled", outcome="missed", message=because, settled_at=at, lease_until=None)
        .returning(occurrences.c.key)
    ).all()
    connection.execute(
        update(offers)
        .where(
            offers.c.workspace_id == workspace_id,
            offers.c.occurrence_key.in_(missed),
            offers.c.state == "live",
        )
        .values(state="lost", ended_at=now)
    )
    return len(missed)


def no_live_offer(at: datetime) -> ColumnElement[bool]:
    """Return the condition that no run may take the occurrence by an offer made before ``at``."""
    return or_(occurrences.c.lease_until.is_(None), occurrences.c.lease_until <= at)


def follows_unsettled() -> ColumnElement[bool]:
    """Return the condition that an earlier slot of the same schedule is not settled yet."""
    earlier = occurrences.alias("earlier")
    return (
        select(earlier.c.key)
        .where(
            earlier.c.workspace_id == occurrences.c.workspace_id,
            earlier.c.schedule_id == occurrences.c.schedule_id,
            earlier.c.slot < occurrences.c.slot,
            earlier.c.state != "settled",
        )
        .exists()
    )


def start(
    connection: Connection,
    workspace_id: str,
    key: str,
    *,
    offer_number: int,
    run_id: str,
) -> Receive | None:
    """Take the occurrence for one run, by compare-and-set on its live offer.

    Returns:
        The receive, or None if the offer is no longer the live one, or the work is held or
        settled.
    """
    at = database.now(connection)
    number = connection.execute(
        update(occurrences)
        .where(
            _is(workspace_id, key),
            occurrences.c.state == "waiting",
            occurrences.c.offer_number == offer_number,
            occurrences.c.lease_until.is_not(None),
        )
        .values(
            state="running",
            receive_number=occurrences.c.receive_number + 1,
            lease_until=None,
            heartbeat_at=at,
        )
        .returning(occurrences.c.receive_number)
    ).scalar_one_or_none()
    if number is None:
        return None
    connection.execute(
        update(offers)
        .where(
            offers.c.workspace_id == workspace_id,
            offers.c.occurrence_key == key,
            offers.c.number == offer_number,
        )
        .values(state="taken", ended_at=at)
    )
    connection.execute(
        sa.insert(receives).values(
            workspace_id=workspace_id,
            occurrence_key=key,
            number=number,
            run_id=run_id,
            started_at=at,
        )
    )
    return Receive(workspace_id, key, number)


def hold(connection: Connection, receive: Receive, **values: Any) -> None:
    """Write ``values`` to the occurrence if ``receive`` still holds it; a heartbeat too.

    Raises:
        ReceiveLost: a newer receive or a settlement took the work.
    """
    held = connection.execute(
        update(occurrences)
        .where(_held_by(receive))
        .values(heartbeat_at=database.now(connection), **values)
    )
    if held.rowcount != 1:
        raise ReceiveLost("Another worker has taken this occurrence over, or it was settled.")


def wait_again(connection: Connection, receive: Receive, *, code: str, delay: float) -> None:
    """End ``receive`` without settling; the work may be offered again after ``delay`` seconds.

    Raises:
        ReceiveLost: a newer receive or a settlement took the work.
    """
    at = database.now(connection)
    freed = connection.execute(
        update(occurrences)
        .where(_held_by(receive))
        .values(state="waiting", heartbeat_at=None, not_before=at + timedelta(seconds=delay))
    )
    if freed.rowcount != 1:
        raise ReceiveLost("Another worker has taken this occurrence over, or it was settled.")
    end_receive(connection, receive, code=code)


def settle(
    connection: Connection,
    receive: Receive,
    *,
    outcome: str,
    code: str | None,
    message: str | None,
    at: datetime,
) -> None:
    """Settle the occurrence that ``receive`` holds.

    Raises:
        ReceiveLost: a newer receive or a settlement took the work.
    """
    settled = connection.execute(
        update(occurrences)
        .where(_held_by(receive))
        .values(
            state="settled",
            outcome=outcome,
            code=code,
            message=message,
            settled_at=at,
            heartbeat_at=None,
        )
    )
    if settled.rowcount != 1:
        raise ReceiveLost("Another worker has taken this occurrence over, or it was settled.")
    end_receive(connection, receive, code=None)


def end_receive(connection: Connection, receive: Receive, *, code: str | None) -> None:
    """Close the history row of a receive."""
    connection.execute(
        update(receives)
        .where(
            receives.c.workspace_id == receive.workspace_id,
            receives.c.occurrence_key == receive.occurrence_key,
            receives.c.number == receive.number,
        )
        .values(ended_at=database.now(connection), code=code)
    )


def _is(workspace_id: str, key: str) -> ColumnElement[bool]:
    return and_(occurrences.c.workspace_id == workspace_id, occurrences.c.key == key)


def _held_by(receive: Receive) -> ColumnElement[bool]:
    return and_(
        _is(receive.workspace_id, receive.occurrence_key),
        occurrences.c.state == "running",
        occurrences.c.receive_number == receive.number,
    )
