"""A statement that may fail, and the snapshot goes on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError


@contextmanager
def attempt(connection: Connection) -> Iterator[None]:
    """Run within what may fail: the transaction then goes on as if it had not been asked.

    No savepoint is left behind: within one, PostgreSQL shares no snapshot. On SQLite a statement
    fails alone.

    Raises:
        DBAPIError: what was asked has failed.
    """
    if connection.engine.dialect.name != "postgresql":
        yield
        return
    connection.exec_driver_sql("SAVEPOINT attempt")
    try:
        yield
    except DBAPIError:
        if not connection.invalidated:
            connection.exec_driver_sql("ROLLBACK TO SAVEPOINT attempt")
            connection.exec_driver_sql("RELEASE SAVEPOINT attempt")
        raise
    connection.exec_driver_sql("RELEASE SAVEPOINT attempt")
