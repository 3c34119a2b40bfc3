"""The work and what became of it: exports, occurrences, claims, deliveries, downloads."""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Float,
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

from queries_orchestration.model.message_states import MESSAGE_STATES
from queries_orchestration.store.tables.columns import (
    id_column,
    key_column,
    metadata,
    one_of,
    one_recipient,
    within,
)
from queries_orchestration.store.types import Instant, Json

UNFINISHED_EXPORT: Final = "purpose = 'interactive' AND state IN ('queued', 'running')"
"""What admission counts, in the words of its partial index: SQLite uses it for no others."""

exports = Table(
    "exports",
    metadata,
    id_column("workspace_id"),
    id_column(),
    id_column("source_id"),
    Column("version", Integer, nullable=False),
    Column("format", String(8), nullable=False),
    Column("runtime_values", Json, nullable=False),
    id_column("actor_id"),  # as whom it is read
    Column("time_zone", String(64), nullable=False),
    Column("purpose", String(11), nullable=False),
    Column("state", String(9), nullable=False),
    Column("code", String(64)),
    Column("message", Text),
    Column("storage_key", String(200), nullable=False),
    Column("upload_id", String(1024)),
    Column("upload_receive", Integer),
    Column("client_key", String(200)),  # what the client calls the click, to be queued once
    Column("asked_sha256", String(64)),  # of all that was asked for with that key
    Column("started_at", Instant),  # when the latest receive began to make it
    Column("duration_seconds", Float),  # of that receive, up to its last progress or the end
    Column("rows_done", BigInteger, nullable=False, server_default=text("0")),
    Column("bytes_done", BigInteger, nullable=False, server_default=text("0")),
    Column("size", BigInteger),  # bytes of the finished file
    Column("rows", BigInteger),
    Column("sha256", String(64)),
    Column("replaced_characters", Integer),
    Column("cut_cells", Integer),
    Column("cut_sections", Integer),  # of a report: those that show less than there is
    Column("columns", Json),  # label and type of each; none of a report
    Column("snapshot_at", Instant),  # as of when its source was read
    Column("created_at", Instant, nullable=False),
    Column("completed_at", Instant),
    Column("expires_at", Instant),
    Column("removed_at", Instant),  # when nothing was left of it in the storage
    PrimaryKeyConstraint("workspace_id", "id"),
    UniqueConstraint("workspace_id", "id", "purpose"),  # what a request refers to
    UniqueConstraint("storage_key"),
    one_of("purpose", "interactive", "delivery"),
    within("source_versions", "source_id", "version", target="source_id version"),
    within("people", "actor_id"),
    one_of("format", "csv", "xlsx", "pdf"),
    one_of("state", "queued", "running", "ready", "failed", "cancelled", "expired"),
    CheckConstraint(
        "state NOT IN ('ready', 'expired') OR (size IS NOT NULL AND rows IS NOT NULL"
        " AND sha256 IS NOT NULL AND completed_at IS NOT NULL AND expires_at IS NOT NULL)",
        name="completion",
    ),
    CheckConstraint("(state = 'failed') = (code IS NOT NULL)", name="code"),
    CheckConstraint("(upload_id IS NULL) = (upload_receive IS NULL)", name="upload"),
    CheckConstraint("(client_key IS NULL) = (asked_sha256 IS NULL)", name="asked_sha256"),
)

# A click is queued once. An index, since SQLite adds no rule to a table that is there.
Index(
    "ux_exports_client_key",
    exports.c.workspace_id,
    exports.c.actor_id,
    exports.c.client_key,
    unique=True,
)
Index(
    "ix_exports_unfinished",
    exports.c.workspace_id,
    exports.c.actor_id,
    postgresql_where=text(UNFINISHED_EXPORT),
    sqlite_where=text(UNFINISHED_EXPORT),
)
Index("ix_exports_requester", exports.c.workspace_id, exports.c.actor_id, exports.c.created_at)
Index(
    "ix_exports_kept",
    exports.c.expires_at,
    postgresql_where=exports.c.removed_at.is_(None) & exports.c.expires_at.is_not(None),
    sqlite_where=exports.c.removed_at.is_(None) & exports.c.expires_at.is_not(None),
)
Index(
    "ix_exports_uploads",
    exports.c.state,
    postgresql_where=exports.c.upload_id.is_not(None),
    sqlite_where=exports.c.upload_id.is_not(None),
)

