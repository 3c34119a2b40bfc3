"""Recipients as they are told. No address ever is."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection

from queries_orchestration.store import (
    groups,
    outside_addresses,
    people,
    recipients,
    unsubscriptions,
)
from queries_orchestration.store.schedules import Schedule
from queries_orchestration.store.workspaces import Workspace


def recipient_json(connection: Connection, workspace_id: str, recipient_id: str) -> dict[str, Any]:
    """Return who a recipient is: a person's name, or id and name of an outside address."""
    person = people.get(connection, workspace_id, recipient_id)
    outside = None if person else outside_addresses.get(connection, workspace_id, recipient_id)
    found = person or outside
    return {
        "person": person.name if person else None,
        "outside": outside.id if outside else None,
        "title": found.title if found else None,
    }


def recipient_text(told: dict[str, Any]) -> str:
    """Return that for people: a person by name, an outside address by its name or its id."""
    return str(told["person"] or told["title"] or told["outside"])


def recipients_json(
    connection: Connection, place: Workspace, plan: Schedule
) -> list[dict[str, Any]]:
    """Return whom a schedule names, in their order."""
    names = {group.id: group.name for group in groups.listing(connection, place.id)}
    nobody = {"person": None, "outside": None, "title": None}
    return [
        nobody | {"group": names.get(one.id)}
        if one.kind == "group"
        else recipient_json(connection, place.id, one.id) | {"group": None}
        for one in recipients.of_schedule(connection, place.id, plan.id)
    ]


def recipients_text(told: list[dict[str, Any]]) -> str:
    """Return that for people."""
    return ", ".join(
        f"group {one['group']}"
        if one["group"]
        else recipient_text(one) + (" (outside)" if one["outside"] else "")
        for one in told
    )


def unsubscribed_json(
    connection: Connection, place: Workspace, plan: Schedule
) -> list[dict[str, Any]]:
    """Return who wants no more of a schedule; ``everywhere``: of no schedule of the workspace."""
    told = [
        recipient_json(connection, place.id, one.recipient_id)
        | {"since": one.unsubscribed_at, "everywhere": False}
        for one in unsubscriptions.of_schedule(connection, place.id, plan.id)
    ]
    known = {one["outside"]: one for one in told if one["outside"]}
    for outside in outside_addresses.listing(connection, place.id):
        if outside.unsubscribed_at is None:
            continue
        if outside.id in known:
            known[outside.id]["everywhere"] = True
        else:
            told.append(
                recipient_json(connection, place.id, outside.id)
                | {"since": outside.unsubscribed_at, "everywhere": True}
            )
    return told
