"""A store with every row taken away, also those that its triggers keep."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy import Connection

from queries_orchestration.store.tables import audit_events, metadata


def empty_tables(connection: Connection) -> None:
    """Delete all rows of all tables; afterwards the triggers are as they were."""
    is_sqlite = connection.dialect.name == "sqlite"
    triggers: dict[str, str] = {}
    if is_sqlite:
        found = sa.text("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
        triggers = {row.name: row.sql for row in connection.execute(found)}
        for name in triggers:
            connection.exec_driver_sql(f"DROP TRIGGER {name}")
    else:
        connection.exec_driver_sql(f"ALTER TABLE {audit_events.name} DISABLE TRIGGER USER")
    for table in reversed(metadata.sorted_tables):
        connection.execute(sa.delete(table))
    for made_by in triggers.values():
        connection.exec_driver_sql(made_by)
    if not is_sqlite:
        connection.exec_driver_sql(f"ALTER TABLE {audit_events.name} ENABLE TRIGGER USER")
