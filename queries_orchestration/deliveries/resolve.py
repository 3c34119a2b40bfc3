"""Hop 3: who acts, and what exactly is read.

The owner acts for the recurrence, the clicking person for a run-now request: whoever it is when the
first receive begins, also in the later ones. The pinned version of a query, the current one of a
report, is opened under the access that the actor has now; source, version, values, format and zone
are fixed with the export. An edit or a transfer in between is of the next occurrence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from queries_orchestration.exports.export_file import ExportFile
from queries_orchestration.exports.open_source import (
    OpenedSource,
    lane_of,
    open_file_source,
    open_source,
)
from queries_orchestration.model.errors import ReceiveLost, SourceGone
from queries_orchestration.model.ids import new_id
from queries_orchestration.receives.backends import Backends
from queries_orchestration.store import (
    claims,
    exports,
    occurrences,
    resends,
    schedules,
    sources,
    workspaces,
)
from queries_orchestration.store.claims import Receive
from queries_orchestration.store.exports import Export
from queries_orchestration.store.occurrences import Occurrence
from queries_orchestration.store.schedules import Schedule
from queries_orchestration.store.sources import Source
from queries_orchestration.store.workspaces import Workspace


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a receive works on: the occurrence with its schedule, source and workspace.

    Its ``source`` is that of its export, once there is one; else the schedule's.
    """

    workspace: Workspace
    schedule: Schedule
    source: Source
    occurrence: Occurrence
    origin: Occurrence
    """The occurrence whose file it is: that which a resend sends again, else itself."""

    @property
    def actor_id(self) -> str:
        """The person as whom it is read, in every receive the same."""
        occurrence = self.occurrence
        return occurrence.actor_id or occurrence.requested_by or self.schedule.owner_id


def assignment_of(connection: Connection, receive: Receive) -> Assignment:
    """Load what ``receive`` works on.

    Raises:
        ReceiveLost: the occurrence is no longer held by ``receive``.
        SourceGone: the source was deleted or archived.
    """
    claims.hold(connection, receive)
    workspace_id = receive.workspace_id
    occurrence = occurrences.get(connection, workspace_id, receive.key)
    workspace = workspaces.get(connection, workspace_id)
    if occurrence is None or workspace is None:
        raise ReceiveLost("The occurrence is gone.")
    schedule = schedules.get(connection, workspace_id, occurrence.schedule_id)
    if schedule is None:
        raise ReceiveLost("The schedule is gone.")
    export = _export_of(connection, occurrence)
    source = source_of(connection, schedule) if export is None else made_of(connection, export)
    origin = _origin_of(connection, occurrence)
    return Assignment(workspace, schedule, source, occurrence, origin)


def _origin_of(connection: Connection, occurrence: Occurrence) -> Occurrence:
    if occurrence.purpose != "resend":
        return occurrence
    key = resends.origin_of(connection, occurrence.workspace_id, occurrence.key)
    origin = key and occurrences.get(connection, occurrence.workspace_id, key)
    if not origin:
        raise ReceiveLost("The occurrence that should be sent again is gone.")
    return origin


def source_of(connection: Connection, schedule: Schedule) -> Source:
    """Return the source that a schedule has now.

    Raises:
        SourceGone: it was deleted or archived.
    """
    return _present(sources.get(connection, schedule.workspace_id, schedule.source_id))


def made_of(connection: Connection, export: Export) -> Source:
    """Return the source that an export is of, whatever its schedule has now.

    Raises:
        SourceGone: it was deleted or archived.
    """
    return _present(sources.get(connection, export.workspace_id, export.source_id))


def _present(source: Source | None) -> Source:
    if source is None or source.archived:
        kind = source.kind if source else "source"
        raise SourceGone(f"The {kind} was deleted or archived. Choose another for the schedule.")
    return source


def export_of(connection: Connection, assignment: Assignment) -> Export:
    """Return the export that the occurrence has since its first receive, or its run-now request.

    Raises:
        ReceiveLost: it has none.
    """
    export = _export_of(connection, assignment.occurrence)
    if export is None:
        raise ReceiveLost("The export of the occurrence is gone.")
    return export


