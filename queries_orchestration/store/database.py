"""The connection to the application database: transactions, its clock, its errors."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.pool import NullPool

from queries_orchestration.model.errors import InvalidSettings, StoreUnavailable

SQLITE_BUSY_SECONDS: Final = 30
_READ_ONLY: Final = "queries_read_only"


class Database:
    """One application database, SQLite or PostgreSQL.

    Connections are not kept: a process asks seldom, and none may outlive a killed worker.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self._engine = _create_engine(url)

    @property
    def is_sqlite(self) -> bool:
        """Whether the embedded default is in use."""
        return self._engine.dialect.name == "sqlite"

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Open one transaction that writes; it commits at the end, or not at all.

        Raises:
            StoreUnavailable: the database cannot be reached, is locked or full.
        """
        with _our_errors(), self._engine.begin() as connection:
            yield connection

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Open one transaction that only reads and holds no write lock."""
        with _our_errors(), self._engine.connect() as connection:
            connection = connection.execution_options(**{_READ_ONLY: True})
            with connection.begin():
                yield connection

    @contextmanager
    def session(self) -> Iterator[Connection]:
        """Open a connection outside any transaction, for locks that a session holds."""
        with _our_errors(), self._engine.connect() as connection:
            yield connection.execution_options(isolation_level="AUTOCOMMIT")


def now(connection: Connection) -> datetime:
    """Return the database's own present instant: the lease clock."""
    if connection.dialect.name == "sqlite":
        milliseconds = connection.scalar(text("SELECT strftime('%Y-%m-%d %H:%M:%f', 'now')"))
        return datetime.strptime(str(milliseconds), "%Y-%m-%d %H:%M:%S.%f").replace(tzinfo=UTC)
    instant = connection.scalar(text("SELECT clock_timestamp()"))
    if not isinstance(instant, datetime):
        raise StoreUnavailable("The database did not tell its time.")
    return instant.astimezone(UTC)


def _create_engine(url: str) -> Engine:
    parsed = make_url(url)
    if parsed.get_backend_name() != "sqlite":
        return create_engine(
            parsed,
            poolclass=NullPool,
            hide_parameters=True,
            connect_args={
                "application_name": "queries",
                "connect_timeout": 10,
                "options": "-c timezone=UTC",
            },
        )
    if parsed.database is None:
        raise InvalidSettings("QUERIES_DATABASE_URL must name a file, as sqlite:///queries.db.")
    Path(parsed.database).parent.mkdir(parents=True, exist_ok=True)
    engine = create_engine(
        parsed,
        poolclass=NullPool,
        hide_parameters=True,
        connect_args={"timeout": SQLITE_BUSY_SECONDS},
    )
    event.listen(engine, "connect", _set_up_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _set_up_sqlite(connection: sqlite3.Connection, _record: Any) -> None:
    # The driver must not open transactions by itself: `_begin_sqlite` does.
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    # IMMEDIATE takes the write lock at once: a transaction that reads, then writes, cannot
    # fail half way because another one wrote in between.
    read_only = connection.get_execution_options().get(_READ_ONLY, False)
    connection.exec_driver_sql("BEGIN" if read_only else "BEGIN IMMEDIATE")


@contextmanager
def _our_errors() -> Iterator[None]:
    try:
        yield
    except (OperationalError, InterfaceError) as error:
        raise StoreUnavailable(
            "The application database cannot be reached or is busy"
            f" ({_state_of(error)}). Check QUERIES_DATABASE_URL, the disk and `queries init`."
        ) from None  # driver text can hold names and values


def _state_of(error: DBAPIError) -> str:
    state = getattr(error.orig, "pgcode", None) or getattr(error.orig, "sqlite_errorname", None)
    return str(state or type(error.orig).__name__)
