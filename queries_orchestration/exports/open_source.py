"""WF-PFM-QRY-006, hop 1: open any saved source, a query or a report, as a person."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeAlias

from sqlalchemy import Connection

from queries_orchestration.exports.export_file import ExportFile
from queries_orchestration.exports.open_query import OpenedQuery, open_query
from queries_orchestration.exports.open_report import OpenedReport, open_report
from queries_orchestration.model.errors import SourceGone
from queries_orchestration.model.formats import SourceKind
from queries_orchestration.observing.traces import span
from queries_orchestration.settings import EXPORT_LANE, REPORT_LANE
from queries_orchestration.store.sources import Source

OpenedSource: TypeAlias = OpenedQuery | OpenedReport


def open_source(
    connection: Connection,
    source: Source,
    *,
    version: int,
    actor_id: str,
    given_values: Mapping[str, Any],
    moment: datetime,
    time_zone: str,
    environment: Mapping[str, str],
) -> OpenedSource:
    """Open one version of a source as ``actor_id``; nothing is written.

    Args:
        moment: what relative values count from.
        environment: where the URL variables of connections are looked up.

    Raises:
        SourceGone: it was deleted or archived.
        AccessLost, FieldNotAvailable, InvalidRuntimeValue, SourceBroken, SourceUnavailable:
            as :func:`open_query` and :func:`open_report`.
    """
    if source.archived:
        raise SourceGone(f"The {source.kind} was deleted or archived.")
    opening = open_report if source.kind == "report" else open_query
    with span("resolve_access", source=source.id, version=version):
        return opening(
            connection,
            source.workspace_id,
            source_id=source.id,
            version=version,
            actor_id=actor_id,
            given_values=given_values,
            moment=moment,
            time_zone=time_zone,
            environment=environment,
        )


def open_file_source(
    connection: Connection, file: ExportFile, *, actor_id: str, environment: Mapping[str, str]
) -> OpenedSource:
    """Open what a file is made of, its version and its values, as ``actor_id`` may see it now.

    Raises:
        As :func:`open_source`.
    """
    export = file.export
    return open_source(
        connection,
        file.source,
        version=export.version,
        actor_id=actor_id,
        given_values=export.runtime_values,
        moment=file.moment,
        time_zone=export.time_zone,
        environment=environment,
    )


def lane_of(kind: SourceKind) -> str:
    """Return the lane in which exports of a source's kind are made."""
    return REPORT_LANE if kind == "report" else EXPORT_LANE
