"""WF-PFM-QRY-006, hop 1, for a report: every section's query is opened as the person.

A report opens only if each of its sections does; what keeps one from opening names it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from queries_orchestration.exports.open_query import (
    OpenedQuery,
    StoredQuery,
    actor_of,
    load_query,
    open_stored,
    stored_form,
)
from queries_orchestration.model.access import check_active
from queries_orchestration.model.errors import (
    InvalidQuery,
    PermanentError,
    SourceBroken,
    SourceGone,
    SourceUnavailable,
)
from queries_orchestration.model.report_values import given_values as section_values
from queries_orchestration.model.reports import (
    ComparisonView,
    QuerySection,
    Report,
    TextSection,
    parse_report,
)
from queries_orchestration.model.runtime_values import resolve_values
from queries_orchestration.store import people, report_queries, sources, workspaces
from queries_orchestration.store.report_queries import ShownQuery


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedSection:
    """A section with its query ready to be read; ``previous`` is that of the period before."""

    section: QuerySection
    query: OpenedQuery
    previous: OpenedQuery | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredReport:
    """One version of a report as it stands, with its queries by name."""

    report: Report
    queries: Mapping[str, StoredQuery]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedReport:
    """A report ready to be read.

    Args:
        workspace: its title.
        reader: title of the person as whom it is read.
        values: the exact ones of the report's own parameters.
    """

    workspace: str
    reader: str
    report: Report
    sections: tuple[TextSection | OpenedSection, ...]
    values: Mapping[str, object]
    stored_values: dict[str, Any]


def open_report(
    connection: Connection,
    workspace_id: str,
    *,
    source_id: str,
    version: int,
    actor_id: str,
    given_values: Mapping[str, Any],
    moment: datetime,
    time_zone: str,
    environment: Mapping[str, str],
) -> OpenedReport:
    """Open one version of a report as ``actor_id``; nothing is written.

    Args:
        moment: what relative values count from.
        environment: where the connections' URL variables are looked up.

    Raises:
        AccessLost, FieldNotAvailable: the actor may not open it, or not the section named.
        InvalidRuntimeValue: a value is missing, unknown or of the wrong form.
        SourceGone, SourceBroken: it or a query of it is not there, or no longer fits.
        SourceUnavailable: the variable of a connection is not set.
    """
    workspace = workspaces.get(connection, workspace_id)
    reader = people.get(connection, workspace_id, actor_id)
    # Also where no section reads anything.
    check_active(actor_of(connection, workspace_id, actor_id))
    if workspace is None or reader is None:
        raise _gone()
    stored = load_report(connection, workspace_id, source_id, version)
    report, queries = stored.report, stored.queries
    values = resolve_values(
        report.parameters, given_values, moment=moment, time_zone=time_zone, of="report"
    )

    def opened(section: QuerySection, more: Mapping[str, object]) -> OpenedQuery:
        return open_stored(
            connection,
            workspace_id,
            queries[section.query],
            actor_id=actor_id,
            given_values=section_values({**section.values, **more}, values),
            moment=moment,
            time_zone=time_zone,
            environment=environment,
        )

    def opened_section(section: QuerySection) -> OpenedSection:
        with _named(section):
            return OpenedSection(
                section=section,
                query=opened(section, {}),
                previous=opened(section, section.view.previous)
                if isinstance(section.view, ComparisonView)
                else None,
            )

    return OpenedReport(
        workspace=workspace.title,
        reader=reader.title,
        report=report,
        sections=tuple(
            section if isinstance(section, TextSection) else opened_section(section)
            for section in report.sections
        ),
        values=values,
        stored_values=stored_form(values),
    )


def load_report(
    connection: Connection, workspace_id: str, source_id: str, version: int
) -> StoredReport:
    """Load one version of a report with its queries.

    Raises:
        SourceGone, SourceBroken: it or a query of it is not there, or no longer fits.
    """
    stored = sources.version(connection, workspace_id, source_id, version)
    if stored is None:
        raise _gone()
    shown = report_queries.of_version(connection, workspace_id, source_id, version)
    queries = {name: _load(connection, one) for name, one in shown.items()}
    try:
        report = parse_report(
            stored.definition, {name: loaded.query for name, loaded in queries.items()}
        )
    except InvalidQuery as error:
        raise SourceBroken(f"The report no longer fits its queries: {error.message}") from error
    return StoredReport(report=report, queries=queries)


def _gone() -> SourceGone:
    return SourceGone("This version of the report is no longer there.")


def _load(connection: Connection, shown: ShownQuery) -> StoredQuery:
    source = shown.source
    if source.archived:
        raise SourceGone(f"The query {source.name!r} of the report was deleted or archived.")
    try:
        return load_query(connection, source.workspace_id, source.id, shown.version)
    except PermanentError as error:
        raise type(error)(
            f"The query {source.name!r} of the report: {error.message}", code=error.code
        ) from error


@contextmanager
def _named(section: QuerySection) -> Iterator[None]:
    """Name the section in what keeps it from opening."""
    try:
        yield
    except (PermanentError, SourceUnavailable) as error:
        raise type(error)(f'Section "{section.title}": {error.message}', code=error.code) from error
