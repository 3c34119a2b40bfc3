"""An occurrence as the command tells it: for machines, and in lines for people."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection

from queries_orchestration.cli.output import local_text
from queries_orchestration.receives.backends import Backends
from queries_orchestration.store import claims, deliveries, exports, people
from queries_orchestration.store.occurrences import Occurrence
from queries_orchestration.store.schedules import Schedule
from queries_orchestration.store.workspaces import Workspace


def occurrence_json(
    connection: Connection,
    backends: Backends,
    place: Workspace,
    plan: Schedule,
    occurrence: Occurrence,
) -> dict[str, Any]:
    """Return the JSON that tells an occurrence: how it ended, its file, what each recipient got."""
    actor = occurrence.actor_id and people.get(connection, place.id, occurrence.actor_id)
    return {
        "occurrence": occurrence.key,
        "workspace": place.name,
        "schedule": plan.name,
        "slot": occurrence.slot,
        "via": occurrence.via,
        "state": occurrence.state,
        "outcome": occurrence.outcome,
        "code": occurrence.code,
        "message": occurrence.message,
        "actor": actor.name if actor else None,
        "receives": occurrence.receive_number,
        "attempts": _attempts(connection, occurrence),
        "source_changed": occurrence.source_changed,
        "late_file": _late_file(connection, occurrence),
        "settled_at": occurrence.settled_at,
        "file": _file(connection, backends, occurrence),
        "deliveries": _deliveries(connection, occurrence),
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
    told: list[dict[str, Any]] = []
    for delivery in deliveries.of_occurrence(connection, occurrence.workspace_id, occurrence.key):
        person = people.get(connection, occurrence.workspace_id, delivery.person_id)
        told.append(
            {
                "person": person.name if person else None,
                "state": delivery.state,
                "code": delivery.code,
                "message_id": delivery.message_id,
            }
        )
    return sorted(told, key=lambda delivery: delivery["person"] or "")


def result_text(told: dict[str, Any]) -> str:
    """Return what there is of: rows and format, as whom, who got what."""
    file, parts = told["file"], []
    if file:
        parts.append(f"{file['rows']:,} rows as {file['format']}")
    if told["actor"]:
        parts.append(f"for {told['actor']}")
    if told["receives"] > 1:
        parts.append(f"in {told['receives']} receives")
    got = ", ".join(
        f"{delivery['person']} {delivery['state']}"
        + (f" ({delivery['code']})" if delivery["code"] else "")
        for delivery in told["deliveries"]
    )
    return ": ".join(filter(None, (" ".join(parts), got)))


def notes_text(told: dict[str, Any]) -> list[str]:
    """Return what else is to be known: a changed source, a file that came too late."""
    notes = []
    if told["source_changed"]:
        notes.append("its source has changed since the schedule was set up")
    if late := told["late_file"]:
        notes.append(
            f"its report was rendered later, at {local_text(late['completed_at'])}, and is"
            f" {'kept' if late['state'] == 'ready' else late['state']}: export {late['export']}"
        )
    return notes


def reason_text(told: dict[str, Any]) -> str:
    """Return why it ended so, or why its last receive did, if there is something to say."""
    ended = ": ".join(filter(None, (told["code"], told["message"])))
    last = told["attempts"][-1]["code"] if told["attempts"] and not told["outcome"] else None
    return ended or (f"receive {told['receives']} ended with {last}" if last else "")
