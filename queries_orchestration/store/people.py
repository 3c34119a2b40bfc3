"""The people of a workspace."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import Connection, Row, insert as insert_into, select, update

from queries_orchestration.store.rows import of_a_statement
from queries_orchestration.store.tables import people


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Somebody in a workspace; ``title`` is the name that others see.

    Who ``left_workspace`` is not active: the catalog no longer has them, only history does.
    """

    workspace_id: str
    id: str
    name: str
    title: str
    address: str | None
    roles: frozenset[str]
    active: bool
    left_workspace: bool = False
    written_by: str = "other"


def get(connection: Connection, workspace_id: str, person_id: str) -> Person | None:
    """Return the person with this id."""
    query = select(people).where(people.c.workspace_id == workspace_id, people.c.id == person_id)
    row = connection.execute(query).one_or_none()
    return None if row is None else _person(row)


def those(connection: Connection, workspace_id: str, ids: Iterable[str]) -> list[Person]:
    """Return people of the workspace by their ids, in any order."""
    mine = select(people).where(people.c.workspace_id == workspace_id)
    found: list[Person] = []
    for some in of_a_statement(ids):
        found += of_rows(connection.execute(mine.where(people.c.id.in_(some))))
    return found


def by_name(connection: Connection, workspace_id: str, name: str) -> Person | None:
    """Return the person of this name."""
    query = select(people).where(people.c.workspace_id == workspace_id, people.c.name == name)
    row = connection.execute(query).one_or_none()
    return None if row is None else _person(row)


def listing(connection: Connection, workspace_id: str) -> list[Person]:
    """Return the people of the workspace by name, inactive ones too."""
    query = select(people).where(people.c.workspace_id == workspace_id).order_by(people.c.name)
    return of_rows(connection.execute(query))


def of_rows(rows: Iterable[Row[Any]]) -> list[Person]:
    """Return the people of whole rows of the table."""
    return [_person(row) for row in rows]


def insert(connection: Connection, person: Person) -> None:
    """Write a new person."""
    connection.execute(insert_into(people).values(_columns(person)))


def change(connection: Connection, person: Person) -> None:
    """Write every column of a person who is there."""
    connection.execute(
        update(people)
        .where(people.c.workspace_id == person.workspace_id, people.c.id == person.id)
        .values(_columns(person))
    )


def _person(row: Row[Any]) -> Person:
    columns = dict(row._mapping)
    return Person(**columns | {"roles": frozenset(columns["roles"])})


def _columns(person: Person) -> dict[str, Any]:
    return asdict(person) | {"roles": sorted(person.roles)}
