"""The tables of the application database."""

from queries_orchestration.store.tables.catalog import (
    connections,
    datasets,
    people,
    report_queries,
    schedule_recipients,
    schedules,
    source_versions,
    sources,
    workspaces,
)
from queries_orchestration.store.tables.columns import metadata
from queries_orchestration.store.tables.work import (
    OUTCOMES,
    UNFINISHED_EXPORT,
    claims,
    deliveries,
    dispatcher_heartbeats,
    downloads,
    exports,
    occurrences,
    offers,
    receives,
    requests,
)

__all__ = [
    "OUTCOMES",
    "UNFINISHED_EXPORT",
    "claims",
    "connections",
    "datasets",
    "deliveries",
    "dispatcher_heartbeats",
    "downloads",
    "exports",
    "metadata",
    "occurrences",
    "offers",
    "people",
    "receives",
    "report_queries",
    "requests",
    "schedule_recipients",
    "schedules",
    "source_versions",
    "sources",
    "workspaces",
]
