"""An occurrence as it is told: how it ended, its file, what each recipient got."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection

from queries_orchestration.model.message_states import latest_state
from queries_orchestration.receives.backends import Backends
from queries_orchestration.store import (
    claims,
    deliveries,
    exports,
    message_states,
    notices,
    people,
    resends,
)
from queries_orchestration.store.message_states import ToldState
from queries_orchestration.store.occurrences import Occurrence
from queries_orchestration.store.schedules import Schedule
from queries_orchestration.store.workspaces import Workspace
from queries_orchestration.telling.recipients import recipient_json, recipient_text


def occurrence_json(
    connection: Connection,
    backends: Backends,
    place: Workspace,
    plan: Schedule,
    occurrence: Occurrence,
) -> dict[str, Any]:
    """Return the JSON that tells an occurrence: how it ended, its file, what each recipient got."""
    actor = occurrence.actor_id and people.get(connection, place.id, occurrence.actor_id)
    asker = occurrence.requested_by and people.get(connection, place.id, occurrence.requested_by)
    return {
        "occurrence": occurrence.key,
        "workspace": place.name,
        "schedule": plan.name,
        "slot": occurrence.slot,
        "via": occurrence.via,
        "purpose": occurrence.purpose,
        "resend_of": resends.origin_of(connection, place.id, occurrence.key),
        "requested_by": asker.name if asker else None,
        "reason": occurrence.reason,
        "admitted_at": occurrence.admitted_at,
        "state": occurrence.state,
        "outcome": occurrence.outcome,
        "code": occurrence.code,
        "message": occurrence.message,
        "actor": actor.name if actor else None,
        "receives": occurrence.receive_number,
        "attempts": _attempts(connection, occurrence),
        "source_changed": occurrence.source_changed,
        "message_fault": occurrence.message_fault,
        "late_file": _late_file(connection, occurrence),
        "settled_at": occurrence.settled_at,
        "file": _file(connection, backends, occurrence),
        "deliveries": _deliveries(connection, occurrence),
        "notices": _notices(connection, occurrence),
    }


def _file(
    connection: Connection, backends: Backends, occurrence: Occurrence
) -> dict[str, Any] | None:
    if occurrence.export_id is None:
        return None
    export = exports.get(connection, occurrence.workspace_id, occurrence.export_id)
    if export is None or export.state != "ready":
        return None
    return {
        "export": export.id,
        "format": export.format,
        "rows": export.rows,
        "size": export.size,
        "sha256": export.sha256,
        "location": backends.storage.location(export.storage_key),
        "expires_at": export.expires_at,
    }


def _late_file(connection: Connection, occurrence: Occurrence) -> dict[str, Any] | None:
    """Return the export whose render completed after its delivery had failed."""
    export = occurrence.export_id and exports.get(
        connection, occurrence.workspace_id, occurrence.export_id
    )
    if not export or export.completed_at is None or occurrence.outcome != "failed":
        return None
    if occurrence.settled_at is None or export.completed_at <= occurrence.settled_at:
        return None
    return {"export": export.id, "completed_at": export.completed_at, "state": export.state}


def _attempts(connection: Connection, occurrence: Occurrence) -> list[dict[str, Any]]:
    return [
        {
            "receive": attempt.number,
            "run": attempt.run_id,
            "started_at": attempt.started_at,
            "ended_at": attempt.ended_at,
            "code": attempt.code,
        }
        for attempt in claims.attempts(connection, occurrence.workspace_id, occurrence.key)
    ]


def _deliveries(connection: Connection, occurrence: Occurrence) -> list[dict[str, Any]]:
    workspace_id, key = occurrence.workspace_id, occurrence.key
    messages: dict[str, list[ToldState]] = {}
    for state in message_states.of_occurrence(connection, workspace_id, key):
        messages.setdefault(state.communication_key, []).append(state)
    told: list[dict[str, Any]] = []
    for delivery in deliveries.of_occurrence(connection, workspace_id, key):
        told.append(
            recipient_json(connection, workspace_id, delivery.recipient_id)
            | {
                "state": delivery.state,
                "code": delivery.code,
                "words": delivery.refusal_words,
                "resubmitted_at": delivery.resubmitted_at,
                "message_id": delivery.message_id,
                "message": _message(messages.get(delivery.communication_key, [])),
            }
        )
    return sorted(told, key=_place)


def _place(told: dict[str, Any]) -> tuple[bool, bool, str]:
    """People come first by their names, then outside addresses that have one, then the others."""
    return told["person"] is None, told["title"] is None, recipient_text(told)


def _message(told: list[ToldState]) -> dict[str, Any] | None:
    """Return how a message stands by what its provider told last; None if it told nothing."""
    latest = latest_state(one.state for one in told)
    return next(
        (
            {"state": one.state, "code": one.code, "at": one.at}
            for one in told
            if one.state == latest
        ),
        None,
    )


def _notices(connection: Connection, occurrence: Occurrence) -> list[dict[str, Any]]:
    """Return who was to be told of its failure, or of the pause that it led to."""
    told: list[dict[str, Any]] = []
    for notice in notices.of_occurrence(connection, occurrence.workspace_id, occurrence.key):
        person = people.get(connection, occurrence.workspace_id, notice.person_id)
        told.append(
            {
                "kind": notice.kind,
                "person": person.name if person else None,
                "state": notice.state,
                "code": notice.outcome_code,
                "concluded_at": notice.concluded_at,
            }
        )
    return sorted(told, key=lambda notice: (notice["kind"], notice["person"] or ""))
