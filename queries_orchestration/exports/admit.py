"""WF-PFM-QRY-006, hops 1 and 2: open the source as the caller, commit export and request.

One admission at a time in a workspace: what one counts or finds, no other one changes meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection

from queries_orchestration.exports.file_writer import check_columns
from queries_orchestration.exports.open_query import OpenedQuery
from queries_orchestration.exports.open_source import lane_of, open_source
from queries_orchestration.model.audit import AuditEvent, By, Subject
from queries_orchestration.model.client_keys import asked_sha256, check_client_key
from queries_orchestration.model.errors import NotFound, Refused, TooManyExports
from queries_orchestration.model.formats import check_format
from queries_orchestration.model.ids import new_id
from queries_orchestration.model.time_zones import zone
from queries_orchestration.model.titles import is_one_line
from queries_orchestration.receives.backends import Backends
from queries_orchestration.settings import Settings
from queries_orchestration.store import audit, claims, exports, sources, workspaces
from queries_orchestration.store.exports import Unfinished

SHORTEST_WAIT: Final = 10
LONGEST_WAIT: Final = 600
"""Seconds after which who was refused may ask again, at least and at most."""


def admit_export(
    backends: Backends,
    workspace_id: str,
    *,
    by: By,
    source_name: str,
    file_format: str,
    given_values: Mapping[str, Any],
    time_zone: str | None = None,
    client_key: str | None = None,
) -> str:
    """Queue an export of a saved query or report for who asks, a person, and return its id.

    The export and its request are one commit; the caller publishes them after it.

    Args:
        source_name: any text.
        time_zone: in which the file tells instants; None: the workspace's.
        client_key: what the client calls this click. The same person who asks again with the same
            key gets the export that there is, finished or not.

    Raises:
        NotFound: there is no such query or report.
        AccessLost, FieldNotAvailable: the person may not open it.
        TooManyExports: as many as may be of the person, or in the workspace, are not finished.
        Refused: it is not made as such a file (``format_not_offered``); the key is none
            (``invalid_client_key``) or was given to something else (``client_key_reused``); no
            person asks (``person_required``).
        InvalidRuntimeValue, UnknownTimeZone, FormatLimit, SourceGone, SourceBroken,
        SourceUnavailable: it cannot be exported so; nothing was written.
    """
    at = backends.clock()
    person_id = by.as_person()
    asked = None
    if client_key is not None:
        check_client_key(client_key)
        asked = asked_sha256(
            source=source_name, format=file_format, values=given_values, time_zone=time_zone
        )
    with backends.database.transaction(workspace_id) as connection:
        workspace = workspaces.hold(connection, workspace_id)
        if client_key is not None:
            made = exports.of_click(
                connection, workspace_id, actor_id=person_id, client_key=client_key
            )
            if made is not None and made.asked_sha256 != asked:
                raise Refused(
                    f"The key {client_key!r} was given to another export: take another key for"
                    " this source, format, values and time zone.",
                    code="client_key_reused",
                )
            if made is not None:
                return made.id
        source = (
            sources.by_name(connection, workspace_id, source_name)
            if is_one_line(source_name)
            else None
        )
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
        _check_unfinished(connection, workspace_id, person_id, settings=backends.settings, at=at)
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
            client_key=client_key,
            asked_sha256=asked,
        )
        claims.wait(connection, workspace_id, export_id, lane=lane_of(source.kind))
        audit.record(
            connection,
            AuditEvent(
                workspace_id=workspace_id,
                at=at,
                by=by,
                action="export_asked",
                subject=Subject("export", export_id),
            ),
        )
        backends.reached("export queued, not committed")
    backends.reached("export committed, not published")
    return export_id


def _check_unfinished(
    connection: Connection, workspace_id: str, person_id: str, *, settings: Settings, at: datetime
) -> None:
    """Refuse one more than a person, or a workspace, may have unfinished."""
    own = exports.unfinished(connection, workspace_id, actor_id=person_id)
    if own.count >= settings.exports_per_person:
        wait = _wait(own, at)
        raise TooManyExports(
            f"You have {own.count} exports that are not finished, the most that a person may have."
            f" Ask again in {wait} seconds, or cancel one: `queries exports list` names them.",
            retry_after=wait,
        )
    every = exports.unfinished(connection, workspace_id)
    if every.count >= settings.exports_per_workspace:
        wait = _wait(every, at)
        raise TooManyExports(
            f"The workspace has {every.count} exports that are not finished, the most that it may"
            f" have. Ask again in {wait} seconds.",
            retry_after=wait,
        )


def _wait(unfinished: Unfinished, at: datetime) -> int:
    """Return the seconds until one of them may be finished.

    What is known is how long the oldest has taken: it may take about as long again.
    """
    taken = 0.0 if unfinished.oldest is None else (at - unfinished.oldest).total_seconds()
    return round(min(max(taken, SHORTEST_WAIT), LONGEST_WAIT))
