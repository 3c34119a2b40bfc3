"""An occurrence as it is told: how it ended, its file, what each recipient got."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any, TypeVar

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
from queries_orchestration.store.claims import Attempt
from queries_orchestration.store.deliveries import Delivery
from queries_orchestration.store.exports import Export
from queries_orchestration.store.message_states import ToldState
from queries_orchestration.store.notices import Notice
from queries_orchestration.store.occurrences import Occurrence
from queries_orchestration.store.schedules import Schedule
from queries_orchestration.store.workspaces import Workspace
from queries_orchestration.telling.recipients import recipient_text, those_json

_One = TypeVar("_One")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Around:
    """What is told with occurrences of one workspace, asked of the store for all at once."""

    names: dict[str, str]
    origins: dict[str, str]
    exports: dict[str, Export]
    attempts: dict[str, list[Attempt]]
    deliveries: dict[str, list[Delivery]]
    recipients: dict[str, dict[str, Any]]
    states: dict[str, list[ToldState]]
    notices: dict[str, list[Notice]]


def occurrences_json(
    connection: Connection,
    backends: Backends,
    place: Workspace,
    plan: Schedule,
    found: Sequence[Occurrence],
) -> list[dict[str, Any]]:
    """Return the JSON that tells each of some occurrences of a schedule, in their order."""
    around = _around(connection, place.id, found)
    return [_occurrence(backends, place, plan, one, around) for one in found]


def occurrence_json(
    connection: Connection,
    backends: Backends,
    place: Workspace,
    plan: Schedule,
    occurrence: Occurrence,
) -> dict[str, Any]:
    """Return the JSON that tells an occurrence: how it ended, its file, what each recipient got."""
    return occurrences_json(connection, backends, place, plan, [occurrence])[0]


def _around(connection: Connection, workspace_id: str, found: Sequence[Occurrence]) -> _Around:
    keys = [one.key for one in found]
    sent = deliveries.of_occurrences(connection, workspace_id, keys)
    told = notices.of_occurrences(connection, workspace_id, keys)
    files = exports.those(
        connection, workspace_id, [one.export_id for one in found if one.export_id]
    )
    named = [one.actor_id for one in found] + [one.requested_by for one in found]
    some = [one for one in named if one] + [one.person_id for one in told]
    states = message_states.of_occurrences(connection, workspace_id, keys)
    return _Around(
        names={one.id: one.name for one in people.those(connection, workspace_id, some)},
        origins=resends.origins_of(connection, workspace_id, keys),
        exports={one.id: one for one in files},
        attempts=_by("key", claims.attempts_of(connection, workspace_id, keys)),
        deliveries=_by("occurrence_key", sent),
        recipients=those_json(connection, workspace_id, [one.recipient_id for one in sent]),
        states=_by("communication_key", states),
        notices=_by("occurrence_key", told),
    )


def _by(name: str, records: Iterable[_One]) -> dict[str, list[_One]]:
    of = attrgetter(name)
    return {key: list(some) for key, some in groupby(sorted(records, key=of), of)}


def _occurrence(
    backends: Backends, place: Workspace, plan: Schedule, occurrence: Occurrence, around: _Around
) -> dict[str, Any]:
    export = around.exports.get(occurrence.export_id or "")
    return {
        "occurrence": occurrence.key,
        "workspace": place.name,
        "schedule": plan.name,
        "slot": occurrence.slot,
        "via": occurrence.via,
        "purpose": occurrence.purpose,
        "resend_of": around.origins.get(occurrence.key),
        "requested_by": around.names.get(occurrence.requested_by or ""),
        "reason": occurrence.reason,
        "admitted_at": occurrence.admitted_at,
        "state": occurrence.state,
        "outcome": occurrence.outcome,
        "code": occurrence.code,
        "message": occurrence.message,
        "actor": around.names.get(occurrence.actor_id or ""),
        "receives": occurrence.receive_number,
        "attempts": [_attempt(one) for one in around.attempts.get(occurrence.key, [])],
        "source_changed": occurrence.source_changed,
        "message_fault": occurrence.message_fault,
        "late_file": _late_file(export, occurrence),
        "settled_at": occurrence.settled_at,
        "file": _file(backends, export),
        "deliveries": _deliveries(occurrence, around),
        "notices": _notices(occurrence, around),
    }


def _file(backends: Backends, export: Export | None) -> dict[str, Any] | None:
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


def _late_file(export: Export | None, occurrence: Occurrence) -> dict[str, Any] | None:
    """Return the export whose render completed after its delivery had failed."""
    if export is None or export.completed_at is None or occurrence.outcome != "failed":
        return None
    if occurrence.settled_at is None or export.completed_at <= occurrence.settled_at:
        return None
    return {"export": export.id, "completed_at": export.completed_at, "state": export.state}


def _attempt(attempt: Attempt) -> dict[str, Any]:
    return {
        "receive": attempt.number,
        "run": attempt.run_id,
        "started_at": attempt.started_at,
        "ended_at": attempt.ended_at,
        "code": attempt.code,
    }


def _deliveries(occurrence: Occurrence, around: _Around) -> list[dict[str, Any]]:
    told = [
        around.recipients[delivery.recipient_id]
        | {
            "state": delivery.state,
            "code": delivery.code,
            "words": delivery.refusal_words,
            "resubmitted_at": delivery.resubmitted_at,
            "message_id": delivery.message_id,
            "message": _message(around.states.get(delivery.communication_key, [])),
        }
        for delivery in around.deliveries.get(occurrence.key, [])
    ]
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


def _notices(occurrence: Occurrence, around: _Around) -> list[dict[str, Any]]:
    """Return who was to be told of its failure, or of the pause that it led to."""
    told = [
        {
            "kind": notice.kind,
            "person": around.names.get(notice.person_id),
            "state": notice.state,
            "code": notice.outcome_code,
            "concluded_at": notice.concluded_at,
        }
        for notice in around.notices.get(occurrence.key, [])
    ]
    return sorted(told, key=lambda notice: (notice["kind"], notice["person"] or ""))
