"""Groups of people, by which schedules name recipients whose members change at any time."""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy import Connection, delete, select, update

from queries_orchestration.store.people import Person, of_rows
from queries_orchestration.store.tables import group_members, groups, people


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Some people of a workspace; ``members`` are their ids, in their order."""

    workspace_id: str
    id: str
    name: str
    title: str
    members: tuple[str, ...]
    written_by: str = "other"


def listing(connection: Connection, workspace_id: str, *, after: str | None = None) -> list[Group]:
    """Return the groups of the workspace by name.

    Args:
        after: the name that they come after.
    """
    members: dict[str, list[str]] = {}
    for row in connection.execute(
        select(group_members.c.group_id, group_members.c.person_id)
        .where(group_members.c.workspace_id == workspace_id)
        .order_by(group_members.c.group_id, group_members.c.position)
    ):
        members.setdefault(row.group_id, []).append(row.person_id)
    query = select(groups).where(groups.c.workspace_id == workspace_id).order_by(groups.c.name)
    if after is not None:
        query = query.where(groups.c.name > after)
    rows = connection.execute(query)
    return [Group(**row._mapping, members=tuple(members.get(row.id, ()))) for row in rows]


def people_of(connection: Connection, workspace_id: str, group_id: str) -> list[Person]:
    """Return who is in a group now, in their order."""
    return of_rows(
        connection.execute(
            select(people)
            .join(
                group_members,
                sa.and_(
                    group_members.c.workspace_id == people.c.workspace_id,
                    group_members.c.person_id == people.c.id,
                ),
            )
            .where(
                group_members.c.workspace_id == workspace_id, group_members.c.group_id == group_id
            )
            .order_by(group_members.c.position)
        )
    )


def insert(connection: Connection, group: Group) -> None:
    """Write a new group with its members."""
    connection.execute(
        sa.insert(groups).values(
            workspace_id=group.workspace_id,
            id=group.id,
            name=group.name,
            title=group.title,
            written_by=group.written_by,
        )
    )
    _insert_members(connection, group)


def change(connection: Connection, group: Group) -> None:
    """Write a group that is there, and who is in it."""
    connection.execute(
        update(groups)
        .where(groups.c.workspace_id == group.workspace_id, groups.c.id == group.id)
        .values(name=group.name, title=group.title, written_by=group.written_by)
    )
    connection.execute(
        delete(group_members).where(
            group_members.c.workspace_id == group.workspace_id,
            group_members.c.group_id == group.id,
        )
    )
    _insert_members(connection, group)


def _insert_members(connection: Connection, group: Group) -> None:
    if not group.members:
        return
    connection.execute(
        sa.insert(group_members),
        [
            {
                "workspace_id": group.workspace_id,
                "group_id": group.id,
                "person_id": person_id,
                "position": position,
            }
            for position, person_id in enumerate(group.members)
        ],
    )