def _export_of(connection: Connection, occurrence: Occurrence) -> Export | None:
    if occurrence.export_id is None:
        return None
    return exports.get(connection, occurrence.workspace_id, occurrence.export_id)


def resolve(backends: Backends, receive: Receive) -> None:
    """Open the source as the actor and queue the export, with its request, for this occurrence.

    Where there is an export already, from an earlier receive or from run now, the source is only
    opened again.

    Raises:
        AccessLost, FieldNotAvailable: the actor may not open it.
        SourceGone, SourceBroken, InvalidRuntimeValue: it cannot be run.
    """
    with backends.database.transaction(receive.workspace_id) as connection:
        # Committed first: history says as whom it is tried, also when it is refused, and no later
        # receive asks who the owner is by then.
        assignment = assignment_of(connection, receive)
        occurrences.change(connection, receive, actor_id=assignment.actor_id)
    backends.reached("actor fixed, not resolved")
    with backends.database.transaction(receive.workspace_id) as connection:
        assignment = assignment_of(connection, receive)
        occurrence, schedule = assignment.occurrence, assignment.schedule
        if occurrence.export_id is not None:
            export = export_of(connection, assignment)
            open_for(connection, assignment, export, backends.environment)
            return
        export_id = queue_export(
            connection,
            schedule,
            assignment.source,
            actor_id=assignment.actor_id,
            moment=occurrence.slot or occurrence.admitted_at,
            at=backends.clock(),
            environment=backends.environment,
        )
        occurrences.change(
            connection,
            receive,
            export_id=export_id,
            source_changed=is_changed(schedule, assignment.source),
        )
    backends.reached("resolved")


def is_changed(schedule: Schedule, source: Source) -> bool:
    """Tell whether the source has a version that is newer than the schedule's."""
    return source.current_version != schedule.pinned_version


def version_run(schedule: Schedule, source: Source) -> int:
    """Return the version that a delivery runs: of a query the pinned, of a report the current."""
    return source.current_version if source.kind == "report" else schedule.pinned_version


def queue_export(
    connection: Connection,
    schedule: Schedule,
    source: Source,
    *,
    actor_id: str,
    moment: datetime,
    at: datetime,
    environment: Mapping[str, str],
) -> str:
    """Open the source as the actor and queue its export, with the request; returns its id.

    A query is read in the pinned version, within the occurrence's receive. A report is rendered in
    its current version, in a lane of its own.

    Args:
        moment: what relative values count from: the slot, not the execution.
        at: now, by the calendar clock.

    Raises:
        As ``exports.open_source``; then nothing was written.
    """
    version = version_run(schedule, source)
    opened = open_source(
        connection,
        source,
        version=version,
        actor_id=actor_id,
        given_values=schedule.runtime_values,
        moment=moment,
        time_zone=schedule.time_zone,
        environment=environment,
    )
    export_id = new_id()
    exports.queue(
        connection,
        schedule.workspace_id,
        export_id,
        purpose="delivery",
        source_id=source.id,
        version=version,
        file_format=schedule.format,
        runtime_values=opened.stored_values,
        actor_id=actor_id,
        time_zone=schedule.time_zone,
        at=at,
    )
    if source.kind == "report":
        lane = lane_of(source.kind)
        # Of a backfill, too: its delivery waits for it, in a place of its lane and not for long.
        claims.wait(connection, schedule.workspace_id, export_id, lane=lane)
    return export_id


def open_for(
    connection: Connection,
    assignment: Assignment,
    export: Export,
    environment: Mapping[str, str],
) -> OpenedSource:
    """Open what the export fixed, its version and values, under the actor's access of now."""
    file = file_of(assignment, export)
    return open_file_source(connection, file, actor_id=assignment.actor_id, environment=environment)


def file_of(assignment: Assignment, export: Export) -> ExportFile:
    """Return the file of an assignment with all that it belongs to."""
    return ExportFile(
        export=export,
        source=assignment.source,
        occurrence=assignment.origin,
        schedule=assignment.schedule,
    )
