"""What has happened since the beginning, counted; and the passes of each dispatcher that failed.

Only additions: the version before writes neither, and counts nothing.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from queries_orchestration.store.types import Instant

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "counters",
        sa.Column("name", sa.String(length=32), nullable=False),
        sa.Column("label", sa.String(length=16), nullable=False),
        sa.Column("code", sa.String(length=64), nullable=False),
        sa.Column("value", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("value > 0", name=op.f("ck_counters_value")),
        sa.PrimaryKeyConstraint("name", "label", "code", name=op.f("pk_counters")),
    )
    op.add_column(
        "dispatcher_heartbeats",
        sa.Column("errors", sa.Integer(), server_default=sa.text("0"), nullable=False),
    )
    op.add_column("dispatcher_heartbeats", sa.Column("failed_at", Instant(), nullable=True))
    op.add_column(
        "dispatcher_heartbeats", sa.Column("failure_code", sa.String(length=64), nullable=True)
    )


def downgrade() -> None:
    for column in ("failure_code", "failed_at", "errors"):
        op.drop_column("dispatcher_heartbeats", column)
    op.drop_table("counters")
