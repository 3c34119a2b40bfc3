"""WF-PFM-QRY-006, hops 1 and 2: open the source as the caller, commit export and request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from queries_orchestration.exports.file_writer import check_columns
from queries_orchestration.exports.open_query import OpenedQuery
from queries_orchestration.exports.open_source import lane_of, open_source
from queries_orchestration.model.errors import NotFound
from queries_orchestration.model.formats import check_format
from queries_orchestration.model.ids import new_id
from queries_orchestration.model.time_zones import zone
from queries_orchestration.receives.backends import Backends
from queries_orchestration.store import claims, exports, sources, workspaces


def admit_export(
    backends: Backends,
    workspace_id: str,
    *,
    person_id: str,
    source_name: str,
    file_format: str,
    given_values: Mapping[str, Any],
    time_zone: str | None = None,
) -> str:
    """Queue an export of a saved query or report for ``person_id`` and return its id.

    The export and its request are one commit; the caller publishes them after it.

    Args:
        time_zone: in which the file tells instants; None: the workspace's.

    Raises:
        NotFound: there is no such query or report.
        AccessLost, FieldNotAvailable: the person may not open it.
        Refused: it is not made as such a file (``format_not_offered``).
        InvalidRuntimeValue, UnknownTimeZone, FormatLimit, SourceGone, SourceBroken,
        SourceUnavailable: it cannot be exported so; nothing was written.
    """
    at = backends.clock()
    with backends.database.transaction() as connection:
        workspace = workspaces.get(connection, workspace_id)
        source = sources.by_name(connection, workspace_id, source_name)
        if workspace is None or source is None or source.archived:
            raise NotFound(f"There is no query or report {source_name!r}.")
        shown_in = zone(time_zone or workspace.time_zone).key
        check_format(source.kind, file_format)
        opened = open_source(
            connection,
            source,
            version=source.current_version,
            actor_id=person_id,
            given_values=given_values,
            moment=at,
            time_zone=shown_in,
            environment=backends.environment,
        )
        if isinstance(opened, OpenedQuery):
            check_columns(file_format, opened.compiled.columns)
        export_id = new_id()
        exports.queue(
            connection,
            workspace_id,
            export_id,
            purpose="interactive",
            source_id=source.id,
            version=source.current_version,
            file_format=file_format,
            runtime_values=opened.stored_values,
            actor_id=person_id,
            time_zone=shown_in,
            at=at,
        )
        claims.wait(connection, workspace_id, export_id, lane=lane_of(source.kind))
        backends.reached("export queued, not committed")
    backends.reached("export committed, not published")
    return export_id
