"""What a backfill admits: slots without a record, missed ones, and its own failures.

Each is admitted once: a slot without a record by the unique keys, a settled one by taking its
outcome back, which only one can. What workers have begun three times stays as it is, and so does a
failure of which anybody has a delivery.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, Select, and_, case, delete, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite

from queries_orchestration.model.backfills import CALLED_OFF, TakenBack
from queries_orchestration.model.ids import slot_key
from queries_orchestration.settings import DELIVERY_LANE, MAX_RECEIVES
from queries_orchestration.store import database
from queries_orchestration.store.admissions import insert_into
from queries_orchestration.store.occurrences import BACKFILL, same_work
from queries_orchestration.store.tables import claims, deliveries, occurrences, offers


def settled_slots(
    connection: Connection,
    workspace_id: str,
    schedule_id: str,
    *,
    outcome: TakenBack,
    after: datetime,
    until: datetime,
) -> list[datetime]:
    """Return the slots in (``after``, ``until``] that ended so and may be tried again."""
    may_be_tried = or_(
        claims.c.key.is_(None),
        and_(claims.c.state == "done", claims.c.receive_number < MAX_RECEIVES),
    )
    found = (
        select(occurrences.c.slot)
        .outerjoin(claims, same_work())
        .where(
            occurrences.c.workspace_id == workspace_id,
            occurrences.c.schedule_id == schedule_id,
            occurrences.c.slot > after,
            occurrences.c.slot <= until,
            *_ended(outcome),
            may_be_tried,
        )
    )
    return list(connection.scalars(found.order_by(occurrences.c.slot)))


def admit_missing(
    connection: Connection,
    workspace_id: str,
    schedule_id: str,
    slots: Iterable[datetime],
    *,
    at: datetime,
) -> int:
    """Insert the occurrences of slots that have no record; returns how many had none."""
    rows = [
        {
            "workspace_id": workspace_id,
            "key": slot_key(schedule_id, slot),
            "schedule_id": schedule_id,
            "slot": slot,
            "via": BACKFILL,
            "admitted_at": at,
        }
        for slot in slots
    ]
    if not rows:
        return 0
    inserting = insert_into(connection).on_conflict_do_nothing().returning(occurrences.c.key)
    keys = connection.scalars(inserting, rows).all()
    _let_wait(connection, workspace_id, keys)
    return len(keys)


def admit_again(
    connection: Connection,
    workspace_id: str,
    schedule_id: str,
    slots: Collection[datetime],
    *,
    outcome: TakenBack,
    at: datetime,
) -> int:
    """Take the outcome of slots back, so that they wait; returns how many had it.

    Why each was missed, or had failed, stays as its reason. What an earlier receive had prepared is
    left alone: the file is made anew. Offers that no run took are forgotten: they tell since when
    work waits for a run, and this has just begun to.
    """
    if not slots:
        return 0
    reopening = (
        update(occurrences)
        .where(
            occurrences.c.workspace_id == workspace_id,
            occurrences.c.schedule_id == schedule_id,
            occurrences.c.slot.in_(slots),
            *_ended(outcome),
        )
        .values(
            via=BACKFILL,
            admitted_at=at,
            reason=occurrences.c.message,
            outcome=None,
            code=None,
            message=None,
            settled_at=None,
            actor_id=None,
            export_id=None,
            source_changed=False,
            message_fault=None,
        )
        .returning(occurrences.c.key)
    )
    keys = connection.scalars(reopening).all()
    connection.execute(
        delete(offers).where(
            offers.c.workspace_id == workspace_id,
            offers.c.key.in_(keys),
            offers.c.state != "taken",
        )
    )
    _let_wait(connection, workspace_id, keys)
    return len(keys)


def last_failures(
    connection: Connection, workspace_id: str, schedule_id: str, *, limit: int
) -> list[str | None]:
    """Return the codes of the slots of backfills that were worked last, the latest first.

    None for one that did not fail, or of which somebody may have a message.
    """
    got = _handed_out().where(deliveries.c.state.in_(("sent", "uncertain")))
    failed = and_(occurrences.c.outcome == "failed", ~got.exists())
    settled = (
        select(case((failed, occurrences.c.code)))
        .where(
            occurrences.c.workspace_id == workspace_id,
            occurrences.c.schedule_id == schedule_id,
            occurrences.c.via == BACKFILL,
            occurrences.c.outcome.is_not(None),
            occurrences.c.outcome != "missed",
        )
        .order_by(occurrences.c.settled_at.desc(), occurrences.c.slot.desc())
    )
    return list(connection.scalars(settled.limit(limit)))


def _ended(outcome: TakenBack) -> list[ColumnElement[bool]]:
    """Return the conditions that an occurrence has an outcome that a backfill may take back."""
    if outcome == "failed":
        return [
            occurrences.c.outcome == "failed",
            occurrences.c.via == BACKFILL,
            ~_handed_out().exists(),
        ]
    is_called_off = occurrences.c.code.is_not_distinct_from(CALLED_OFF)
    return [
        occurrences.c.outcome == "missed",
        is_called_off if outcome == "called_off" else ~is_called_off,
    ]


def _handed_out() -> Select[tuple[str]]:
    """Return a SELECT of the deliveries of an occurrence, in whatever state."""
    return select(deliveries.c.occurrence_key).where(
        deliveries.c.workspace_id == occurrences.c.workspace_id,
        deliveries.c.occurrence_key == occurrences.c.key,
    )


def _let_wait(connection: Connection, workspace_id: str, keys: Collection[str]) -> None:
    """Let the work wait for an offer; what waited before it was missed keeps its numbers."""
    if not keys:
        return
    is_postgresql = connection.dialect.name == "postgresql"
    inserting = (postgresql.insert if is_postgresql else sqlite.insert)(claims)
    waiting = {
        "lane": DELIVERY_LANE,
        "state": "waiting",
        "not_before": database.now(connection),
        "backfill": True,
    }
    connection.execute(
        inserting.on_conflict_do_update(
            index_elements=[claims.c.workspace_id, claims.c.key], set_=waiting
        ),
        [{"workspace_id": workspace_id, "key": key} | waiting for key in keys],
    )
