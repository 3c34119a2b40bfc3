"""Recipients are people, groups and outside addresses; who wants no more; a workspace's messages.

Three tables get other keys. SQLite changes no key of a table that is there, so Alembic makes the
table anew from what it reads of it, and copies the rows.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op
from alembic.operations import BatchOperations

from queries_orchestration.store.types import Instant, Json

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

_ONE_OF_TWO = "(person_id IS NULL) <> (outside_id IS NULL)"
_ONE_OF_THREE = "(CASE WHEN person_id IS NULL THEN 0 ELSE 1 END) + (CASE WHEN group_id IS NULL THEN 0 ELSE 1 END) + (CASE WHEN outside_id IS NULL THEN 0 ELSE 1 END) = 1"
_OWN_ID = "recipient_id = COALESCE(person_id, outside_id)"


def upgrade() -> None:
    op.add_column("workspaces", sa.Column("allowed_domains", Json, nullable=True))
    op.add_column("workspaces", sa.Column("messages", Json, nullable=True))
    # In one statement with its rule: SQLite adds no rule to a table that is there.
    op.execute(
        "ALTER TABLE people ADD COLUMN left_workspace BOOLEAN DEFAULT false NOT NULL"
        " CONSTRAINT ck_people_left_workspace CHECK (NOT (left_workspace AND active))"
    )
    op.add_column("exports", sa.Column("cut_sections", sa.Integer(), nullable=True))
    op.add_column("occurrences", sa.Column("message_fault", sa.String(length=64), nullable=True))
    _create_groups()
    _create_outside_addresses()
    _create_unsubscriptions()
    _widen_schedule_recipients()
    _widen_deliveries()
    _widen_downloads()


def downgrade() -> None:
    # What was sent to outside addresses, and groups, the tables of before cannot tell.
    for table in ("downloads", "deliveries", "schedule_recipients"):
        op.execute(f"DELETE FROM {table} WHERE person_id IS NULL")  # noqa: S608
    _narrow_downloads()
    _narrow_deliveries()
    _narrow_schedule_recipients()
    for table in ("unsubscriptions", "outside_addresses", "group_members", "groups"):
        op.drop_table(table)
    op.drop_column("occurrences", "message_fault")
    op.drop_column("exports", "cut_sections")
    op.drop_column("people", "left_workspace")
    op.drop_column("workspaces", "messages")
    op.drop_column("workspaces", "allowed_domains")


def _create_groups() -> None:
    op.create_table(
        "groups",
        sa.Column("workspace_id", sa.String(length=26), nullable=False),
        sa.Column("id", sa.String(length=26), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("title", sa.String(length=900), nullable=False),
        sa.Column("written_by", sa.String(length=8), nullable=False),
        sa.CheckConstraint("written_by IN ('file', 'other')", name=op.f("ck_groups_written_by")),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspaces.id"], name=op.f("fk_groups_workspace_id")
        ),
        sa.PrimaryKeyConstraint("workspace_id", "id", name=op.f("pk_groups")),
        sa.UniqueConstraint("workspace_id", "name", name=op.f("uq_groups_workspace_id_name")),
    )
    op.create_table(
        "group_members",
        sa.Column("workspace_id", sa.String(length=26), nullable=False),
        sa.Column("group_id", sa.String(length=26), nullable=False),
        sa.Column("person_id", sa.String(length=26), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        _within("group_members", "groups", "group_id"),
        _within("group_members", "people", "person_id"),
        sa.PrimaryKeyConstraint(
            "workspace_id", "group_id", "person_id", name=op.f("pk_group_members")
        ),
        sa.UniqueConstraint(
            "workspace_id",
            "group_id",
            "position",
            name=op.f("uq_group_members_workspace_id_group_id_position"),
        ),
    )


def _create_outside_addresses() -> None:
    op.create_table(
        "outside_addresses",
        sa.Column("workspace_id", sa.String(length=26), nullable=False),
        sa.Column("id", sa.String(length=26), nullable=False),
        sa.Column("address", sa.String(length=320), nullable=True),
        sa.Column("mailbox", sa.String(length=320), nullable=True),
        sa.Column("title", sa.String(length=900), nullable=True),
        sa.Column("unsubscribed_at", Instant(), nullable=True),
        sa.CheckConstraint(
            "(address IS NULL) = (mailbox IS NULL)", name=op.f("ck_outside_addresses_mailbox")
        ),
        sa.CheckConstraint(
            "address IS NOT NULL OR title IS NULL", name=op.f("ck_outside_addresses_title")
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspaces.id"], name=op.f("fk_outside_addresses_workspace_id")
        ),
        sa.PrimaryKeyConstraint("workspace_id", "id", name=op.f("pk_outside_addresses")),
        sa.UniqueConstraint(
            "workspace_id", "mailbox", name=op.f("uq_outside_addresses_workspace_id_mailbox")
        ),
    )


def _create_unsubscriptions() -> None:
    op.create_table(
        "unsubscriptions",
        sa.Column("workspace_id", sa.String(length=26), nullable=False),
        sa.Column("schedule_id", sa.String(length=26), nullable=False),
        sa.Column("recipient_id", sa.String(length=26), nullable=False),
        sa.Column("person_id", sa.String(length=26), nullable=True),
        sa.Column("outside_id", sa.String(length=26), nullable=True),
        sa.Column("unsubscribed_at", Instant(), nullable=False),
        sa.CheckConstraint(
            f"{_ONE_OF_TWO} AND {_OWN_ID}", name=op.f("ck_unsubscriptions_recipient")
        ),
        _within("unsubscriptions", "schedules", "schedule_id"),
        _within("unsubscriptions", "people", "person_id"),
        _within("unsubscriptions", "outside_addresses", "outside_id"),
        sa.PrimaryKeyConstraint(
            "workspace_id", "schedule_id", "recipient_id", name=op.f("pk_unsubscriptions")
        ),
    )


def _within(table: str, target: str, column: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["workspace_id", column],
        [f"{target}.workspace_id", f"{target}.id"],
        name=op.f(f"fk_{table}_workspace_id_{column}"),
    )


def _widen_schedule_recipients() -> None:
    for column in ("group_id", "outside_id"):
        op.add_column("schedule_recipients", sa.Column(column, sa.String(length=26), nullable=True))
    position = "uq_schedule_recipients_workspace_id_schedule_id_position"
    with op.batch_alter_table("schedule_recipients") as table:
        _change_key(table, "schedule_recipients", "schedule_id", "position")
        table.drop_constraint(position, type_="unique")
        table.alter_column("person_id", existing_type=sa.String(length=26), nullable=True)
        for column, target in (("group_id", "groups"), ("outside_id", "outside_addresses")):
            _refer(table, "schedule_recipients", column, target)
        for column in ("person_id", "group_id", "outside_id"):
            table.create_unique_constraint(
                op.f(f"uq_schedule_recipients_workspace_id_schedule_id_{column}"),
                ["workspace_id", "schedule_id", column],
            )
        table.create_check_constraint(op.f("ck_schedule_recipients_recipient"), _ONE_OF_THREE)


def _narrow_schedule_recipients() -> None:
    position = "uq_schedule_recipients_workspace_id_schedule_id_position"
    with op.batch_alter_table("schedule_recipients") as table:
        table.drop_constraint(op.f("ck_schedule_recipients_recipient"), type_="check")
        for column in ("person_id", "group_id", "outside_id"):
            table.drop_constraint(
                op.f(f"uq_schedule_recipients_workspace_id_schedule_id_{column}"), type_="unique"
            )
        for column in ("group_id", "outside_id"):
            _forget(table, "schedule_recipients", column)
        table.alter_column("person_id", existing_type=sa.String(length=26), nullable=False)
        _change_key(table, "schedule_recipients", "schedule_id", "person_id")
        table.create_unique_constraint(op.f(position), ["workspace_id", "schedule_id", "position"])


def _widen_deliveries() -> None:
    for column in ("recipient_id", "outside_id"):
        op.add_column("deliveries", sa.Column(column, sa.String(length=26), nullable=True))
    op.execute("UPDATE deliveries SET recipient_id = person_id")
    with op.batch_alter_table("deliveries") as table:
        _change_key(table, "deliveries", "occurrence_key", "recipient_id")
        table.alter_column("recipient_id", existing_type=sa.String(length=26), nullable=False)
        table.alter_column("person_id", existing_type=sa.String(length=26), nullable=True)
        _refer(table, "deliveries", "outside_id", "outside_addresses")
        table.create_check_constraint(
            op.f("ck_deliveries_recipient"), f"{_ONE_OF_TWO} AND {_OWN_ID}"
        )


def _narrow_deliveries() -> None:
    with op.batch_alter_table("deliveries") as table:
        table.drop_constraint(op.f("ck_deliveries_recipient"), type_="check")
        _forget(table, "deliveries", "outside_id")
        table.alter_column("person_id", existing_type=sa.String(length=26), nullable=False)
        _change_key(table, "deliveries", "occurrence_key", "person_id")
        table.drop_column("recipient_id")


def _widen_downloads() -> None:
    op.add_column("downloads", sa.Column("outside_id", sa.String(length=26), nullable=True))
    with op.batch_alter_table("downloads") as table:
        table.alter_column("person_id", existing_type=sa.String(length=26), nullable=True)
        _refer(table, "downloads", "outside_id", "outside_addresses")
        table.create_check_constraint(op.f("ck_downloads_recipient"), _ONE_OF_TWO)


def _narrow_downloads() -> None:
    with op.batch_alter_table("downloads") as table:
        table.drop_constraint(op.f("ck_downloads_recipient"), type_="check")
        _forget(table, "downloads", "outside_id")
        table.alter_column("person_id", existing_type=sa.String(length=26), nullable=False)


def _change_key(table: BatchOperations, name: str, *columns: str) -> None:
    table.drop_constraint(op.f(f"pk_{name}"), type_="primary")
    table.create_primary_key(op.f(f"pk_{name}"), ["workspace_id", *columns])


def _refer(table: BatchOperations, name: str, column: str, target: str) -> None:
    table.create_foreign_key(
        op.f(f"fk_{name}_workspace_id_{column}"),
        target,
        ["workspace_id", column],
        ["workspace_id", "id"],
    )


def _forget(table: BatchOperations, name: str, column: str) -> None:
    table.drop_constraint(op.f(f"fk_{name}_workspace_id_{column}"), type_="foreignkey")
    table.drop_column(column)
