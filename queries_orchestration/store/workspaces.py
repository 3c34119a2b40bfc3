"""Workspaces: the tenants themselves, hence the one aggregate looked up without one."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from sqlalchemy import Connection, insert as insert_into, select, update

from queries_orchestration.store.rows import every, one_or_none
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
    return one_or_none(connection, Workspace, query)


def by_name(connection: Connection, name: str) -> Workspace | None:
    """Return the workspace of this name."""
    return one_or_none(connection, Workspace, select(workspaces).where(workspaces.c.name == name))


def listing(connection: Connection) -> list[Workspace]:
    """Return all workspaces by name."""
    return every(connection, Workspace, select(workspaces).order_by(workspaces.c.name))


def insert(connection: Connection, workspace: Workspace) -> None:
    """Write a new workspace."""
    connection.execute(insert_into(workspaces).values(asdict(workspace)))


def change(connection: Connection, workspace: Workspace) -> None:
    """Write every column of a workspace that is there."""
    connection.execute(
        update(workspaces).where(workspaces.c.id == workspace.id).values(asdict(workspace))
    )
