"""A schedule as it is told."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection

from queries_orchestration.store import people, sources, transfers
from queries_orchestration.store.schedules import Schedule
from queries_orchestration.store.workspaces import Workspace
from queries_orchestration.telling.recipients import recipients_json, unsubscribed_json


def schedule_json(connection: Connection, place: Workspace, plan: Schedule) -> dict[str, Any]:
    """Return the JSON that tells a schedule: its rule, source, owner, recipients and state."""
    source = sources.get(connection, place.id, plan.source_id)
    owner = people.get(connection, place.id, plan.owner_id)
    return {
        "workspace": place.name,
        "schedule": plan.name,
        "title": plan.title,
        "state": plan.state,
        "pause_code": plan.pause_code,
        "pause_reason": plan.pause_reason,
        "paused_at": plan.paused_at,
        "next_slot": plan.next_slot,
        "failure_streak": plan.failure_streak,
        "cron": plan.cron,
        "time_zone": plan.time_zone,
        "last_day": plan.last_day,
        "starts_on": plan.starts_on and plan.starts_on.isoformat(),
        "ends_on": plan.ends_on and plan.ends_on.isoformat(),
        "source": source.name if source else None,
        "kind": source.kind if source else "source",
        "version": plan.pinned_version,
        "current_version": source.current_version if source else None,
        "values": plan.runtime_values,
        "format": plan.format,
        "owner": owner.name if owner else None,
        "recipients": recipients_json(connection, place, plan),
        "unsubscribed": unsubscribed_json(connection, place, plan),
        "skip_empty": plan.skip_empty,
        "missed_slots": plan.missed_slots,
        "lateness_limit": plan.lateness_limit,
        "written_by": plan.written_by,
    }


def definition_json(connection: Connection, place: Workspace, plan: Schedule) -> dict[str, Any]:
    """Return the definition of a schedule in the keys of the catalog.

    Outside addresses stand in it by their ids.
    """
    source = sources.get(connection, place.id, plan.source_id)
    owner = people.get(connection, place.id, plan.owner_id)
    kind = source.kind if source else "query"
    told = {
        "title": plan.title,
        kind: source.name if source else None,
        "owner": owner.name if owner else None,
        "cron": plan.cron,
        "time_zone": plan.time_zone,
        "last_day": plan.last_day,
        "starts_on": plan.starts_on and plan.starts_on.isoformat(),
        "ends_on": plan.ends_on and plan.ends_on.isoformat(),
        "format": plan.format,
        "values": plan.runtime_values,
        "recipients": [_recipient(one) for one in recipients_json(connection, place, plan)],
        "skip_empty": plan.skip_empty if kind == "query" else None,
        "missed_slots": plan.missed_slots,
        "lateness_limit": plan.lateness_limit,
    }
    return {key: value for key, value in told.items() if value is not None}


def _recipient(told: dict[str, Any]) -> str | dict[str, Any]:
    if told["person"]:
        return str(told["person"])
    return {"group": told["group"]} if told["group"] else {"outside": told["outside"]}


def transfers_json(connection: Connection, plan: Schedule) -> list[dict[str, Any]]:
    """Return who gave the schedule to whom, and why."""

    def name(person_id: str) -> str | None:
        person = people.get(connection, plan.workspace_id, person_id)
        return person.name if person else None

    return [
        {
            "from": name(one.from_person_id),
            "to": name(one.to_person_id),
            "by": name(one.transferred_by),
            "at": one.transferred_at,
            "reason": one.reason,
        }
        for one in transfers.of_schedule(connection, plan.workspace_id, plan.id)
    ]
