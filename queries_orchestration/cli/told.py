"""A piece of work as the command tells it: an occurrence of a schedule, or an export."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection

from queries_orchestration.cli.output import slot_text
from queries_orchestration.model.errors import NotFound
from queries_orchestration.store import (
    cross_workspace,
    exports,
    occurrences,
    schedules,
    sources,
    workspaces,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One piece of work; ``name`` is its schedule's or its source's, ``slot`` is for people."""

    kind: str
    key: str
    workspace: str
    name: str
    slot: str
    state: str
    outcome: str | None
    code: str | None

    @property
    def where(self) -> str:
        """The name with its workspace: two workspaces may use one name."""
        return f"{self.workspace}/{self.name}"


def tell(connection: Connection, key: str) -> Told:
    """Look a piece of work up by its key.

    Raises:
        NotFound: it is gone.
    """
    workspace_id = cross_workspace.workspace_of(connection, key) or ""
    workspace = workspaces.get(connection, workspace_id)
    occurrence = occurrences.get(connection, workspace_id, key)
    schedule = occurrence and schedules.get(connection, workspace_id, occurrence.schedule_id)
    if workspace and occurrence and schedule:
        return Told(
            kind="occurrence",
            key=key,
            workspace=workspace.name,
            name=schedule.name,
            slot=slot_text(schedule, occurrence),
            state=occurrence.state,
            outcome=occurrence.outcome,
            code=occurrence.code,
        )
    export = exports.get(connection, workspace_id, key)
    source = export and sources.get(connection, workspace_id, export.source_id)
    if workspace and export and source:
        return Told(
            kind="export",
            key=key,
            workspace=workspace.name,
            name=source.name,
            slot="",
            state=export.state,
            outcome=None,
            code=export.code,
        )
    raise NotFound(f"The work {key} is gone.")
