"""One writer of catalog rows at a time, for whoever reads, decides and writes."""

from __future__ import annotations

from sqlalchemy import Connection, text

from queries_orchestration.store.tables import (
    connections,
    datasets,
    people,
    schedule_recipients,
    schedules,
    source_versions,
    sources,
    workspaces,
)


def lock_catalog(connection: Connection) -> None:
    """Keep other writers from the catalog's rows until the transaction ends; readers go on.

    A SQLite transaction that writes is the only one anyway. On PostgreSQL, call this before
    the first read, so that what is read cannot change before it is written.
    """
    if connection.dialect.name == "sqlite":
        return
    tables = (
        workspaces,
        people,
        connections,
        datasets,
        sources,
        source_versions,
        schedules,
        schedule_recipients,
    )
    names = ", ".join(table.name for table in tables)
    connection.execute(text(f"LOCK TABLE {names} IN SHARE ROW EXCLUSIVE MODE"))
