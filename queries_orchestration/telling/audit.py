"""An event of the audit trail as it is told: by names and ids, without values or addresses."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection

from queries_orchestration.model.audit import AuditEvent
from queries_orchestration.store import people, schedules, sources
from queries_orchestration.store.workspaces import Workspace


def audit_json(connection: Connection, place: Workspace, event: AuditEvent) -> dict[str, Any]:
    """Tell an event with the names of what is still there; what is gone has its id alone."""

    def person(person_id: str | None) -> str | None:
        found = person_id and people.get(connection, place.id, person_id)
        return found.name if found else None

    return {
        "workspace": place.name,
        "id": event.id,
        "at": event.at,
        "via": event.by.via,
        "person": person(event.by.person_id),
        "person_id": event.by.person_id,
        "outside_id": event.by.outside_id,
        "action": event.action,
        "attempted": event.attempted,
        "subject_kind": event.subject.kind,
        "subject": _name(connection, place, event),
        "subject_id": event.subject.id,
        "concerns": person(event.concerns_id),
        "concerns_id": event.concerns_id,
        "code": event.code,
    }


def _name(connection: Connection, place: Workspace, event: AuditEvent) -> str | None:
    """Return the name of what has one: exports and occurrences go by their ids."""
    kind, subject_id = event.subject.kind, event.subject.id
    if subject_id is None:
        return None
    if kind == "workspace":
        return place.name
    if kind == "schedule":
        label = schedules.label_of(connection, place.id, subject_id)
        return label.name if label else None
    if kind == "source":
        source = sources.get(connection, place.id, subject_id)
        return source.name if source else None
    return None
