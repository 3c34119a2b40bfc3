"""What people did and were refused: rows that are only added."""

from __future__ import annotations

from sqlalchemy import (
    CheckConstraint,
    Column,
    ForeignKeyConstraint,
    Index,
    PrimaryKeyConstraint,
    String,
    Table,
)

from queries_orchestration.model.audit import ACTIONS, SUBJECT_KINDS, WAYS
from queries_orchestration.store.tables.columns import (
    id_column,
    key_column,
    metadata,
    one_of,
)
from queries_orchestration.store.types import Instant

# Triggers, which the migration makes, refuse to change an event, and to delete one of the last
# 365 days. No foreign key but that of the workspace: who is erased and what is deleted stay in the
# trail by their ids, and the trail keeps nobody from erasing them.
audit_events = Table(
    "audit_events",
    metadata,
    id_column("workspace_id"),
    id_column(),
    Column("at", Instant, nullable=False),
    Column("via", String(10), nullable=False),
    id_column("person_id", nullable=True),
    id_column("outside_id", nullable=True),
    Column("action", String(20), nullable=False),
    Column("subject_kind", String(10), nullable=False),
    key_column("subject_id", nullable=True),
    id_column("concerns_id", nullable=True),
    Column("code", String(64)),
    Column("attempted", String(20)),
    PrimaryKeyConstraint("workspace_id", "id"),
    ForeignKeyConstraint(["workspace_id"], ["workspaces.id"]),
    one_of("via", *WAYS),
    CheckConstraint(
        "CASE via WHEN 'system' THEN person_id IS NULL AND outside_id IS NULL"
        " WHEN 'link' THEN (person_id IS NULL) <> (outside_id IS NULL)"
        " WHEN 'command' THEN outside_id IS NULL"
        " ELSE person_id IS NOT NULL AND outside_id IS NULL END",
        name="by",
    ),
    one_of("action", *ACTIONS),
    one_of("subject_kind", *SUBJECT_KINDS),
    one_of("attempted", *(action for action in ACTIONS if action != "refused")),
    CheckConstraint("(action = 'refused') = (attempted IS NOT NULL)", name="refused"),
    CheckConstraint(
        "code IS NOT NULL OR (action <> 'refused' AND (action <> 'schedule_paused'"
        " OR via <> 'system'))",
        name="code",
    ),
    CheckConstraint("subject_id IS NOT NULL OR action = 'refused'", name="subject_id"),
)
# The newest of a workspace, from a cursor on; and those of one subject.
Index(
    "ix_audit_events_newest",
    audit_events.c.workspace_id,
    audit_events.c.at,
    audit_events.c.id,
)
Index(
    "ix_audit_events_subject",
    audit_events.c.workspace_id,
    audit_events.c.subject_kind,
    audit_events.c.subject_id,
    audit_events.c.at,
    audit_events.c.id,
)
