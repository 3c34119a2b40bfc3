"""Workspaces: the tenants themselves, hence the one aggregate looked up without one."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import Connection, Row, insert as insert_into, select, update

from queries_orchestration.store.tables import workspaces


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """One tenant; ``time_zone`` is an IANA name, the default of its schedules."""

    id: str
    name: str
    title: str
    time_zone: str
    written_by: str = "other"


def get(connection: Connection, workspace_id: str) -> Workspace | None:
    """Return the workspace with this id."""
    query = select(workspaces).where(workspaces.c.id == workspace_id)
    row = connection.execute(query).one_or_none()
    return None if row is None else _workspace(row)


def by_name(connection: Connection, name: str) -> Workspace | None:
    """Return the workspace of this name."""
    row = connection.execute(select(workspaces).where(workspaces.c.name == name)).one_or_none()
    return None if row is None else _workspace(row)


def listing(connection: Connection) -> list[Workspace]:
    """Return all workspaces by name."""
    rows = connection.execute(select(workspaces).order_by(workspaces.c.name))
    return [_workspace(row) for row in rows]


def insert(connection: Connection, workspace: Workspace) -> None:
    """Write a new workspace."""
    connection.execute(insert_into(workspaces).values(asdict(workspace)))


def change(connection: Connection, workspace: Workspace) -> None:
    """Write every column of a workspace that is there."""
    connection.execute(
        update(workspaces).where(workspaces.c.id == workspace.id).values(asdict(workspace))
    )


def _workspace(row: Row[Any]) -> Workspace:
    return Workspace(**row._mapping)
