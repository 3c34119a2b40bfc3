"""The tables of the application database."""

from queries_orchestration.store.tables.audit import audit_events
from queries_orchestration.store.tables.catalog import (
    connections,
    datasets,
    people,
    report_queries,
    schedules,
    source_versions,
    sources,
    workspaces,
)
from queries_orchestration.store.tables.columns import metadata
from queries_orchestration.store.tables.monthly import monthly_deliveries, monthly_exports
from queries_orchestration.store.tables.operations import (
    counters,
    dispatch_stops,
    notices,
    resends,
    schedule_transfers,
)
from queries_orchestration.store.tables.recipients import (
    group_members,
    groups,
    outside_addresses,
    schedule_recipients,
    unsubscriptions,
)
from queries_orchestration.store.tables.work import (
    OUTCOMES,
    UNFINISHED_EXPORT,
    claims,
    deliveries,
    dispatcher_heartbeats,
    downloads,
    exports,
    message_states,
    occurrences,
    offers,
    receives,
    requests,
)

__all__ = [
    "OUTCOMES",
    "UNFINISHED_EXPORT",
    "audit_events",
    "claims",
    "connections",
    "counters",
    "datasets",
    "deliveries",
    "dispatch_stops",
    "dispatcher_heartbeats",
    "downloads",
    "exports",
    "group_members",
    "groups",
    "message_states",
    "metadata",
    "monthly_deliveries",
    "monthly_exports",
    "notices",
    "occurrences",
    "offers",
    "outside_addresses",
    "people",
    "receives",
    "report_queries",
    "requests",
    "resends",
    "schedule_recipients",
    "schedule_transfers",
    "schedules",
    "source_versions",
    "sources",
    "unsubscriptions",
    "workspaces",
]
