"""One writer of catalog rows at a time, for whoever reads, decides and writes."""

from __future__ import annotations

from typing import Final

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

_BESIDE_OTHERS: Final = "ROW EXCLUSIVE"  # what every statement that writes takes by itself


def wait_for_files(connection: Connection) -> None:
    """Wait for ``lock_catalog`` of another transaction, and let it wait for this one.

    Call it before a schedule's row is locked: who holds the row alone would wait for the table,
    while whoever has locked the tables waits for the row.
    """
    if connection.dialect.name != "sqlite":
        connection.execute(text(f"LOCK TABLE {schedules.name} IN {_BESIDE_OTHERS} MODE"))


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
