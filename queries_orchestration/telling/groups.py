"""Groups as they are told: who is in them. No address ever is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection

from queries_orchestration.store import people
from queries_orchestration.store.groups import Group


def groups_json(
    connection: Connection, workspace_id: str, found: Sequence[Group]
) -> list[dict[str, Any]]:
    """Return the JSON that tells groups, each with its members in their order."""
    known = {person.id: person for person in people.listing(connection, workspace_id)}
    return [
        {
            "group": group.name,
            "title": group.title,
            "members": [
                {
                    "person": known[member].name,
                    "title": known[member].title,
                    "active": known[member].active,
                }
                for member in group.members
            ],
        }
        for group in found
    ]
