"""Recipients as they are told. No address ever is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

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

_NOBODY: Final[Mapping[str, None]] = {"person": None, "outside": None, "title": None}


def recipient_json(connection: Connection, workspace_id: str, recipient_id: str) -> dict[str, Any]:
    """Return who a recipient is: a person's name, or id and name of an outside address."""
    return those_json(connection, workspace_id, [recipient_id])[recipient_id]


def those_json(
    connection: Connection, workspace_id: str, ids: Iterable[str]
) -> dict[str, dict[str, Any]]:
    """Return who recipients are, each by its id, one that is not known by nothing."""
    wanted = set(ids)
    told = {one: dict[str, Any](_NOBODY) for one in wanted}
    for person in people.those(connection, workspace_id, wanted):
        told[person.id] |= {"person": person.name, "title": person.title}
        wanted.discard(person.id)
    for outside in outside_addresses.those(connection, workspace_id, wanted):
        told[outside.id] |= {"outside": outside.id, "title": outside.title}
    return told


def recipient_text(told: dict[str, Any]) -> str:
    """Return that for people: a person by name, an outside address by its name or its id."""
    return str(told["person"] or told["title"] or told["outside"])


def recipients_json(
    connection: Connection, place: Workspace, plan: Schedule
) -> list[dict[str, Any]]:
    """Return whom a schedule names, in their order."""
    names = {group.id: group.name for group in groups.listing(connection, place.id)}
    named = recipients.of_schedule(connection, place.id, plan.id)
    told = those_json(connection, place.id, [one.id for one in named if one.kind != "group"])
    return [
        {**_NOBODY, "group": names.get(one.id)}
        if one.kind == "group"
        else {**told[one.id], "group": None}
        for one in named
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
    here = unsubscriptions.of_schedule(connection, place.id, plan.id)
    who = those_json(connection, place.id, [one.recipient_id for one in here])
    told = [
        who[one.recipient_id] | {"since": one.unsubscribed_at, "everywhere": False} for one in here
    ]
    known = {one["outside"]: one for one in told if one["outside"]}
    for outside in outside_addresses.listing(connection, place.id):
        if outside.unsubscribed_at is None:
            continue
        if outside.id in known:
            known[outside.id]["everywhere"] = True
        else:
            told.append(
                {
                    **_NOBODY,
                    "outside": outside.id,
                    "title": outside.title,
                    "since": outside.unsubscribed_at,
                    "everywhere": True,
                }
            )
    return told
