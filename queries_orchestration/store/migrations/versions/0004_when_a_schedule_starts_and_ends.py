"""The first and the last date of a schedule, and the last day of a month."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "schedules",
        sa.Column("last_day", sa.Boolean(), server_default=sa.text("false"), nullable=False),
    )
    op.add_column("schedules", sa.Column("starts_on", sa.Date(), nullable=True))
    # In one statement with its rule: SQLite adds no rule to a table that is there.
    op.execute(
        "ALTER TABLE schedules ADD COLUMN ends_on DATE"
        " CONSTRAINT ck_schedules_ends_on CHECK (ends_on >= starts_on)"
    )


def downgrade() -> None:
    for column in ("ends_on", "starts_on", "last_day"):
        op.drop_column("schedules", column)
