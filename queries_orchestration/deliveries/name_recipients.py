"""Whom one may name as recipients: the groups of the workspace, for who makes schedules."""

from __future__ import annotations

from sqlalchemy import Connection

from queries_orchestration.model.access import ADMINISTRATOR, AUTHOR
from queries_orchestration.model.audit import NOT_ALLOWED
from queries_orchestration.model.errors import Refused
from queries_orchestration.store import groups, people
from queries_orchestration.store.groups import Group


def groups_for(
    connection: Connection, workspace_id: str, *, person_id: str, after: str | None = None
) -> list[Group]:
    """Return the groups of the workspace by name, to an author or administrator.

    Args:
        after: the name that they come after.

    Raises:
        Refused: the person is neither, or not active (``not_allowed``).
    """
    person = people.get(connection, workspace_id, person_id)
    if person is None or not person.active or person.roles.isdisjoint({AUTHOR, ADMINISTRATOR}):
        raise Refused(
            "Groups are told to authors and administrators of the workspace.", code=NOT_ALLOWED
        )
    return groups.listing(connection, workspace_id, after=after)
