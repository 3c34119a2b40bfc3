"""Who receives a schedule: groups, outside addresses, the recipients, and who wants no more."""

from __future__ import annotations

from sqlalchemy import (
    CheckConstraint,
    Column,
    ForeignKeyConstraint,
    Integer,
    PrimaryKeyConstraint,
    String,
    Table,
    UniqueConstraint,
)

from queries_orchestration.store.tables.columns import (
    catalog_columns,
    catalog_rules,
    id_column,
    metadata,
    one_recipient,
    within,
)
from queries_orchestration.store.types import Instant

groups = Table(
    "groups",
    metadata,
    *catalog_columns(),
    *catalog_rules(),
    ForeignKeyConstraint(["workspace_id"], ["workspaces.id"]),
)

group_members = Table(
    "group_members",
    metadata,
    id_column("workspace_id"),
    id_column("group_id"),
    id_column("person_id"),
    Column("position", Integer, nullable=False),
    PrimaryKeyConstraint("workspace_id", "group_id", "person_id"),
    UniqueConstraint("workspace_id", "group_id", "position"),
    within("groups", "group_id"),
    within("people", "person_id"),
)

# The one table with addresses of those who are no people of the workspace. To erase somebody, take
# address, mailbox and title away: the row's id is all that other tables hold.
outside_addresses = Table(
    "outside_addresses",
    metadata,
    id_column("workspace_id"),
    id_column(),
    Column("address", String(320)),
    Column("mailbox", String(320)),  # what makes two addresses one: `model.addresses.mailbox_key`
    Column("title", String(900)),
    Column("unsubscribed_at", Instant),  # from every schedule of the workspace
    PrimaryKeyConstraint("workspace_id", "id"),
    UniqueConstraint("workspace_id", "mailbox"),
    ForeignKeyConstraint(["workspace_id"], ["workspaces.id"]),
    CheckConstraint("(address IS NULL) = (mailbox IS NULL)", name="mailbox"),
    CheckConstraint("address IS NOT NULL OR title IS NULL", name="title"),
)

schedule_recipients = Table(
    "schedule_recipients",
    metadata,
    id_column("workspace_id"),
    id_column("schedule_id"),
    Column("position", Integer, nullable=False),
    id_column("person_id", nullable=True),
    id_column("group_id", nullable=True),
    id_column("outside_id", nullable=True),
    PrimaryKeyConstraint("workspace_id", "schedule_id", "position"),
    UniqueConstraint("workspace_id", "schedule_id", "person_id"),
    UniqueConstraint("workspace_id", "schedule_id", "group_id"),
    UniqueConstraint("workspace_id", "schedule_id", "outside_id"),
    within("schedules", "schedule_id"),
    within("people", "person_id"),
    within("groups", "group_id"),
    within("outside_addresses", "outside_id"),
    CheckConstraint(
        "(CASE WHEN person_id IS NULL THEN 0 ELSE 1 END)"
        " + (CASE WHEN group_id IS NULL THEN 0 ELSE 1 END)"
        " + (CASE WHEN outside_id IS NULL THEN 0 ELSE 1 END) = 1",
        name="recipient",
    ),
)

# Kept when somebody is no recipient any more, so that being one again sends nothing.
unsubscriptions = Table(
    "unsubscriptions",
    metadata,
    id_column("workspace_id"),
    id_column("schedule_id"),
    id_column("recipient_id"),
    id_column("person_id", nullable=True),
    id_column("outside_id", nullable=True),
    Column("unsubscribed_at", Instant, nullable=False),
    # Of their address of then, `model.addresses.mailbox_digest`: it holds for the mailbox, too.
    Column("mailbox_digest", String(64)),
    PrimaryKeyConstraint("workspace_id", "schedule_id", "recipient_id"),
    within("schedules", "schedule_id"),
    within("people", "person_id"),
    within("outside_addresses", "outside_id"),
    one_recipient(),
)
