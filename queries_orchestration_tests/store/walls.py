"""What the tests of the wall between workspaces know of it."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from sqlalchemy import Connection
from sqlalchemy.exc import ProgrammingError

from queries_orchestration.store.database import Database
from queries_orchestration.store.tables import metadata
from queries_orchestration.store.wall import workspace_column
from queries_orchestration_tests.postgres import (
    ROLES,
    as_owner,
)

NOBODYS = {"counters", "dispatch_stops", "dispatcher_heartbeats"}
"""The tables that are over all workspaces."""
WALLED = [table for table in metadata.sorted_tables if table.name not in NOBODYS]
SERVICE, ACROSS = f"{ROLES}_service", f"{ROLES}_across"
REFUSED = "42501"
BINDING = sa.text("SELECT current_setting('queries.workspace', true)")


def owned(database: Database) -> Database:
    return Database(as_owner(database.url))


def run(database: Database, *statements: str) -> None:
    """Run statements as the owner of the tables, who is a superuser."""
    with owned(database).across.transaction() as connection:
        for statement in statements:
            connection.execute(sa.text(statement))


def of(connection: Connection, table: sa.Table) -> list[str]:
    """Whose rows a statement without a filter shows."""
    return sorted(connection.scalars(sa.select(table.c[str(workspace_column(table))])))


def code_of(error: pytest.ExceptionInfo[ProgrammingError]) -> str:
    return str(getattr(error.value.orig, "pgcode", None))
