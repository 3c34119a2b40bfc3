"""Workspaces: the tenants themselves, hence the one aggregate looked up without one."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from sqlalchemy import Connection, insert as insert_into, select, update

from queries_orchestration.store.rows import every, one_or_none
from queries_orchestration.store.tables import workspaces


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """One tenant; ``time_zone`` is an IANA name, the default of its schedules.

    One file has ``export_bytes`` at most, is made in ``export_seconds`` at most, by statements of
    ``statement_seconds`` at most; None: no limit. Outside addresses are of ``allowed_domains``
    (A-labels in lower case), with none of none; ``messages`` are its own templates by part.
    """

    id: str
    name: str
    title: str
    time_zone: str
    written_by: str = "other"
    export_bytes: int | None = None
    export_seconds: int | None = None
    statement_seconds: int | None = None
    allowed_domains: list[str] | None = None
    messages: dict[str, str] | None = None


def get(connection: Connection, workspace_id: str) -> Workspace | None:
    """Return the workspace with this id."""
    query = select(workspaces).where(workspaces.c.id == workspace_id)
    return one_or_none(connection, Workspace, query)


def hold(connection: Connection, workspace_id: str) -> Workspace | None:
    """Return the workspace; nobody else holds it until the transaction ends.

    On SQLite a transaction that writes is the only one anyway.
    """
    query = select(workspaces).where(workspaces.c.id == workspace_id)
    # A share of the key is left to rows that refer to it, which others go on writing.
    return one_or_none(connection, Workspace, query.with_for_update(key_share=True))


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
