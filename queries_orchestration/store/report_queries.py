"""Which version of each query a version of a report shows; never changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy import Connection, and_, select

from queries_orchestration.store.rows import columns_of
from queries_orchestration.store.sources import Source
from queries_orchestration.store.tables import report_queries, sources


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportQueries:
    """What one version of a report shows: ``versions`` by the id of the query."""

    workspace_id: str
    report_id: str
    report_version: int
    versions: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ShownQuery:
    """A query, which may be archived by now, and the version of it that is shown."""

    source: Source
    version: int


def insert(connection: Connection, shown: ReportQueries) -> None:
    """Write what a new version of a report shows; the version is there already."""
    for query_id, version in shown.versions.items():
        connection.execute(
            sa.insert(report_queries).values(
                workspace_id=shown.workspace_id,
                report_id=shown.report_id,
                report_version=shown.report_version,
                query_id=query_id,
                query_version=version,
            )
        )


def of_version(
    connection: Connection, workspace_id: str, report_id: str, version: int
) -> dict[str, ShownQuery]:
    """Return the queries that a version of a report shows, by their names."""
    query = (
        select(*columns_of(Source, sources), report_queries.c.query_version)
        .join(
            report_queries,
            and_(
                report_queries.c.workspace_id == sources.c.workspace_id,
                report_queries.c.query_id == sources.c.id,
            ),
        )
        .where(
            report_queries.c.workspace_id == workspace_id,
            report_queries.c.report_id == report_id,
            report_queries.c.report_version == version,
        )
    )
    shown: dict[str, ShownQuery] = {}
    for row in connection.execute(query):
        values = dict(row._mapping)
        version = values.pop("query_version")
        shown[row.name] = ShownQuery(Source(**values), version)
    return shown
