"""The tables of the application database.

Every row carries its workspace, and every foreign key carries it too, so that no row can
point into another workspace. States are checked by the database.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from queries_orchestration.store.types import Instant, Json

metadata: Final = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _id(name: str = "id", *, nullable: bool = False) -> Column[str]:
    return Column(name, String(26), nullable=nullable)


def _one_of(column: str, *values: str) -> CheckConstraint:
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=column)


def _within(table: str, *columns: str, target: str = "id") -> ForeignKeyConstraint:
    """Return a foreign key that stays within the workspace."""
    targets = [f"{table}.workspace_id", *(f"{table}.{name}" for name in target.split())]
    return ForeignKeyConstraint(["workspace_id", *columns], targets)


def _catalog_columns() -> list[Column[str]]:
    """Columns of every row that a catalog file can hold; ``name`` is its name there."""
    return [
        _id("workspace_id"),
        _id(),
        Column("name", String(100), nullable=False),
        Column("title", String(900), nullable=False),
        Column("written_by", String(8), nullable=False),
    ]


def _catalog_rules() -> list[PrimaryKeyConstraint | UniqueConstraint | CheckConstraint]:
    return [
        PrimaryKeyConstraint("workspace_id", "id"),
        UniqueConstraint("workspace_id", "name"),
        _one_of("written_by", "file", "other"),
    ]


workspaces = Table(
    "workspaces",
    metadata,
    _id(),
    Column("name", String(100), nullable=False),
    Column("title", String(900), nullable=False),
    Column("time_zone", String(64), nullable=False),
    Column("written_by", String(8), nullable=False),
    PrimaryKeyConstraint("id"),
    UniqueConstraint("name"),
    _one_of("written_by", "file", "other"),
)

people = Table(
    "people",
    metadata,
    *_catalog_columns(),
    Column("address", String(320)),
    Column("roles", Json, nullable=False),
    Column("active", Boolean, nullable=False),
    *_catalog_rules(),
    ForeignKeyConstraint(["workspace_id"], ["workspaces.id"]),
)

connections = Table(
    "connections",
    metadata,
    *_catalog_columns(),
    Column("url_variable", String(200), nullable=False),
    *_catalog_rules(),
    ForeignKeyConstraint(["workspace_id"], ["workspaces.id"]),
)

datasets = Table(
    "datasets",
    metadata,
    *_catalog_columns(),
    _id("connection_id"),
    Column("definition", Json, nullable=False),
    *_catalog_rules(),
    _within("connections", "connection_id"),
)

sources = Table(
    "sources",
    metadata,
    *_catalog_columns(),
    Column("kind", String(8), nullable=False),
    Column("current_version", Integer, nullable=False),
    Column("archived", Boolean, nullable=False, server_default=text("false")),
    *_catalog_rules(),
    ForeignKeyConstraint(["workspace_id"], ["workspaces.id"]),
    _one_of("kind", "query", "report"),
    CheckConstraint("current_version >= 1", name="current_version"),
)

source_versions = Table(
    "source_versions",
    metadata,
    _id("workspace_id"),
    _id("source_id"),
    Column("version", Integer, nullable=False),
    _id("dataset_id", nullable=True),
    Column("definition", Json, nullable=False),
    Column("created_at", Instant, nullable=False),
    PrimaryKeyConstraint("workspace_id", "source_id", "version"),
    _within("sources", "source_id"),
    _within("datasets", "dataset_id"),
    CheckConstraint("version >= 1", name="version"),
)

schedules = Table(
    "schedules",
    metadata,
    *_catalog_columns(),
    _id("source_id"),
    # The version a query schedule runs; for a report the version at set-up, to flag a change.
    Column("pinned_version", Integer, nullable=False),
    _id("owner_id"),
    Column("cron", String(200), nullable=False),
    Column("time_zone", String(64), nullable=False),
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
    *_catalog_rules(),
    _within("source_versions", "source_id", "pinned_version", target="source_id version"),
    _within("people", "owner_id"),
    _one_of("format", "csv", "xlsx", "pdf"),
    _one_of("missed_slots", "latest", "all", "none"),
    _one_of("state", "active", "paused", "ended"),
    CheckConstraint("failure_streak >= 0", name="failure_streak"),
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

schedule_recipients = Table(
    "schedule_recipients",
    metadata,
    _id("workspace_id"),
    _id("schedule_id"),
    _id("person_id"),
    Column("position", Integer, nullable=False),
    PrimaryKeyConstraint("workspace_id", "schedule_id", "person_id"),
    UniqueConstraint("workspace_id", "schedule_id", "position"),
    _within("schedules", "schedule_id"),
    _within("people", "person_id"),
)

exports = Table(
    "exports",
    metadata,
    _id("workspace_id"),
    _id(),
    _id("source_id"),
    Column("version", Integer, nullable=False),
    Column("format", String(8), nullable=False),
    Column("runtime_values", Json, nullable=False),
    _id("actor_id"),  # as whom it is read
    Column("time_zone", String(64), nullable=False),
    Column("state", String(9), nullable=False),
    Column("code", String(64)),
    Column("message", Text),
    Column("storage_key", String(200), nullable=False),
    Column("upload_id", String(1024)),
    Column("upload_receive", Integer),
    Column("rows_done", BigInteger, nullable=False, server_default=text("0")),
    Column("bytes_done", BigInteger, nullable=False, server_default=text("0")),
    Column("size", BigInteger),  # bytes of the finished file
    Column("rows", BigInteger),
    Column("sha256", String(64)),
    Column("replaced_characters", Integer),
    Column("cut_cells", Integer),
    Column("created_at", Instant, nullable=False),
    Column("completed_at", Instant),
    Column("expires_at", Instant),
    PrimaryKeyConstraint("workspace_id", "id"),
    UniqueConstraint("storage_key"),
    _within("source_versions", "source_id", "version", target="source_id version"),
    _within("people", "actor_id"),
    _one_of("format", "csv", "xlsx", "pdf"),
    _one_of("state", "queued", "running", "ready", "failed", "cancelled", "expired"),
    CheckConstraint(
        "state NOT IN ('ready', 'expired') OR (size IS NOT NULL AND rows IS NOT NULL"
        " AND sha256 IS NOT NULL AND completed_at IS NOT NULL AND expires_at IS NOT NULL)",
        name="completion",
    ),
    CheckConstraint("(state = 'failed') = (code IS NOT NULL)", name="code"),
    CheckConstraint("(upload_id IS NULL) = (upload_receive IS NULL)", name="upload"),
)

requests = Table(
    "requests",
    metadata,
    _id("workspace_id"),
    _id("export_id"),
    Column("purpose", String(11), nullable=False),
    Column("created_at", Instant, nullable=False),
    PrimaryKeyConstraint("workspace_id", "export_id"),
    _within("exports", "export_id"),
    _one_of("purpose", "interactive", "delivery"),
)

OUTCOMES: Final = (
    "delivered",
    "delivered_partly",
    "skipped_empty",
    "no_recipients",
    "failed",
    "missed",
    "cancelled",
)

occurrences = Table(
    "occurrences",
    metadata,
    _id("workspace_id"),
    Column("key", String(63), nullable=False),
    _id("schedule_id"),
    Column("slot", Instant),  # none for a run-now request
    _id("requested_by", nullable=True),  # the clicking person of a run-now request
    Column("via", String(16), nullable=False),
    Column("reason", Text),
    Column("state", String(8), nullable=False),
    Column("outcome", String(16)),
    Column("code", String(64)),
    Column("message", Text),
    _id("actor_id", nullable=True),  # as whom it ran
    _id("export_id", nullable=True),
    Column("source_changed", Boolean, nullable=False, server_default=text("false")),
    # The calendar's instants.
    Column("admitted_at", Instant, nullable=False),
    Column("settled_at", Instant),
    # Who holds it, by the lease clock.
    Column("not_before", Instant, nullable=False),
    Column("offer_number", Integer, nullable=False, server_default=text("0")),
    Column("lease_until", Instant),
    Column("receive_number", Integer, nullable=False, server_default=text("0")),
    Column("heartbeat_at", Instant),
    PrimaryKeyConstraint("workspace_id", "key"),
    UniqueConstraint("key"),
    UniqueConstraint("workspace_id", "schedule_id", "slot"),
    _within("schedules", "schedule_id"),
    _within("people", "requested_by"),
    _within("people", "actor_id"),
    _within("exports", "export_id"),
    _one_of("via", "recurrence", "run-now", "dagster-ui", "backfill"),
    _one_of("state", "waiting", "running", "settled"),
    _one_of("outcome", *OUTCOMES),
    CheckConstraint("(slot IS NULL) = (requested_by IS NOT NULL)", name="slot"),
    CheckConstraint("(state = 'settled') = (outcome IS NOT NULL)", name="settled"),
    CheckConstraint("(state = 'settled') = (settled_at IS NOT NULL)", name="settled_at"),
    CheckConstraint("outcome <> 'failed' OR code IS NOT NULL", name="code"),
    CheckConstraint("(state = 'running') = (heartbeat_at IS NOT NULL)", name="heartbeat"),
    CheckConstraint("state = 'waiting' OR lease_until IS NULL", name="lease"),
    CheckConstraint("receive_number BETWEEN 0 AND 3", name="receive_number"),
)
Index(
    "ix_occurrences_unsettled",
    occurrences.c.state,
    occurrences.c.not_before,
    postgresql_where=occurrences.c.state != "settled",
    sqlite_where=occurrences.c.state != "settled",
)
Index(
    "ix_occurrences_history",
    occurrences.c.workspace_id,
    occurrences.c.schedule_id,
    occurrences.c.admitted_at,
)

offers = Table(
    "offers",
    metadata,
    _id("workspace_id"),
    Column("occurrence_key", String(63), nullable=False),
    Column("number", Integer, nullable=False),
    Column("lane", String(8), nullable=False),
    Column("state", String(8), nullable=False),
    Column("offered_at", Instant, nullable=False),
    Column("ended_at", Instant),
    PrimaryKeyConstraint("workspace_id", "occurrence_key", "number"),
    _within("occurrences", "occurrence_key", target="key"),
    _one_of("lane", "delivery", "export", "report"),
    _one_of("state", "live", "taken", "lost", "released"),
    CheckConstraint("number >= 1", name="number"),
    CheckConstraint("(state = 'live') = (ended_at IS NULL)", name="ended_at"),
)

receives = Table(
    "receives",
    metadata,
    _id("workspace_id"),
    Column("occurrence_key", String(63), nullable=False),
    Column("number", Integer, nullable=False),
    Column("run_id", String(64), nullable=False),
    Column("started_at", Instant, nullable=False),
    Column("ended_at", Instant),
    # Why the receive ended without settling; none when it settled.
    Column("code", String(64)),
    PrimaryKeyConstraint("workspace_id", "occurrence_key", "number"),
    _within("occurrences", "occurrence_key", target="key"),
    CheckConstraint("number BETWEEN 1 AND 3", name="number"),
)

deliveries = Table(
    "deliveries",
    metadata,
    _id("workspace_id"),
    Column("occurrence_key", String(63), nullable=False),
    _id("person_id"),
    Column("state", String(9), nullable=False),
    Column("code", String(64)),
    Column("communication_key", String(100), nullable=False),
    Column("receive_number", Integer, nullable=False),
    # Enough to make the personal link again; the token itself is never kept.
    _id("link_token_id", nullable=True),
    Column("link_key_id", String(64)),
    Column("link_issued_at", Instant),
    Column("link_expires_at", Instant),
    Column("message_id", String(200)),
    Column("recorded_at", Instant, nullable=False),
    PrimaryKeyConstraint("workspace_id", "occurrence_key", "person_id"),
    UniqueConstraint("communication_key"),
    UniqueConstraint("link_token_id"),
    _within("occurrences", "occurrence_key", target="key"),
    _within("people", "person_id"),
    _one_of("state", "sending", "sent", "skipped", "refused", "uncertain"),
    CheckConstraint(
        "state IN ('skipped', 'refused') OR (link_token_id IS NOT NULL AND link_key_id IS NOT NULL"
        " AND link_issued_at IS NOT NULL AND link_expires_at IS NOT NULL)",
        name="link",
    ),
    CheckConstraint("state NOT IN ('skipped', 'refused') OR code IS NOT NULL", name="code"),
)

downloads = Table(
    "downloads",
    metadata,
    _id("workspace_id"),
    _id(),
    _id("export_id"),
    # Who fetched it: the requester or a schedule authority, or a recipient by a personal link.
    _id("person_id"),
    Column("occurrence_key", String(63)),  # of a personal link
    Column("downloaded_at", Instant, nullable=False),
    PrimaryKeyConstraint("workspace_id", "id"),
    _within("exports", "export_id"),
    _within("people", "person_id"),
    _within("occurrences", "occurrence_key", target="key"),
)

dispatcher_heartbeats = Table(
    "dispatcher_heartbeats",
    metadata,
    Column("dispatcher", String(32), nullable=False),
    Column("holder", String(200), nullable=False),
    Column("pass_started_at", Instant, nullable=False),
    Column("pass_ended_at", Instant),
    Column("admitted", Integer),
    Column("missed", Integer),
    Column("recovered", Integer),
    Column("offered", Integer),
    PrimaryKeyConstraint("dispatcher"),
)
