"""The first tables."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from queries_orchestration.store.types import Instant, Json

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "dispatcher_heartbeats",
        sa.Column("dispatcher", sa.String(length=32), nullable=False),
        sa.Column("holder", sa.String(length=200), nullable=False),
        sa.Column("pass_started_at", Instant(), nullable=False),
        sa.Column("pass_ended_at", Instant(), nullable=True),
        sa.Column("admitted", sa.Integer(), nullable=True),
        sa.Column("missed", sa.Integer(), nullable=True),
        sa.Column("recovered", sa.Integer(), nullable=True),
        sa.Column("offered", sa.Integer(), nullable=True),
        sa.PrimaryKeyConstraint("dispatcher", name=op.f("pk_dispatcher_heartbeats")),
    )
    op.create_table(
        "workspaces",
        sa.Column("id", sa.String(length=26), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("title", sa.String(length=900), nullable=False),
        sa.Column("time_zone", sa.String(length=64), nullable=False),
        sa.Column("written_by", sa.String(length=8), nullable=False),
        sa.CheckConstraint(
            "written_by IN ('file', 'other')", name=op.f("ck_workspaces_written_by")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_workspaces")),
        sa.UniqueConstraint("name", name=op.f("uq_workspaces_name")),
    )
    op.create_table(
        "claims",
        sa.Column("workspace_id", sa.String(length=26), nullable=False),
        sa.Column("key", sa.String(length=63), nullable=False),
        sa.Column("lane", sa.String(length=8), nullable=False),
        sa.Column("state", sa.String(length=8), nullable=False),
        sa.Column("not_before", Instant(), nullable=False),
        sa.Column("offer_number", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("lease_until", Instant(), nullable=True),
        sa.Column("receive_number", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("heartbeat_at", Instant(), nullable=True),
        sa.CheckConstraint(
            "(state = 'running') = (heartbeat_at IS NOT NULL)", name=op.f("ck_claims_heartbeat")
        ),
        sa.CheckConstraint("lane IN ('delivery', 'export', 'report')", name=op.f("ck_claims_lane")),
        sa.CheckConstraint(
            "state = 'waiting' OR lease_until IS NULL", name=op.f("ck_claims_lease")
        ),
        sa.CheckConstraint("state IN ('waiting', 'running', 'done')", name=op.f("ck_claims_state")),
        sa.CheckConstraint("receive_number BETWEEN 0 AND 3", name=op.f("ck_claims_receive_number")),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspaces.id"], name=op.f("fk_claims_workspace_id")
        ),
        sa.PrimaryKeyConstraint("workspace_id", "key", name=op.f("pk_claims")),
        sa.UniqueConstraint("key", name=op.f("uq_claims_key")),
    )
    op.create_index(
        "ix_claims_unfinished",
        "claims",
        ["lane", "state", "not_before"],
        unique=False,
        postgresql_where=sa.text("state != 'done'"),
        sqlite_where=sa.text("state != 'done'"),
    )
    op.create_table(
        "connections",
        sa.Column("workspace_id", sa.String(length=26), nullable=False),
        sa.Column("id", sa.String(length=26), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("title", sa.String(length=900), nullable=False),
        sa.Column("written_by", sa.String(length=8), nullable=False),
        sa.Column("url_variable", sa.String(length=200), nullable=False),
        sa.CheckConstraint(
            "written_by IN ('file', 'other')", name=op.f("ck_connections_written_by")
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspaces.id"], name=op.f("fk_connections_workspace_id")
        ),
        sa.PrimaryKeyConstraint("workspace_id", "id", name=op.f("pk_connections")),
        sa.UniqueConstraint("workspace_id", "name", name=op.f("uq_connections_workspace_id_name")),
    )
    op.create_table(
        "offers",
        sa.Column("workspace_id", sa.String(length=26), nullable=False),
        sa.Column("key", sa.String(length=63), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=8), nullable=False),
        sa.Column("offered_at", Instant(), nullable=False),
        sa.Column("ended_at", Instant(), nullable=True),
        sa.CheckConstraint(
            "(state = 'live') = (ended_at IS NULL)", name=op.f("ck_offers_ended_at")
        ),
        sa.CheckConstraint(
            "state IN ('live', 'taken', 'lost', 'released')", name=op.f("ck_offers_state")
        ),
        sa.CheckConstraint("number >= 1", name=op.f("ck_offers_number")),
        sa.ForeignKeyConstraint(
            ["workspace_id", "key"],
            ["claims.workspace_id", "claims.key"],
            name=op.f("fk_offers_workspace_id_key"),
        ),
        sa.PrimaryKeyConstraint("workspace_id", "key", "number", name=op.f("pk_offers")),
    )
    op.create_table(
        "people",
        sa.Column("workspace_id", sa.String(length=26), nullable=False),
        sa.Column("id", sa.String(length=26), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("title", sa.String(length=900), nullable=False),
        sa.Column("written_by", sa.String(length=8), nullable=False),
        sa.Column("address", sa.String(length=320), nullable=True),
        sa.Column("roles", Json, nullable=False),
        sa.Column("active", sa.Boolean(), nullable=False),
        sa.CheckConstraint("written_by IN ('file', 'other')", name=op.f("ck_people_written_by")),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspaces.id"], name=op.f("fk_people_workspace_id")
        ),
        sa.PrimaryKeyConstraint("workspace_id", "id", name=op.f("pk_people")),
        sa.UniqueConstraint("workspace_id", "name", name=op.f("uq_people_workspace_id_name")),
    )
    op.create_table(
        "receives",
        sa.Column("workspace_id", sa.String(length=26), nullable=False),
        sa.Column("key", sa.String(length=63), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.String(length=64), nullable=False),
        sa.Column("started_at", Instant(), nullable=False),
        sa.Column("ended_at", Instant(), nullable=True),
        sa.Column("code", sa.String(length=64), nullable=True),
        sa.CheckConstraint("number BETWEEN 1 AND 3", name=op.f("ck_receives_number")),
        sa.ForeignKeyConstraint(
            ["workspace_id", "key"],
            ["claims.workspace_id", "claims.key"],
            name=op.f("fk_receives_workspace_id_key"),
        ),
        sa.PrimaryKeyConstraint("workspace_id", "key", "number", name=op.f("pk_receives")),
    )
    op.create_table(
        "sources",
        sa.Column("workspace_id", sa.String(length=26), nullable=False),
        sa.Column("id", sa.String(length=26), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("title", sa.String(length=900), nullable=False),
        sa.Column("written_by", sa.String(length=8), nullable=False),
        sa.Column("kind", sa.String(length=8), nullable=False),
        sa.Column("current_version", sa.Integer(), nullable=False),
        sa.Column("archived", sa.Boolean(), server_default=sa.text("(false)"), nullable=False),
        sa.CheckConstraint("kind IN ('query', 'report')", name=op.f("ck_sources_kind")),
        sa.CheckConstraint("written_by IN ('file', 'other')", name=op.f("ck_sources_written_by")),
        sa.CheckConstraint("current_version >= 1", name=op.f("ck_sources_current_version")),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspaces.id"], name=op.f("fk_sources_workspace_id")
        ),
        sa.PrimaryKeyConstraint("workspace_id", "id", name=op.f("pk_sources")),
        sa.UniqueConstraint("workspace_id", "name", name=op.f("uq_sources_workspace_id_name")),
    )
    op.create_table(
        "datasets",
        sa.Column("workspace_id", sa.String(length=26), nullable=False),
        sa.Column("id", sa.String(length=26), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("title", sa.String(length=900), nullable=False),
        sa.Column("written_by", sa.String(length=8), nullable=False),
        sa.Column("connection_id", sa.String(length=26), nullable=False),
        sa.Column("definition", Json, nullable=False),
        sa.CheckConstraint("written_by IN ('file', 'other')", name=op.f("ck_datasets_written_by")),
        sa.ForeignKeyConstraint(
            ["workspace_id", "connection_id"],
            ["connections.workspace_id", "connections.id"],
            name=op.f("fk_datasets_workspace_id_connection_id"),
        ),
        sa.PrimaryKeyConstraint("workspace_id", "id", name=op.f("pk_datasets")),
        sa.UniqueConstraint("workspace_id", "name", name=op.f("uq_datasets_workspace_id_name")),
    )
    op.create_table(
        "source_versions",
        sa.Column("workspace_id", sa.String(length=26), nullable=False),
        sa.Column("source_id", sa.String(length=26), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("dataset_id", sa.String(length=26), nullable=True),
        sa.Column("definition", Json, nullable=False),
        sa.Column("created_at", Instant(), nullable=False),
        sa.CheckConstraint("version >= 1", name=op.f("ck_source_versions_version")),
        sa.ForeignKeyConstraint(
            ["workspace_id", "dataset_id"],
            ["datasets.workspace_id", "datasets.id"],
            name=op.f("fk_source_versions_workspace_id_dataset_id"),
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id", "source_id"],
            ["sources.workspace_id", "sources.id"],
            name=op.f("fk_source_versions_workspace_id_source_id"),
        ),
        sa.PrimaryKeyConstraint(
            "workspace_id", "source_id", "version", name=op.f("pk_source_versions")
        ),
    )
    op.create_table(
        "exports",
        sa.Column("workspace_id", sa.String(length=26), nullable=False),
        sa.Column("id", sa.String(length=26), nullable=False),
        sa.Column("source_id", sa.String(length=26), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("format", sa.String(length=8), nullable=False),
        sa.Column("runtime_values", Json, nullable=False),
        sa.Column("actor_id", sa.String(length=26), nullable=False),
        sa.Column("time_zone", sa.String(length=64), nullable=False),
        sa.Column("purpose", sa.String(length=11), nullable=False),
        sa.Column("state", sa.String(length=9), nullable=False),
        sa.Column("code", sa.String(length=64), nullable=True),
        sa.Column("message", sa.Text(), nullable=True),
        sa.Column("storage_key", sa.String(length=200), nullable=False),
        sa.Column("upload_id", sa.String(length=1024), nullable=True),
        sa.Column("upload_receive", sa.Integer(), nullable=True),
        sa.Column("rows_done", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("bytes_done", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=True),
        sa.Column("rows", sa.BigInteger(), nullable=True),
        sa.Column("sha256", sa.String(length=64), nullable=True),
        sa.Column("replaced_characters", sa.Integer(), nullable=True),
        sa.Column("cut_cells", sa.Integer(), nullable=True),
        sa.Column("created_at", Instant(), nullable=False),
        sa.Column("completed_at", Instant(), nullable=True),
        sa.Column("expires_at", Instant(), nullable=True),
        sa.Column("removed_at", Instant(), nullable=True),
        sa.CheckConstraint("(state = 'failed') = (code IS NOT NULL)", name=op.f("ck_exports_code")),
        sa.CheckConstraint("format IN ('csv', 'xlsx', 'pdf')", name=op.f("ck_exports_format")),
        sa.CheckConstraint(
            "purpose IN ('interactive', 'delivery')", name=op.f("ck_exports_purpose")
        ),
        sa.CheckConstraint(
            "state IN ('queued', 'running', 'ready', 'failed', 'cancelled', 'expired')",
            name=op.f("ck_exports_state"),
        ),
        sa.CheckConstraint(
            "state NOT IN ('ready', 'expired') OR (size IS NOT NULL AND rows IS NOT NULL AND sha256 IS NOT NULL AND completed_at IS NOT NULL AND expires_at IS NOT NULL)",
            name=op.f("ck_exports_completion"),
        ),
        sa.CheckConstraint(
            "(upload_id IS NULL) = (upload_receive IS NULL)", name=op.f("ck_exports_upload")
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id", "actor_id"],
            ["people.workspace_id", "people.id"],
            name=op.f("fk_exports_workspace_id_actor_id"),
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id", "source_id", "version"],
            [
                "source_versions.workspace_id",
                "source_versions.source_id",
                "source_versions.version",
            ],
            name=op.f("fk_exports_workspace_id_source_id_version"),
        ),
        sa.PrimaryKeyConstraint("workspace_id", "id", name=op.f("pk_exports")),
        sa.UniqueConstraint("storage_key", name=op.f("uq_exports_storage_key")),
        sa.UniqueConstraint(
            "workspace_id", "id", "purpose", name=op.f("uq_exports_workspace_id_id_purpose")
        ),
    )
    op.create_index(
        "ix_exports_kept",
        "exports",
        ["expires_at"],
        unique=False,
        postgresql_where=sa.text("removed_at IS NULL AND expires_at IS NOT NULL"),
        sqlite_where=sa.text("removed_at IS NULL AND expires_at IS NOT NULL"),
    )
    op.create_index(
        "ix_exports_uploads",
        "exports",
        ["state"],
        unique=False,
        postgresql_where=sa.text("upload_id IS NOT NULL"),
        sqlite_where=sa.text("upload_id IS NOT NULL"),
    )
    op.create_index(
        "ix_exports_requester", "exports", ["workspace_id", "actor_id", "created_at"], unique=False
    )
    op.create_table(
        "schedules",
        sa.Column("workspace_id", sa.String(length=26), nullable=False),
        sa.Column("id", sa.String(length=26), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("title", sa.String(length=900), nullable=False),
        sa.Column("written_by", sa.String(length=8), nullable=False),
        sa.Column("source_id", sa.String(length=26), nullable=False),
        sa.Column("pinned_version", sa.Integer(), nullable=False),
        sa.Column("owner_id", sa.String(length=26), nullable=False),
        sa.Column("cron", sa.String(length=200), nullable=False),
        sa.Column("time_zone", sa.String(length=64), nullable=False),
        sa.Column("format", sa.String(length=8), nullable=False),
        sa.Column("runtime_values", Json, nullable=False),
        sa.Column("skip_empty", sa.Boolean(), nullable=False),
        sa.Column("missed_slots", sa.String(length=8), nullable=False),
        sa.Column("lateness_limit", sa.Integer(), nullable=True),
        sa.Column("state", sa.String(length=8), nullable=False),
        sa.Column("pause_code", sa.String(length=64), nullable=True),
        sa.Column("pause_reason", sa.Text(), nullable=True),
        sa.Column("paused_at", Instant(), nullable=True),
        sa.Column("failure_streak", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("next_slot", Instant(), nullable=True),
        sa.Column("created_at", Instant(), nullable=False),
        sa.CheckConstraint(
            "(state = 'paused') = (pause_code IS NOT NULL)", name=op.f("ck_schedules_pause_code")
        ),
        sa.CheckConstraint("format IN ('csv', 'xlsx', 'pdf')", name=op.f("ck_schedules_format")),
        sa.CheckConstraint(
            "missed_slots IN ('latest', 'all', 'none')", name=op.f("ck_schedules_missed_slots")
        ),
        sa.CheckConstraint(
            "state = 'active' OR next_slot IS NULL", name=op.f("ck_schedules_next_slot")
        ),
        sa.CheckConstraint(
            "state IN ('active', 'paused', 'ended')", name=op.f("ck_schedules_state")
        ),
        sa.CheckConstraint("written_by IN ('file', 'other')", name=op.f("ck_schedules_written_by")),
        sa.CheckConstraint("failure_streak >= 0", name=op.f("ck_schedules_failure_streak")),
        sa.ForeignKeyConstraint(
            ["workspace_id", "owner_id"],
            ["people.workspace_id", "people.id"],
            name=op.f("fk_schedules_workspace_id_owner_id"),
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id", "source_id", "pinned_version"],
            [
                "source_versions.workspace_id",
                "source_versions.source_id",
                "source_versions.version",
            ],
            name=op.f("fk_schedules_workspace_id_source_id_pinned_version"),
        ),
        sa.PrimaryKeyConstraint("workspace_id", "id", name=op.f("pk_schedules")),
        sa.UniqueConstraint("workspace_id", "name", name=op.f("uq_schedules_workspace_id_name")),
    )
    op.create_index(
        "ix_schedules_due",
        "schedules",
        ["next_slot", "id"],
        unique=False,
        postgresql_where=sa.text("next_slot IS NOT NULL"),
        sqlite_where=sa.text("next_slot IS NOT NULL"),
    )
    op.create_table(
        "occurrences",
        sa.Column("workspace_id", sa.String(length=26), nullable=False),
        sa.Column("key", sa.String(length=63), nullable=False),
        sa.Column("schedule_id", sa.String(length=26), nullable=False),
        sa.Column("slot", Instant(), nullable=True),
        sa.Column("requested_by", sa.String(length=26), nullable=True),
        sa.Column("client_key", sa.String(length=200), nullable=True),
        sa.Column("via", sa.String(length=16), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("outcome", sa.String(length=16), nullable=True),
        sa.Column("code", sa.String(length=64), nullable=True),
        sa.Column("message", sa.Text(), nullable=True),
        sa.Column("actor_id", sa.String(length=26), nullable=True),
        sa.Column("export_id", sa.String(length=26), nullable=True),
        sa.Column(
            "source_changed", sa.Boolean(), server_default=sa.text("(false)"), nullable=False
        ),
        sa.Column("admitted_at", Instant(), nullable=False),
        sa.Column("settled_at", Instant(), nullable=True),
        sa.CheckConstraint(
            "outcome <> 'failed' OR code IS NOT NULL", name=op.f("ck_occurrences_code")
        ),
        sa.CheckConstraint(
            "outcome IN ('delivered', 'delivered_partly', 'skipped_empty', 'no_recipients', 'failed', 'missed', 'cancelled')",
            name=op.f("ck_occurrences_outcome"),
        ),
        sa.CheckConstraint(
            "via IN ('recurrence', 'run-now', 'dagster-ui', 'backfill')",
            name=op.f("ck_occurrences_via"),
        ),
        sa.CheckConstraint(
            "(outcome IS NULL) = (settled_at IS NULL)", name=op.f("ck_occurrences_settled_at")
        ),
        sa.CheckConstraint(
            "(slot IS NULL) = (requested_by IS NOT NULL)", name=op.f("ck_occurrences_slot")
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id", "actor_id"],
            ["people.workspace_id", "people.id"],
            name=op.f("fk_occurrences_workspace_id_actor_id"),
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id", "export_id"],
            ["exports.workspace_id", "exports.id"],
            name=op.f("fk_occurrences_workspace_id_export_id"),
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id", "requested_by"],
            ["people.workspace_id", "people.id"],
            name=op.f("fk_occurrences_workspace_id_requested_by"),
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id", "schedule_id"],
            ["schedules.workspace_id", "schedules.id"],
            name=op.f("fk_occurrences_workspace_id_schedule_id"),
        ),
        sa.PrimaryKeyConstraint("workspace_id", "key", name=op.f("pk_occurrences")),
        sa.UniqueConstraint("key", name=op.f("uq_occurrences_key")),
        sa.UniqueConstraint(
            "workspace_id",
            "schedule_id",
            "requested_by",
            "client_key",
            name=op.f("uq_occurrences_workspace_id_schedule_id_requested_by_client_key"),
        ),
        sa.UniqueConstraint(
            "workspace_id",
            "schedule_id",
            "slot",
            name=op.f("uq_occurrences_workspace_id_schedule_id_slot"),
        ),
    )
    op.create_index(
        "ix_occurrences_export", "occurrences", ["workspace_id", "export_id"], unique=False
    )
    op.create_index(
        "ix_occurrences_history",
        "occurrences",
        ["workspace_id", "schedule_id", "admitted_at"],
        unique=False,
    )
    op.create_table(
        "requests",
        sa.Column("workspace_id", sa.String(length=26), nullable=False),
        sa.Column("export_id", sa.String(length=26), nullable=False),
        sa.Column("purpose", sa.String(length=11), nullable=False),
        sa.Column("created_at", Instant(), nullable=False),
        sa.ForeignKeyConstraint(
            ["workspace_id", "export_id", "purpose"],
            ["exports.workspace_id", "exports.id", "exports.purpose"],
            name=op.f("fk_requests_workspace_id_export_id_purpose"),
        ),
        sa.PrimaryKeyConstraint("workspace_id", "export_id", name=op.f("pk_requests")),
    )
    op.create_table(
        "schedule_recipients",
        sa.Column("workspace_id", sa.String(length=26), nullable=False),
        sa.Column("schedule_id", sa.String(length=26), nullable=False),
        sa.Column("person_id", sa.String(length=26), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["workspace_id", "person_id"],
            ["people.workspace_id", "people.id"],
            name=op.f("fk_schedule_recipients_workspace_id_person_id"),
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id", "schedule_id"],
            ["schedules.workspace_id", "schedules.id"],
            name=op.f("fk_schedule_recipients_workspace_id_schedule_id"),
        ),
        sa.PrimaryKeyConstraint(
            "workspace_id", "schedule_id", "person_id", name=op.f("pk_schedule_recipients")
        ),
        sa.UniqueConstraint(
            "workspace_id",
            "schedule_id",
            "position",
            name=op.f("uq_schedule_recipients_workspace_id_schedule_id_position"),
        ),
    )
    op.create_table(
        "deliveries",
        sa.Column("workspace_id", sa.String(length=26), nullable=False),
        sa.Column("occurrence_key", sa.String(length=63), nullable=False),
        sa.Column("person_id", sa.String(length=26), nullable=False),
        sa.Column("state", sa.String(length=9), nullable=False),
        sa.Column("code", sa.String(length=64), nullable=True),
        sa.Column("communication_key", sa.String(length=100), nullable=False),
        sa.Column("receive_number", sa.Integer(), nullable=False),
        sa.Column("link_token_id", sa.String(length=26), nullable=True),
        sa.Column("link_key_id", sa.String(length=64), nullable=True),
        sa.Column("link_issued_at", Instant(), nullable=True),
        sa.Column("link_expires_at", Instant(), nullable=True),
        sa.Column("message_id", sa.String(length=200), nullable=True),
        sa.Column("recorded_at", Instant(), nullable=False),
        sa.CheckConstraint(
            "state IN ('sending', 'sent', 'skipped', 'refused', 'uncertain')",
            name=op.f("ck_deliveries_state"),
        ),
        sa.CheckConstraint(
            "state IN ('skipped', 'refused') OR (link_token_id IS NOT NULL AND link_key_id IS NOT NULL AND link_issued_at IS NOT NULL AND link_expires_at IS NOT NULL)",
            name=op.f("ck_deliveries_link"),
        ),
        sa.CheckConstraint(
            "state NOT IN ('skipped', 'refused') OR code IS NOT NULL",
            name=op.f("ck_deliveries_code"),
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id", "occurrence_key"],
            ["occurrences.workspace_id", "occurrences.key"],
            name=op.f("fk_deliveries_workspace_id_occurrence_key"),
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id", "person_id"],
            ["people.workspace_id", "people.id"],
            name=op.f("fk_deliveries_workspace_id_person_id"),
        ),
        sa.PrimaryKeyConstraint(
            "workspace_id", "occurrence_key", "person_id", name=op.f("pk_deliveries")
        ),
        sa.UniqueConstraint("communication_key", name=op.f("uq_deliveries_communication_key")),
        sa.UniqueConstraint("link_token_id", name=op.f("uq_deliveries_link_token_id")),
    )
    op.create_table(
        "downloads",
        sa.Column("workspace_id", sa.String(length=26), nullable=False),
        sa.Column("id", sa.String(length=26), nullable=False),
        sa.Column("export_id", sa.String(length=26), nullable=False),
        sa.Column("person_id", sa.String(length=26), nullable=False),
        sa.Column("occurrence_key", sa.String(length=63), nullable=True),
        sa.Column("downloaded_at", Instant(), nullable=False),
        sa.ForeignKeyConstraint(
            ["workspace_id", "export_id"],
            ["exports.workspace_id", "exports.id"],
            name=op.f("fk_downloads_workspace_id_export_id"),
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id", "occurrence_key"],
            ["occurrences.workspace_id", "occurrences.key"],
            name=op.f("fk_downloads_workspace_id_occurrence_key"),
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id", "person_id"],
            ["people.workspace_id", "people.id"],
            name=op.f("fk_downloads_workspace_id_person_id"),
        ),
        sa.PrimaryKeyConstraint("workspace_id", "id", name=op.f("pk_downloads")),
    )


def downgrade() -> None:
    op.drop_table("downloads")
    op.drop_table("deliveries")
    op.drop_table("schedule_recipients")
    op.drop_table("requests")
    op.drop_index("ix_occurrences_history", table_name="occurrences")
    op.drop_index("ix_occurrences_export", table_name="occurrences")
    op.drop_table("occurrences")
    op.drop_index(
        "ix_schedules_due",
        table_name="schedules",
        postgresql_where=sa.text("next_slot IS NOT NULL"),
        sqlite_where=sa.text("next_slot IS NOT NULL"),
    )
    op.drop_table("schedules")
    op.drop_index("ix_exports_requester", table_name="exports")
    op.drop_index(
        "ix_exports_uploads",
        table_name="exports",
        postgresql_where=sa.text("upload_id IS NOT NULL"),
        sqlite_where=sa.text("upload_id IS NOT NULL"),
    )
    op.drop_index(
        "ix_exports_kept",
        table_name="exports",
        postgresql_where=sa.text("removed_at IS NULL AND expires_at IS NOT NULL"),
        sqlite_where=sa.text("removed_at IS NULL AND expires_at IS NOT NULL"),
    )
    op.drop_table("exports")
    op.drop_table("source_versions")
    op.drop_table("datasets")
    op.drop_table("sources")
    op.drop_table("receives")
    op.drop_table("people")
    op.drop_table("offers")
    op.drop_table("connections")
    op.drop_index(
        "ix_claims_unfinished",
        table_name="claims",
        postgresql_where=sa.text("state != 'done'"),
        sqlite_where=sa.text("state != 'done'"),
    )
    op.drop_table("claims")
    op.drop_table("workspaces")
    op.drop_table("dispatcher_heartbeats")
