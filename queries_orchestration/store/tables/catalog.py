"""What a catalog holds: workspaces, people, connections, datasets, sources, schedules."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Date,
    ForeignKeyConstraint,
    Index,
    Integer,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from queries_orchestration.store.tables.columns import (
    catalog_columns,
    catalog_rules,
    id_column,
    metadata,
    one_of,
    within,
)
from queries_orchestration.store.types import Instant, Json

workspaces = Table(
    "workspaces",
    metadata,
    id_column(),
    Column("name", String(100), nullable=False),
    Column("title", String(900), nullable=False),
    Column("time_zone", String(64), nullable=False),
    Column("written_by", String(8), nullable=False),
    # What one file may have at most; none: no limit.
    Column("export_bytes", BigInteger),
    Column("export_seconds", Integer),
    Column("statement_seconds", Integer),
    Column("allowed_domains", Json),  # of outside addresses, as A-labels; none: no such address
    Column("messages", Json),  # templates by part; none: the standard ones
    PrimaryKeyConstraint("id"),
    UniqueConstraint("name"),
    one_of("written_by", "file", "other"),
    CheckConstraint("export_bytes >= 1", name="export_bytes"),
    CheckConstraint("export_seconds >= 1", name="export_seconds"),
    CheckConstraint("statement_seconds >= 1", name="statement_seconds"),
)

people = Table(
    "people",
    metadata,
    *catalog_columns(),
    Column("address", String(320)),
    Column("roles", Json, nullable=False),
    Column("active", Boolean, nullable=False),
    Column("left_workspace", Boolean, nullable=False, server_default=text("false")),
    *catalog_rules(),
    ForeignKeyConstraint(["workspace_id"], ["workspaces.id"]),
    CheckConstraint("NOT (left_workspace AND active)", name="left_workspace"),
)

connections = Table(
    "connections",
    metadata,
    *catalog_columns(),
    Column("url_variable", String(200), nullable=False),
    *catalog_rules(),
    ForeignKeyConstraint(["workspace_id"], ["workspaces.id"]),
)

datasets = Table(
    "datasets",
    metadata,
    *catalog_columns(),
    id_column("connection_id"),
    Column("definition", Json, nullable=False),
    *catalog_rules(),
    within("connections", "connection_id"),
)

sources = Table(
    "sources",
    metadata,
    *catalog_columns(),
    Column("kind", String(8), nullable=False),
    Column("current_version", Integer, nullable=False),
    Column("archived", Boolean, nullable=False, server_default=text("false")),
    *catalog_rules(),
    ForeignKeyConstraint(["workspace_id"], ["workspaces.id"]),
    one_of("kind", "query", "report"),
    CheckConstraint("current_version >= 1", name="current_version"),
)

source_versions = Table(
    "source_versions",
    metadata,
    id_column("workspace_id"),
    id_column("source_id"),
    Column("version", Integer, nullable=False),
    id_column("dataset_id", nullable=True),
    Column("definition", Json, nullable=False),
    Column("created_at", Instant, nullable=False),
    PrimaryKeyConstraint("workspace_id", "source_id", "version"),
    within("sources", "source_id"),
    within("datasets", "dataset_id"),
    CheckConstraint("version >= 1", name="version"),
)

# Which version of each query a version of a report shows.
report_queries = Table(
    "report_queries",
    metadata,
    id_column("workspace_id"),
    id_column("report_id"),
    Column("report_version", Integer, nullable=False),
    id_column("query_id"),
    Column("query_version", Integer, nullable=False),
    PrimaryKeyConstraint("workspace_id", "report_id", "report_version", "query_id"),
    within("source_versions", "report_id", "report_version", target="source_id version"),
    within("source_versions", "query_id", "query_version", target="source_id version"),
)
Index(
    "ix_report_queries_query",
    report_queries.c.workspace_id,
    report_queries.c.query_id,
    report_queries.c.query_version,
)

schedules = Table(
    "schedules",
    metadata,
    *catalog_columns(),
    id_column("source_id"),
    # The version a query schedule runs; for a report the version at set-up, to flag a change.
    Column("pinned_version", Integer, nullable=False),
    id_column("owner_id"),
    Column("cron", String(200), nullable=False),
    Column("time_zone", String(64), nullable=False),
    Column("last_day", Boolean, nullable=False, server_default=text("false")),
    Column("starts_on", Date),
    Column("ends_on", Date),
    Column("format", String(8), nullable=False),
    Column("runtime_values", Json, nullable=False),
    Column("skip_empty", Boolean, nullable=False),
    Column("missed_slots", String(8), nullable=False),
    Column("lateness_limit", Integer),  # seconds
    Column("state", String(8), nullable=False),
    Column("pause_code", String(64)),
    Column("pause_reason", Text),
    Column("paused_at", Instant),
    Column("failure_streak", Integer, nullable=False, server_default=text("0")),
    Column("next_slot", Instant),
    Column("created_at", Instant, nullable=False),
    *catalog_rules(),
    within("source_versions", "source_id", "pinned_version", target="source_id version"),
    within("people", "owner_id"),
    one_of("format", "csv", "xlsx", "pdf"),
    one_of("missed_slots", "latest", "all", "none"),
    one_of("state", "active", "paused", "ended"),
    CheckConstraint("failure_streak >= 0", name="failure_streak"),
    CheckConstraint("ends_on >= starts_on", name="ends_on"),
    CheckConstraint("state = 'active' OR next_slot IS NULL", name="next_slot"),
    CheckConstraint("(state = 'paused') = (pause_code IS NOT NULL)", name="pause_code"),
)
# The due scan: one range of this index, whatever the table's size.
Index(
    "ix_schedules_due",
    schedules.c.next_slot,
    schedules.c.id,
    postgresql_where=schedules.c.next_slot.is_not(None),
    sqlite_where=schedules.c.next_slot.is_not(None),
)
