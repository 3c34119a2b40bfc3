"""Hop 3, second half: who acts, and what exactly is read.

The owner acts for the recurrence, the clicking person for a run-now request. The pinned query
version is opened under the access that the actor has now.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Connection

from queries_orchestration.deliveries.backends import Backends
from queries_orchestration.exports.open_query import OpenedQuery, open_query
from queries_orchestration.model.errors import ReceiveLost, SourceGone
from queries_orchestration.model.ids import new_id
from queries_orchestration.store import exports, occurrences, schedules, sources, workspaces
from queries_orchestration.store.occurrences import Occurrence, Receive
from queries_orchestration.store.schedules import Schedule
from queries_orchestration.store.sources import Source
from queries_orchestration.store.workspaces import Workspace


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a receive works on: the occurrence with its schedule, source and workspace."""

    workspace: Workspace
    schedule: Schedule
    source: Source
    occurrence: Occurrence

    @property
    def actor_id(self) -> str:
        """The person as whom it is read."""
        return self.occurrence.requested_by or self.schedule.owner_id


def assignment_of(connection: Connection, receive: Receive) -> Assignment:
    """Load what ``receive`` works on.

    Raises:
        ReceiveLost: the occurrence is no longer held by ``receive``.
        SourceGone: the source was deleted or archived.
    """
    occurrences.hold(connection, receive)
    workspace_id = receive.workspace_id
    occurrence = occurrences.get(connection, workspace_id, receive.occurrence_key)
    workspace = workspaces.get(connection, workspace_id)
    if occurrence is None or workspace is None:
        raise ReceiveLost("The occurrence is gone.")
    schedule = schedules.get(connection, workspace_id, occurrence.schedule_id)
    if schedule is None:
        raise ReceiveLost("The schedule is gone.")
    source = sources.get(connection, workspace_id, schedule.source_id)
    if source is None or source.archived:
        raise SourceGone("The query was deleted or archived. Choose another one for the schedule.")
    return Assignment(workspace, schedule, source, occurrence)


def resolve(backends: Backends, receive: Receive) -> None:
    """Open the source as the actor and queue the export, with its request, for this occurrence.

    A later receive finds the export of the first one and only opens the source again.

    Raises:
        AccessLost, FieldNotAvailable: the actor may not open it.
        SourceGone, SourceBroken, InvalidRuntimeValue: it cannot be run.
    """
    with backends.database.transaction() as connection:
        # Committed first: history says as whom it was tried, also when it is refused.
        assignment = assignment_of(connection, receive)
        occurrences.hold(connection, receive, actor_id=assignment.actor_id)
    with backends.database.transaction() as connection:
        assignment = assignment_of(connection, receive)
        occurrence, schedule = assignment.occurrence, assignment.schedule
        opened = open_for(connection, assignment, backends.environment)
        if occurrence.export_id is not None:
            return
        export_id = new_id()
        exports.queue(
            connection,
            receive.workspace_id,
            export_id,
            purpose="delivery",
            source_id=schedule.source_id,
            version=schedule.pinned_version,
            file_format=schedule.format,
            runtime_values=opened.stored_values,
            actor_id=assignment.actor_id,
            time_zone=schedule.time_zone,
            at=backends.clock(),
        )
        occurrences.hold(
            connection,
            receive,
            export_id=export_id,
            source_changed=assignment.source.current_version != schedule.pinned_version,
        )
    backends.reached("resolved")


def open_for(
    connection: Connection, assignment: Assignment, environment: Mapping[str, str]
) -> OpenedQuery:
    """Open the pinned query version as the actor, with the schedule's values at the slot.

    Relative values count from the slot, not from the moment of execution.
    """
    schedule, occurrence = assignment.schedule, assignment.occurrence
    return open_query(
        connection,
        schedule.workspace_id,
        source_id=schedule.source_id,
        version=schedule.pinned_version,
        actor_id=assignment.actor_id,
        given_values=schedule.runtime_values,
        moment=occurrence.slot or occurrence.admitted_at,
        time_zone=schedule.time_zone,
        environment=environment,
    )
