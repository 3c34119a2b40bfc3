"""Look up what a verb was asked about by name: the workspace, who asks, a schedule."""

from __future__ import annotations

from sqlalchemy import Connection

from queries_orchestration.model.errors import NotFound, Refused
from queries_orchestration.store import people, schedules, workspaces
from queries_orchestration.store.database import Database
from queries_orchestration.store.people import Person
from queries_orchestration.store.schedules import Schedule
from queries_orchestration.store.workspaces import Workspace


def workspace_named(database: Database, name: str | None) -> Workspace:
    """Return the workspace of that name; without a name the only one.

    Raises:
        NotFound: there is none.
        Refused: there are several and none was named (``which_workspace``).
    """
    with database.across.read() as connection:
        found = workspaces.by_name(connection, name) if name is not None else None
        every = workspaces.listing(connection) if name is None else []
    if name is not None:
        if found is None:
            raise NotFound(f"There is no workspace {name!r}.")
        return found
    if not every:
        raise NotFound("There is no workspace yet: `queries catalog apply` brings it in.")
    if len(every) > 1:
        names = ", ".join(one.name for one in every[:10]) + (", …" if len(every) > 10 else "")
        raise Refused(f"Say which one with --workspace: {names}.", code="which_workspace")
    return every[0]


def person_named(connection: Connection, workspace: Workspace, name: str) -> Person:
    """Return the person of that name in the workspace.

    Raises:
        NotFound: there is none.
    """
    found = people.by_name(connection, workspace.id, name)
    if found is None:
        raise NotFound(f"There is no person {name!r} in the workspace {workspace.name!r}.")
    return found


def schedule_named(connection: Connection, workspace: Workspace, name: str) -> Schedule:
    """Return the schedule of that name in the workspace.

    Raises:
        NotFound: there is none.
    """
    found = schedules.by_name(connection, workspace.id, name)
    if found is None:
        raise NotFound(
            f"There is no schedule {name!r} in the workspace {workspace.name!r};"
            " `queries schedules list` lists them all."
        )
    return found
