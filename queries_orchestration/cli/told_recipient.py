"""Recipients as the command tells and takes them. No address is ever printed."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection

from queries_orchestration.model.addresses import mailbox_key
from queries_orchestration.model.errors import InvalidAddress, NotFound
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


def recipient_named(connection: Connection, place: Workspace, text: str) -> str:
    """Return the id of the person or outside address that ``text`` names.

    Args:
        text: a person's name, or an outside address, or its id as `schedules show --json` has it.

    Raises:
        NotFound: nothing has that name. The message does not repeat an address.
    """
    person = people.by_name(connection, place.id, text)
    if person is not None:
        return person.id
    try:
        mailbox = mailbox_key(text)
    except InvalidAddress:
        mailbox = None
    for outside in outside_addresses.listing(connection, place.id):
        if text == outside.id or (mailbox is not None and mailbox == outside.mailbox):
            return outside.id
    what = "outside address" if "@" in text else f"person {text!r}"
    raise NotFound(
        f"There is no such {what} in {place.name}: give a person's name, or an outside address"
        " that a schedule has or had."
    )
