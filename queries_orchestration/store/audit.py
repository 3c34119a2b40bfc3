"""The audit trail: events are added, and read from the newest back."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy import ColumnElement, Connection, Row, select, tuple_

from queries_orchestration.model.audit import Action, AuditEvent, By, Subject
from queries_orchestration.store.tables import audit_events

_INSERT: Final = sa.insert(audit_events)


@dataclass(frozen=True, slots=True)
class Place:
    """Where an event stands in the trail of its workspace: what a reader goes on from."""

    at: datetime
    id: str


def place_of(event: AuditEvent) -> Place:
    """Return where an event stands."""
    return Place(event.at, event.id)


def record(connection: Connection, event: AuditEvent) -> None:
    """Add an event, in the transaction of what it tells."""
    # One statement for all, its values beside it: it is made and compiled once.
    connection.execute(_INSERT, values_of(event))


def values_of(event: AuditEvent) -> dict[str, Any]:
    """Return what its columns hold, by their names."""
    return {
        "workspace_id": event.workspace_id,
        "id": event.id,
        "at": event.at,
        "via": event.by.via,
        "person_id": event.by.person_id,
        "outside_id": event.by.outside_id,
        "action": event.action,
        "subject_kind": event.subject.kind,
        "subject_id": event.subject.id,
        "concerns_id": event.concerns_id,
        "code": event.code,
        "attempted": event.attempted,
    }


def listing(
    connection: Connection,
    workspace_id: str,
    *,
    before: Place | None = None,
    subject: Subject | None = None,
    limit: int,
) -> list[AuditEvent]:
    """Return the newest events of the workspace, the newest first.

    Args:
        before: only those that stand before it; None: from the newest on.
        subject: only those about it; None: about anything.
        limit: at most so many.
    """
    newest = select(audit_events).where(audit_events.c.workspace_id == workspace_id)
    place = tuple_(audit_events.c.at, audit_events.c.id)
    if before is not None:
        at = sa.literal(before.at, audit_events.c.at.type)
        newest = newest.where(place < tuple_(at, before.id))
    if subject is not None:
        newest = newest.where(
            audit_events.c.subject_kind == subject.kind, audit_events.c.subject_id == subject.id
        )
    newest = newest.order_by(audit_events.c.at.desc(), audit_events.c.id.desc()).limit(limit)
    return [_event(row) for row in connection.execute(newest)]


def moments(
    connection: Connection,
    workspace_id: str,
    subject: Subject,
    actions: Collection[Action],
    *,
    since: datetime,
) -> list[tuple[Action, datetime]]:
    """Return when each of some actions was done with a subject, the oldest first."""
    found = select(audit_events.c.action, audit_events.c.at).where(
        audit_events.c.workspace_id == workspace_id,
        audit_events.c.subject_kind == subject.kind,
        audit_events.c.subject_id == subject.id,
        audit_events.c.at >= since,
        audit_events.c.action.in_(actions),
    )
    return [(row.action, row.at) for row in connection.execute(found.order_by(audit_events.c.at))]


def old(connection: Connection, workspace_id: str, *, before: datetime) -> int:
    """Count the events of before an instant."""
    counted = select(sa.func.count()).where(_is_old(workspace_id, before))
    return int(connection.scalar(counted) or 0)


def remove_old(connection: Connection, workspace_id: str, *, before: datetime, limit: int) -> int:
    """Delete the oldest events of before an instant; returns how many.

    The database refuses to delete one of the last 365 days, whatever is said here.
    """
    oldest = (
        select(audit_events.c.id)
        .where(_is_old(workspace_id, before))
        .order_by(audit_events.c.at, audit_events.c.id)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    ids = list(connection.scalars(oldest))
    connection.execute(
        sa.delete(audit_events).where(
            audit_events.c.workspace_id == workspace_id, audit_events.c.id.in_(ids)
        )
    )
    return len(ids)


def _is_old(workspace_id: str, before: datetime) -> ColumnElement[bool]:
    return sa.and_(audit_events.c.workspace_id == workspace_id, audit_events.c.at < before)


def _event(row: Row[Any]) -> AuditEvent:
    return AuditEvent(
        workspace_id=row.workspace_id,
        id=row.id,
        at=row.at,
        by=By(via=row.via, person_id=row.person_id, outside_id=row.outside_id),
        action=row.action,
        subject=Subject(row.subject_kind, row.subject_id),
        concerns_id=row.concerns_id,
        code=row.code,
        attempted=row.attempted,
    )
