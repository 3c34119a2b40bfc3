"""Occurrences: admitted once, settled once; who holds one in between is its claim."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import ColumnElement, Connection, Select, Table, and_, func, or_, select, update

from queries_orchestration.store import claims as claims_store, counters
from queries_orchestration.store.claims import Receive
from queries_orchestration.store.rows import comes_after, every, one_or_none
from queries_orchestration.store.tables import claims, occurrences

BACKFILL: Final = "backfill"
"""By what way a slot was admitted that was missed, or missing, before."""
_STATE: Final = sa.case((occurrences.c.outcome.is_not(None), "settled"), else_=claims.c.state)


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """One slot of one schedule, or one run-now request; ``key`` is unique over all workspaces.

    ``state`` is waiting, running or settled; ``receive_number`` counts the attempts so far. Its
    ``purpose`` is a delivery, a test for who asked alone, or a resend of another one's file.
    ``message_fault`` names the parts of its messages whose own template could not be used.
    """

    workspace_id: str
    key: str
    schedule_id: str
    slot: datetime | None
    requested_by: str | None
    client_key: str | None
    via: str
    purpose: str
    reason: str | None
    state: str
    outcome: str | None
    code: str | None
    message: str | None
    actor_id: str | None
    export_id: str | None
    source_changed: bool
    message_fault: str | None
    admitted_at: datetime
    settled_at: datetime | None
    receive_number: int

    @property
    def is_automatic(self) -> bool:
        """Whether the recurrence named it, rather than a person."""
        return self.slot is not None

    @property
    def is_backfilled(self) -> bool:
        """Whether a backfill admitted it, after its time."""
        return self.via == BACKFILL


@dataclass(frozen=True, slots=True)
class Ended:
    """How an occurrence ended, None if it has not; ``moment`` is its slot, or when it was asked."""

    key: str
    moment: datetime
    outcome: str | None


def get(connection: Connection, workspace_id: str, key: str) -> Occurrence | None:
    """Return one occurrence of the workspace."""
    return one_or_none(connection, Occurrence, _select().where(_is(workspace_id, key)))


def history(
    connection: Connection,
    workspace_id: str,
    schedule_id: str | None,
    *,
    limit: int,
    after: tuple[datetime, str] | None = None,
) -> list[Occurrence]:
    """Return the newest occurrences, of one schedule or of all.

    Args:
        after: when the one that they come after was admitted, and its key.
    """
    statement = _select().where(occurrences.c.workspace_id == workspace_id)
    if schedule_id is not None:
        statement = statement.where(occurrences.c.schedule_id == schedule_id)
    if after is not None:
        statement = statement.where(
            comes_after(occurrences.c.admitted_at, occurrences.c.key, after)
        )
    # The keys of a schedule's slots are in the order of the slots.
    newest = statement.order_by(occurrences.c.admitted_at.desc(), occurrences.c.key.desc())
    return every(connection, Occurrence, newest.limit(limit))


def outcomes_since(
    connection: Connection, workspace_id: str, schedule_id: str, since: datetime
) -> list[Ended]:
    """Return how the deliveries of a schedule ended from a moment on, the oldest first."""
    moment = func.coalesce(occurrences.c.slot, occurrences.c.admitted_at)
    statement = select(occurrences.c.key, moment.label("moment"), occurrences.c.outcome).where(
        occurrences.c.workspace_id == workspace_id,
        occurrences.c.schedule_id == schedule_id,
        occurrences.c.purpose == "delivery",
        moment >= since,
    )
    return every(connection, Ended, statement.order_by(moment, occurrences.c.key))


def of_click(
    connection: Connection,
    workspace_id: str,
    schedule_id: str,
    *,
    requested_by: str,
    client_key: str,
) -> Occurrence | None:
    """Return the occurrence that this click of this person has made already."""
    return one_or_none(
        connection,
        Occurrence,
        _select().where(
            occurrences.c.workspace_id == workspace_id,
            occurrences.c.schedule_id == schedule_id,
            occurrences.c.requested_by == requested_by,
            occurrences.c.client_key == client_key,
        ),
    )


def missed_since_the_last(
    connection: Connection, workspace_id: str, schedule_id: str, *, before: datetime
) -> int:
    """Count the slots right before ``before`` that were missed, back to the last that was not."""
    earlier = (
        occurrences.c.workspace_id == workspace_id,
        occurrences.c.schedule_id == schedule_id,
        occurrences.c.slot < before,
    )
    is_missed = func.coalesce(occurrences.c.outcome, "") == "missed"
    last = connection.scalar(select(func.max(occurrences.c.slot)).where(*earlier, ~is_missed))
    counted = select(func.count()).select_from(occurrences).where(*earlier, is_missed)
    if last is not None:
        counted = counted.where(occurrences.c.slot > last)
    return int(connection.scalar(counted) or 0)


def follows_unsettled(work: Table) -> ColumnElement[bool]:
    """Return the condition that an earlier slot of the same schedule is not settled yet.

    A slot that a backfill delivers waits for all earlier ones; no other waits for it.

    Args:
        work: the table whose row, of the same key, is asked about.
    """
    this, unsettled = occurrences.alias("this"), occurrences.alias("unsettled")
    # Subqueries of one row each: no plan reads more of a schedule with thousands of slots, whatever
    # the server believes of the tables.
    earliest = (
        select(unsettled.c.slot)
        .where(
            unsettled.c.workspace_id == this.c.workspace_id,
            unsettled.c.schedule_id == this.c.schedule_id,
            unsettled.c.outcome.is_(None),
            unsettled.c.slot.is_not(None),
            or_(this.c.via == BACKFILL, unsettled.c.via != BACKFILL),
        )
        .order_by(unsettled.c.slot)
        .limit(1)
        .correlate(this)
        .scalar_subquery()
    )
    follows = (
        select(this.c.slot > earliest)
        .where(this.c.workspace_id == work.c.workspace_id, this.c.key == work.c.key)
        .scalar_subquery()
    )
    return func.coalesce(follows, sa.false())


def change(connection: Connection, receive: Receive, **values: Any) -> None:
    """Write columns of the occurrence that ``receive`` holds.

    Raises:
        ReceiveLost: a newer receive or a settlement took the work.
    """
    claims_store.hold(connection, receive)
    connection.execute(
        update(occurrences).where(_is(receive.workspace_id, receive.key)).values(**values)
    )


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
    claims_store.end(connection, receive, failed_with=code if outcome == "failed" else None)
    write_outcome(
        connection,
        receive.workspace_id,
        receive.key,
        outcome=outcome,
        code=code,
        message=message,
        at=at,
    )


def cancel(
    connection: Connection, workspace_id: str, key: str, *, message: str, at: datetime
) -> bool:
    """Settle an occurrence as cancelled, whoever holds it; False if it is settled already."""
    ended = claims_store.end_held_or_not(connection, workspace_id, key)
    if ended:
        write_outcome(
            connection, workspace_id, key, outcome="cancelled", code=None, message=message, at=at
        )
    return ended


def write_outcome(
    connection: Connection,
    workspace_id: str,
    key: str,
    *,
    outcome: str,
    code: str | None,
    message: str | None,
    at: datetime,
) -> None:
    """Write how an occurrence ends that has no outcome; the caller has ended its claim."""
    written = connection.execute(
        update(occurrences)
        .where(_is(workspace_id, key), occurrences.c.outcome.is_(None))
        .values(outcome=outcome, code=code, message=message, settled_at=at)
    )
    if written.rowcount == 1:
        count_outcome(connection, outcome, code)


def count_outcome(connection: Connection, outcome: str, code: str | None) -> None:
    """Count how an occurrence ended, with what ends it."""
    counters.count(connection, counters.OCCURRENCES_SETTLED, label=outcome, code=code)


def _select() -> Select[Any]:
    """Return a SELECT of occurrences, with what the claim of each says."""
    own = [column for column in occurrences.c if column.name in Occurrence.__dataclass_fields__]
    return select(
        *own,
        _STATE.label("state"),
        func.coalesce(claims.c.receive_number, 0).label("receive_number"),
    ).outerjoin(claims, same_work())


def same_work() -> ColumnElement[bool]:
    """Return the condition that a claim is that of an occurrence."""
    return and_(
        claims.c.workspace_id == occurrences.c.workspace_id, claims.c.key == occurrences.c.key
    )


def _is(workspace_id: str, key: str) -> ColumnElement[bool]:
    return and_(occurrences.c.workspace_id == workspace_id, occurrences.c.key == key)
