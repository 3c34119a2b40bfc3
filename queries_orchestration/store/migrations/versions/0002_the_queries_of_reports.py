"""The queries of reports."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "report_queries",
        sa.Column("workspace_id", sa.String(length=26), nullable=False),
        sa.Column("report_id", sa.String(length=26), nullable=False),
        sa.Column("report_version", sa.Integer(), nullable=False),
        sa.Column("query_id", sa.String(length=26), nullable=False),
        sa.Column("query_version", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["workspace_id", "query_id", "query_version"],
            [
                "source_versions.workspace_id",
                "source_versions.source_id",
                "source_versions.version",
            ],
            name=op.f("fk_report_queries_workspace_id_query_id_query_version"),
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id", "report_id", "report_version"],
            [
                "source_versions.workspace_id",
                "source_versions.source_id",
                "source_versions.version",
            ],
            name=op.f("fk_report_queries_workspace_id_report_id_report_version"),
        ),
        sa.PrimaryKeyConstraint(
            "workspace_id",
            "report_id",
            "report_version",
            "query_id",
            name=op.f("pk_report_queries"),
        ),
    )
    op.create_index(
        "ix_report_queries_query",
        "report_queries",
        ["workspace_id", "query_id", "query_version"],
        unique=False,
    )


def downgrade() -> None:
    op.drop_index("ix_report_queries_query", table_name="report_queries")
    op.drop_table("report_queries")
