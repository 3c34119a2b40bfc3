"""What the administrator of a workspace may apply: only this workspace, within what it was given.

A variable of a connection leads to a database, maybe another tenant's; limits protect the
installation. Both are given by whoever runs it, at the command line.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from sqlalchemy import Connection

from queries_orchestration.catalog.check import plan_workspace
from queries_orchestration.catalog.declared import DeclaredWorkspace
from queries_orchestration.catalog.plan import WorkspacePlan
from queries_orchestration.catalog.read_workspace import LIMITS
from queries_orchestration.catalog.shape import Shape
from queries_orchestration.model.access import ADMINISTRATOR
from queries_orchestration.model.audit import NOT_ALLOWED, By
from queries_orchestration.model.errors import Refused
from queries_orchestration.store import datasets, people, workspaces
from queries_orchestration.store.workspaces import Workspace

SENT_FILE: Final = "catalog"
"""What faults call a file that was sent."""


def workspace_administered_by(connection: Connection, workspace_id: str, by: By) -> Workspace:
    """Return a workspace whose catalog the person may apply.

    Raises:
        Refused: they are no active administrator of it (``not_allowed``).
    """
    place = workspaces.get(connection, workspace_id)
    person = people.get(connection, workspace_id, by.as_person())
    if place is None or person is None or not person.active or ADMINISTRATOR not in person.roles:
        raise Refused(
            "The catalog is applied by administrators of the workspace.", code=NOT_ALLOWED
        )
    return place


def only_own(
    declared: Iterable[DeclaredWorkspace], place: Workspace, shape: Shape
) -> list[DeclaredWorkspace]:
    """Return what is said of the workspace; that another is spoken of is a fault."""
    own = []
    for workspace in declared:
        if workspace.name == place.name:
            own.append(workspace)
        elif workspace.name:
            shape.fault(workspace.at, f"you apply the workspace `{place.name}` and no other")
    return own


def plan_own_workspace(
    connection: Connection,
    place: Workspace,
    declared: DeclaredWorkspace,
    shape: Shape,
    now: datetime,
    *,
    prune: bool,
    take_over: bool,
) -> WorkspacePlan:
    """Return the plan of ``check.plan_workspace``; beyond what the workspace has is a fault."""
    given = {row.url_variable for row in datasets.connections_listing(connection, place.id)}
    plan = plan_workspace(connection, declared, shape, now, prune=prune, take_over=take_over)
    for row in plan.connections:
        if row.after.url_variable not in given:
            shape.fault(
                declared.connections[row.after.name].node("url_variable"),
                f"the connection `{row.after.name}`: no connection of this workspace reads by the"
                " variable yet, and whoever runs the installation says which one does: let them"
                " apply it",
            )
    after = plan.workspace.after
    if any(getattr(after, limit) != getattr(place, limit) for limit in LIMITS):
        shape.fault(
            declared.nodes["limits"],
            "`limits` of the workspace are set by whoever runs the installation: leave them out,"
            " or let them apply it",
        )
    return plan
