"""The record of a file, the client's key of its request, and what a workspace allows it."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.types import TypeEngine

from queries_orchestration.store.types import Instant, Json

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    _add_checked("workspaces", "export_bytes", sa.BigInteger(), "export_bytes >= 1")
    _add_checked("workspaces", "export_seconds", sa.Integer(), "export_seconds >= 1")
    _add_checked("workspaces", "statement_seconds", sa.Integer(), "statement_seconds >= 1")
    op.add_column("exports", sa.Column("client_key", sa.String(length=200), nullable=True))
    _add_checked(
        "exports",
        "asked_sha256",
        sa.String(length=64),
        "(client_key IS NULL) = (asked_sha256 IS NULL)",
    )
    op.add_column("exports", sa.Column("started_at", Instant(), nullable=True))
    op.add_column("exports", sa.Column("duration_seconds", sa.Float(), nullable=True))
    op.add_column("exports", sa.Column("columns", Json, nullable=True))
    op.add_column("exports", sa.Column("snapshot_at", Instant(), nullable=True))
    op.create_index(
        "ux_exports_client_key",
        "exports",
        ["workspace_id", "actor_id", "client_key"],
        unique=True,
    )
    op.create_index(
        "ix_exports_unfinished",
        "exports",
        ["workspace_id", "actor_id"],
        unique=False,
        postgresql_where=sa.text("purpose = 'interactive' AND state IN ('queued', 'running')"),
        sqlite_where=sa.text("purpose = 'interactive' AND state IN ('queued', 'running')"),
    )


def downgrade() -> None:
    op.drop_index("ix_exports_unfinished", table_name="exports")
    op.drop_index("ux_exports_client_key", table_name="exports")
    for column in ("snapshot_at", "columns", "duration_seconds", "started_at"):
        op.drop_column("exports", column)
    # The rule of the one names the other: it goes first.
    for column in ("asked_sha256", "client_key"):
        op.drop_column("exports", column)
    for column in ("statement_seconds", "export_seconds", "export_bytes"):
        op.drop_column("workspaces", column)


def _add_checked(table: str, column: str, kind: TypeEngine[Any], rule: str) -> None:
    """Add a column with its rule in one statement: SQLite adds no rule to a table that is there."""
    told = kind.compile(dialect=op.get_bind().dialect)
    op.execute(
        f"ALTER TABLE {table} ADD COLUMN {column} {told}"
        f" CONSTRAINT ck_{table}_{column} CHECK ({rule})"
    )
