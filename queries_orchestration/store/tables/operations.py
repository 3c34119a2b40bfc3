"""What people and the product do about the work: stops, resends, transfers, notices."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
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
    id_column,
    key_column,
    metadata,
    one_of,
    within,
)
from queries_orchestration.store.types import Instant

# When all dispatching was stopped, over all workspaces, and started again. Numbered from 1
# without a gap, so that of two who stop at once one is refused.
dispatch_stops = Table(
    "dispatch_stops",
    metadata,
    Column("number", Integer, nullable=False, autoincrement=False),
    Column("stopped_at", Instant, nullable=False),
    Column("stopped_by", String(200), nullable=False),
    Column("stop_reason", Text, nullable=False),
    Column("started_at", Instant),
    Column("started_by", String(200)),
    Column("start_reason", Text),
    PrimaryKeyConstraint("number"),
    CheckConstraint("number >= 1", name="number"),
    CheckConstraint(
        "(started_at IS NULL) = (started_by IS NULL)"
        " AND (started_at IS NULL) = (start_reason IS NULL)",
        name="started",
    ),
)

# An occurrence that sends another one's file again, numbered from 1 without a gap: of two who
# ask at once one finds the other's.
resends = Table(
    "resends",
    metadata,
    id_column("workspace_id"),
    key_column("occurrence_key"),
    Column("number", Integer, nullable=False),
    key_column("resend_key"),
    PrimaryKeyConstraint("workspace_id", "occurrence_key", "number"),
    UniqueConstraint("workspace_id", "resend_key"),
    within("occurrences", "occurrence_key", target="key"),
    within("occurrences", "resend_key", target="key"),
    CheckConstraint("number >= 1", name="number"),
    CheckConstraint("resend_key <> occurrence_key", name="resend_key"),
)

schedule_transfers = Table(
    "schedule_transfers",
    metadata,
    id_column("workspace_id"),
    id_column(),
    id_column("schedule_id"),
    id_column("from_person_id"),
    id_column("to_person_id"),
    id_column("transferred_by"),
    Column("reason", Text),
    Column("transferred_at", Instant, nullable=False),
    PrimaryKeyConstraint("workspace_id", "id"),
    within("schedules", "schedule_id"),
    within("people", "from_person_id"),
    within("people", "to_person_id"),
    within("people", "transferred_by"),
    CheckConstraint("to_person_id <> from_person_id", name="to_person_id"),
)
Index(
    "ix_schedule_transfers_schedule",
    schedule_transfers.c.workspace_id,
    schedule_transfers.c.schedule_id,
    schedule_transfers.c.transferred_at,
)

# What owners and administrators are told of a settlement: once each of a failure or a pause.
notices = Table(
    "notices",
    metadata,
    id_column("workspace_id"),
    key_column("occurrence_key"),
    Column("kind", String(13), nullable=False),
    id_column("person_id"),
    Column("code", String(64), nullable=False),  # of the failure or the pause
    Column("reason", Text, nullable=False),
    Column("streak", Integer, nullable=False),
    Column("state", String(9), nullable=False),
    Column("outcome_code", String(64)),  # why it was skipped or refused, or is tried again
    Column("communication_key", String(120), nullable=False),
    Column("attempts", Integer, nullable=False, server_default=text("0")),
    Column("not_before", Instant, nullable=False),  # by the lease clock
    Column("message_id", String(200)),
    Column("created_at", Instant, nullable=False),
    Column("concluded_at", Instant),
    PrimaryKeyConstraint("workspace_id", "occurrence_key", "kind", "person_id"),
    UniqueConstraint("communication_key"),
    within("occurrences", "occurrence_key", target="key"),
    within("people", "person_id"),
    one_of("kind", "first_failure", "paused"),
    one_of("state", "waiting", "sending", "sent", "skipped", "refused", "uncertain"),
    CheckConstraint("streak >= 0", name="streak"),
    CheckConstraint("attempts >= 0", name="attempts"),
    CheckConstraint(
        "state NOT IN ('skipped', 'refused') OR outcome_code IS NOT NULL", name="outcome_code"
    ),
    CheckConstraint(
        "(state IN ('waiting', 'sending')) = (concluded_at IS NULL)", name="concluded_at"
    ),
)
# What a pass looks for: one range of this index, however many were sent.
Index(
    "ix_notices_unsent",
    notices.c.not_before,
    postgresql_where=notices.c.concluded_at.is_(None),
    sqlite_where=notices.c.concluded_at.is_(None),
)

# What has happened since the beginning, over all workspaces: no history is needed to tell it, and
# none that goes takes it along.
counters = Table(
    "counters",
    metadata,
    Column("name", String(32), nullable=False),
    Column("label", String(16), nullable=False),  # a lane, an outcome or a state
    Column("code", String(64), nullable=False),
    Column("value", BigInteger, nullable=False),
    PrimaryKeyConstraint("name", "label", "code"),
    CheckConstraint("value > 0", name="value"),
)