requests = Table(
    "requests",
    metadata,
    id_column("workspace_id"),
    id_column("export_id"),
    Column("purpose", String(11), nullable=False),
    Column("created_at", Instant, nullable=False),
    PrimaryKeyConstraint("workspace_id", "export_id"),
    within("exports", "export_id", "purpose", target="id purpose"),
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

# A trigger, which the migrations make, refuses to change an outcome: only a backfill takes one
# back, `missed` or what a backfill ended `failed`.
occurrences = Table(
    "occurrences",
    metadata,
    id_column("workspace_id"),
    key_column(),
    id_column("schedule_id"),
    Column("slot", Instant),  # none for a run-now request
    id_column("requested_by", nullable=True),  # the clicking person of a run-now request
    Column("client_key", String(200)),  # what the client calls the click, to be run once
    Column("via", String(16), nullable=False),
    # A test goes to who asked for it alone, a resend to whom an earlier occurrence did not reach.
    Column("purpose", String(8), nullable=False, server_default=text("'delivery'")),
    Column("reason", Text),
    Column("outcome", String(16)),
    Column("code", String(64)),
    Column("message", Text),
    id_column("actor_id", nullable=True),  # as whom it ran
    id_column("export_id", nullable=True),
    Column("source_changed", Boolean, nullable=False, server_default=text("false")),
    Column("message_fault", String(64)),  # the part whose own template could not be used
    Column("admitted_at", Instant, nullable=False),
    Column("settled_at", Instant),
    PrimaryKeyConstraint("workspace_id", "key"),
    UniqueConstraint("key"),
    UniqueConstraint("workspace_id", "schedule_id", "slot"),
    UniqueConstraint("workspace_id", "schedule_id", "requested_by", "client_key"),
    within("schedules", "schedule_id"),
    within("people", "requested_by"),
    within("people", "actor_id"),
    within("exports", "export_id"),
    one_of("via", "recurrence", "run-now", "dagster-ui", "backfill"),
    one_of("purpose", "delivery", "test", "resend"),
    one_of("outcome", *OUTCOMES),
    CheckConstraint("(slot IS NULL) = (requested_by IS NOT NULL)", name="slot"),
    CheckConstraint("(outcome IS NULL) = (settled_at IS NULL)", name="settled_at"),
    CheckConstraint("outcome <> 'failed' OR code IS NOT NULL", name="code"),
)
Index(
    "ix_occurrences_history",
    occurrences.c.workspace_id,
    occurrences.c.schedule_id,
    occurrences.c.admitted_at,
)
# What a later slot of the schedule waits for.
Index(
    "ix_occurrences_unsettled",
    occurrences.c.workspace_id,
    occurrences.c.schedule_id,
    occurrences.c.slot,
    postgresql_where=occurrences.c.outcome.is_(None),
    sqlite_where=occurrences.c.outcome.is_(None),
)
# The schedules that have slots of a backfill, whatever else waits.
Index(
    "ix_occurrences_backfilled",
    occurrences.c.workspace_id,
    occurrences.c.schedule_id,
    postgresql_where=occurrences.c.outcome.is_(None) & (occurrences.c.via == "backfill"),
    sqlite_where=occurrences.c.outcome.is_(None) & (occurrences.c.via == "backfill"),
)
Index("ix_occurrences_export", occurrences.c.workspace_id, occurrences.c.export_id)

# Who holds a piece of work, an occurrence or an export of its own; all by the lease clock.
claims = Table(
    "claims",
    metadata,
    id_column("workspace_id"),
    key_column(),
    Column("lane", String(8), nullable=False),
    Column("state", String(8), nullable=False),
    Column("not_before", Instant, nullable=False),
    Column("offer_number", Integer, nullable=False, server_default=text("0")),
    Column("lease_until", Instant),
    Column("receive_number", Integer, nullable=False, server_default=text("0")),
    Column("heartbeat_at", Instant),
    # An occurrence of a backfill, which comes after all other work.
    Column("backfill", Boolean, nullable=False, server_default=text("false")),
    PrimaryKeyConstraint("workspace_id", "key"),
    UniqueConstraint("key"),
    # Of an occurrence or of an export, so that it can refer to neither.
    ForeignKeyConstraint(["workspace_id"], ["workspaces.id"]),
    one_of("lane", "delivery", "export", "report"),
    one_of("state", "waiting", "running", "done"),
    CheckConstraint("(state = 'running') = (heartbeat_at IS NOT NULL)", name="heartbeat"),
    CheckConstraint("state = 'waiting' OR lease_until IS NULL", name="lease"),
    CheckConstraint("receive_number BETWEEN 0 AND 3", name="receive_number"),
)
Index(
    "ix_claims_unfinished",
    claims.c.lane,
    claims.c.state,
    claims.c.not_before,
    postgresql_where=claims.c.state != "done",
    sqlite_where=claims.c.state != "done",
)
# What may be offered: of each workspace the longest waiting, however much waits.
Index(
    "ix_claims_waiting",
    claims.c.lane,
    claims.c.backfill,
    claims.c.workspace_id,
    claims.c.not_before,
    postgresql_where=claims.c.state == "waiting",
    sqlite_where=claims.c.state == "waiting",
)
Index(
    "ix_claims_offered",
    claims.c.lane,
    claims.c.lease_until,
    postgresql_where=claims.c.lease_until.is_not(None),
    sqlite_where=claims.c.lease_until.is_not(None),
)

offers = Table(
    "offers",
    metadata,
    id_column("workspace_id"),
    key_column(),
    Column("number", Integer, nullable=False),
    Column("state", String(8), nullable=False),
    Column("offered_at", Instant, nullable=False),
    Column("ended_at", Instant),
    PrimaryKeyConstraint("workspace_id", "key", "number"),
    within("claims", "key", target="key"),
    one_of("state", "live", "taken", "lost", "released"),
    CheckConstraint("number >= 1", name="number"),
    CheckConstraint("(state = 'live') = (ended_at IS NULL)", name="ended_at"),
)

receives = Table(
    "receives",
    metadata,
    id_column("workspace_id"),
    key_column(),
    Column("number", Integer, nullable=False),
    Column("run_id", String(64), nullable=False),
    Column("started_at", Instant, nullable=False),
    Column("ended_at", Instant),
    # Why the receive ended without settling; none when it settled.
    Column("code", String(64)),
    PrimaryKeyConstraint("workspace_id", "key", "number"),
    within("claims", "key", target="key"),
    CheckConstraint("number BETWEEN 1 AND 3", name="number"),
)

deliveries = Table(
    "deliveries",
    metadata,
    id_column("workspace_id"),
    key_column("occurrence_key"),
    id_column("recipient_id"),
    id_column("person_id", nullable=True),
    id_column("outside_id", nullable=True),
    Column("state", String(9), nullable=False),
    Column("code", String(64)),
    Column("communication_key", String(100), nullable=False),
    Column("receive_number", Integer, nullable=False),
    # Enough to make the personal link again; the token itself is never kept.
    id_column("link_token_id", nullable=True),
    Column("link_key_id", String(64)),
    Column("link_issued_at", Instant),
    Column("link_expires_at", Instant),
    Column("message_id", String(200)),
    Column("unanswered", Integer, nullable=False, server_default=text("0")),
    Column("resubmitted_at", Instant),  # when it was submitted beside an unanswered submission
    Column("refusal_words", String(300)),  # of who last did not take it, for good or for now
    # Where it goes, as `model.addresses.mailbox_digest`; taken away when the occurrence is settled.
    Column("mailbox_digest", String(64)),
    Column("recorded_at", Instant, nullable=False),
    PrimaryKeyConstraint("workspace_id", "occurrence_key", "recipient_id"),
    UniqueConstraint("communication_key"),
    UniqueConstraint("link_token_id"),
    UniqueConstraint("message_id"),  # by which a provider's events name it
    within("occurrences", "occurrence_key", target="key"),
    within("people", "person_id"),
    within("outside_addresses", "outside_id"),
    one_recipient(),
    one_of("state", "sending", "sent", "skipped", "refused", "uncertain", "unsent"),
    CheckConstraint(
        "state IN ('skipped', 'refused') OR (link_token_id IS NOT NULL AND link_key_id IS NOT NULL"
        " AND link_issued_at IS NOT NULL AND link_expires_at IS NOT NULL)",
        name="link",
    ),
    CheckConstraint(
        "state NOT IN ('skipped', 'refused', 'unsent') OR code IS NOT NULL", name="code"
    ),
    # Submissions whose answer is not known: one copy may be out for each, so two at most.
    CheckConstraint("unanswered BETWEEN 0 AND 2", name="unanswered"),
    CheckConstraint("unanswered < 2 OR resubmitted_at IS NOT NULL", name="resubmitted_at"),
)

# What a provider told of a message, each state once; beside the deliveries, whose outcome it
# does not change.
message_states = Table(
    "message_states",
    metadata,
    id_column("workspace_id"),
    key_column("occurrence_key"),
    Column("communication_key", String(100), nullable=False),
    Column("state", String(12), nullable=False),
    Column("code", String(64)),
    Column("at", Instant, nullable=False),  # as the provider says
    Column("recorded_at", Instant, nullable=False),
    PrimaryKeyConstraint("workspace_id", "communication_key", "state"),
    within("occurrences", "occurrence_key", target="key"),
    one_of("state", *MESSAGE_STATES),
)
Index(
    "ix_message_states_occurrence", message_states.c.workspace_id, message_states.c.occurrence_key
)

downloads = Table(
    "downloads",
    metadata,
    id_column("workspace_id"),
    id_column(),
    id_column("export_id"),
    # Who fetched it: the requester or a schedule authority, or a recipient by a personal link.
    id_column("person_id", nullable=True),
    id_column("outside_id", nullable=True),
    key_column("occurrence_key", nullable=True),  # of a personal link
    Column("downloaded_at", Instant, nullable=False),
    PrimaryKeyConstraint("workspace_id", "id"),
    within("exports", "export_id"),
    within("people", "person_id"),
    within("outside_addresses", "outside_id"),
    CheckConstraint("(person_id IS NULL) <> (outside_id IS NULL)", name="recipient"),
    within("occurrences", "occurrence_key", target="key"),
)
Index("ix_downloads_export", downloads.c.workspace_id, downloads.c.export_id)
Index("ix_downloads_occurrence", downloads.c.workspace_id, downloads.c.occurrence_key)

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
    # Passes that failed since the beginning, and the last of them.
    Column("errors", Integer, nullable=False, server_default=text("0")),
    Column("failed_at", Instant),
    Column("failure_code", String(64)),
    PrimaryKeyConstraint("dispatcher"),
)
