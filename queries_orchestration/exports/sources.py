"""Reading a source's database: one snapshot, with a time limit, and errors that are ours.

Driver text may hold values of rows, so it stops here: errors are raised ``from None``, in the
words of :mod:`queries_orchestration.exports.source_errors`.
"""

from __future__ import annotations

import math
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Final
from urllib.parse import quote

import psycopg2
from psycopg2 import extensions
from sqlalchemy import URL, Connection, Engine, Row, Select, create_engine, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from queries_orchestration.exports.attempt import attempt
from queries_orchestration.exports.connect_errors import connect_error
from queries_orchestration.exports.source_errors import in_our_words
from queries_orchestration.exports.source_line import Line, holding
from queries_orchestration.exports.source_watch import Watch
from queries_orchestration.exports.sqlite_functions import register_functions
from queries_orchestration.model.errors import (
    InvalidSettings,
    ReceiveTimeout,
    SourceBroken,
)

APPLICATION_NAME: Final = "queries"
CONNECT_SECONDS: Final = 10
JOIN_SECONDS: Final = 2
"""How long a second connection may take, each, to connect, to begin and to get its locks."""
CLOSE_SECONDS: Final = 5
"""How long a server may take to end a transaction: it may have fallen silent."""
SQLITE_BUSY_SECONDS: Final = 30
_SQLITE_STEPS_BETWEEN_CHECKS: Final = 20_000
_SECONDS_BETWEEN_LOOKS: Final = 0.05
_LOOKS_FOR_CLIENTS: Final = 14_00_00
_KNOWS_TRANSACTION_TIMEOUT: Final = 17_00_00
_WATCH: Final = "queries_watch"
_OWN_FUNCTIONS_FIRST: Final = """
SELECT pg_catalog.set_config(
    'search_path',
    pg_catalog.concat_ws(', ', 'pg_catalog', nullif(current_setting('search_path'), '')),
    true
)
"""


def engine_of(
    url: str | URL, *, connect_seconds: int = CONNECT_SECONDS, what: str = "The source"
) -> Engine:
    """Make the engine that reads a source; it keeps no connection and connects only when asked.

    Args:
        url: an SQLAlchemy URL of PostgreSQL (``postgresql+psycopg2://…``) or of an SQLite file,
            which is opened for reading only.
        connect_seconds: how long PostgreSQL may take to answer.
        what: how messages name the connection.

    Raises:
        InvalidSettings: the URL cannot be read, or is of another kind of database.
    """
    wanted = "Write it as postgresql+psycopg2://user:password@host/database or sqlite:///file."
    try:
        parsed = make_url(url)
        backend = parsed.get_backend_name()
    except (ArgumentError, NoSuchModuleError, ValueError):
        raise InvalidSettings(f"{what} has no URL that can be read. {wanted}") from None
    if backend == "sqlite" and parsed.database:
        parsed = parsed.set(
            drivername="sqlite",
            database=f"file:{quote(parsed.database)}",
            query={"mode": "ro", "uri": "true"},
        )
        arguments: dict[str, Any] = {"timeout": SQLITE_BUSY_SECONDS, "check_same_thread": False}
    elif backend == "postgresql":
        parsed = parsed.set(drivername="postgresql+psycopg2")
        arguments = {
            "application_name": APPLICATION_NAME,
            "connect_timeout": connect_seconds,
            "client_encoding": "utf8",  # as the bytes of COPY go into files
            # A server that vanished is noticed in a minute, not in the system's two hours.
            "keepalives_idle": 30,
            "keepalives_interval": 10,
            "keepalives_count": 3,
        }
    else:
        raise InvalidSettings(f"{what} is none that we can read. {wanted}")
    return create_engine(parsed, poolclass=NullPool, hide_parameters=True, connect_args=arguments)


@contextmanager
def read_snapshot(
    engine: Engine,
    timeout_seconds: float,
    *,
    statement_seconds: float | None = None,
    monotonic: Callable[[], float] = time.monotonic,
    snapshot_id: str | None = None,
    what: str = "The source",
    opening_seconds: float = math.inf,
) -> Iterator[Connection]:
    """Open a connection on which every statement sees the source as of one moment, read-only.

    Args:
        engine: of :func:`engine_of`.
        timeout_seconds: how long a statement may run; on SQLite, all of them together.
        statement_seconds: how long one statement may run by a limit of the workspace.
        monotonic: the clock of the time limits, in seconds.
        snapshot_id: of a snapshot that another connection to PostgreSQL has exported; None: now.
        what: how messages name the connection.
        opening_seconds: how long PostgreSQL may take to begin, once it is connected.

    Raises:
        ReceiveTimeout: no time is left.
        SourceUnavailable: the source cannot be reached.
        SourceBroken: the source is no database.
    """
    if timeout_seconds <= 0:
        raise ReceiveTimeout("No time is left to read the source.")
    watch = Watch(timeout_seconds, statement_seconds, monotonic)

    def hold(line: Line) -> None:
        watch.line = line
        line.cut_after(min(timeout_seconds, opening_seconds))

    try:
        with holding(engine, hold):
            connection = engine.connect()
    except DBAPIError as error:
        if watch.line:
            watch.line.close()
        if watch.is_over():
            raise in_our_words(error, what, watch) from None
        raise connect_error(error, what, engine.url) from None
    try:
        connection.execution_options(**{_WATCH: watch})
        with running(connection, what):
            if engine.dialect.name == "postgresql":
                seconds = min(timeout_seconds, statement_seconds or math.inf)
                _begin_postgresql(connection, seconds, snapshot_id)
            else:
                _begin_sqlite(connection, watch)
        if watch.line:
            watch.line.keep()
        yield connection
    finally:
        _close(connection, watch.line)


def _close(connection: Connection, line: Line | None) -> None:
    """Close the connection, also one that has broken: nothing was changed that could be lost.

    Rows that it still owed are missed where they are fetched.
    """
    if line:
        line.cut_after(CLOSE_SECONDS)
    try:
        connection.rollback()
    except (DBAPIError, psycopg2.Error, sqlite3.Error):
        connection.invalidate()
    finally:
        connection.close()
        if line:
            line.close()


@contextmanager
def counting_waits(
    connection: Connection, what: str
) -> Iterator[Callable[[], AbstractContextManager[None]]]:
    """Let the statements within send rows while others are stored; PostgreSQL only.

    PostgreSQL's own clock runs while it waits for us to take rows. Here the time of a statement is
    that in which we wait for the database: what is done within the yielded function does not count.

    Raises:
        As :func:`fetch`.
    """
    watch = watch_of(connection)
    if watch.statement_seconds is None:
        yield watch.paused
        return
    with running(connection, what):
        _set(connection, "statement_timeout", _milliseconds(watch.left()))
    ended = threading.Event()

    def end_when_too_long() -> None:
        while not ended.wait(max(_SECONDS_BETWEEN_LOOKS, watch.left_of_statement() or 0)):
            if watch.is_too_long():
                _end(connection)
                return

    looking = threading.Thread(target=end_when_too_long, name="statement-watch", daemon=True)
    looking.start()
    try:
        yield watch.paused
    finally:
        ended.set()
        looking.join()


@contextmanager
def running(connection: Connection, what: str) -> Iterator[None]:
    """Run one statement within: its time is counted, and the driver's error becomes ours.

    Args:
        connection: of :func:`read_snapshot`.
        what: what is read, for messages.

    Raises:
        As :func:`fetch`.
    """
    watch = watch_of(connection)
    watch.begin_statement()
    try:
        yield
    except (DBAPIError, psycopg2.Error, sqlite3.Error) as error:
        _give_up_if_ended(connection)
        raise in_our_words(error, what, watch) from None
    except UnicodeError:
        raise SourceBroken(f"{what} holds text that is not in its database's encoding.") from None
    finally:
        watch.end_statement()


def watch_of(connection: Connection) -> Watch:
    """Return what watches the time of a connection of :func:`read_snapshot`."""
    watch: Watch = connection.get_execution_options()[_WATCH]
    return watch


def fetch(connection: Connection, statement: Select[Any], *, dataset: str) -> Sequence[Row[Any]]:
    """Run a statement on a connection of :func:`read_snapshot` and return all its rows.

    Args:
        connection: the snapshot.
        statement: a page of a compiled query.
        dataset: its name, for messages.

    Raises:
        ReceiveTimeout: the time limit was reached.
        LimitExceeded: the statement ran for longer than the workspace allows
            (``statement_timeout``).
        SourceUnavailable: the database went away, was busy, or the statement was interrupted.
        SourceBroken: the statement cannot be run as the dataset is defined.
    """
    with running(connection, f"The dataset {dataset}"):
        return connection.execute(statement).all()


def interrupt(connection: Connection) -> bool:
    """End what runs on the connection and on those beside it, from any thread, at any time.

    Nothing more can be read on them. Nobody is waited for: the server may have fallen silent.

    Returns:
        Whether there was something to end; ``False`` when the connection is closed.
    """
    ended = _end(connection)
    for beside in tuple(watch_of(connection).beside):
        _end(beside)
    return ended


def _end(connection: Connection) -> bool:
    """End what runs on the connection, and on no other."""
    watch = watch_of(connection)
    watch.is_interrupted = True
    if watch.line is not None:
        return watch.line.cut()
    try:
        driver = None if connection.closed else connection.connection.driver_connection
        if isinstance(driver, sqlite3.Connection):
            driver.interrupt()
    except (SQLAlchemyError, sqlite3.Error):
        return False
    return driver is not None


def _begin_postgresql(
    connection: Connection, timeout_seconds: float, snapshot_id: str | None
) -> None:
    connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
    if snapshot_id is not None:
        # Before anything is asked, and no value can be bound to it.
        connection.exec_driver_sql(f"SET TRANSACTION SNAPSHOT '{snapshot_id}'")
    driver: Any = connection.connection.driver_connection
    for reader in _LENIENT_READERS:
        extensions.register_type(reader, driver)
    # Local to the transaction: a cursor value is the database's text, and must mean the same
    # value when it comes back, whatever the role's own settings are.
    settings = {
        "statement_timeout": _milliseconds(timeout_seconds),
        # Who joins must not queue for a lock behind somebody who waits for the first to end.
        "lock_timeout": "0" if snapshot_id is None else _milliseconds(JOIN_SECONDS),
        # A role may have limits of its own, for transactions that somebody forgot. This one waits
        # for a storage as long as its work may take.
        "idle_in_transaction_session_timeout": "0",
        "TimeZone": "UTC",
        "DateStyle": "ISO, YMD",
        "IntervalStyle": "postgres",
        "extra_float_digits": "1",
        "bytea_output": "hex",
    }
    if driver.server_version >= _KNOWS_TRANSACTION_TIMEOUT:
        settings["transaction_timeout"] = "0"
    for name, setting in settings.items():
        _set(connection, name, setting)
    if driver.server_version >= _LOOKS_FOR_CLIENTS:
        # A statement ends whose worker has cut the line or was killed, not only by its time-out.
        # Servers on Windows cannot.
        try:
            with attempt(connection):
                _set(connection, "client_connection_check_interval", "1s")
        except DBAPIError:
            if connection.invalidated:
                raise
    # Functions and operators mean PostgreSQL's own, also where the role's path has others before.
    connection.execute(text(_OWN_FUNCTIONS_FIRST))


def _set(connection: Connection, name: str, setting: str) -> None:
    """Set a setting for this transaction."""
    connection.execute(
        text("SELECT set_config(:name, :setting, true)"), {"name": name, "setting": setting}
    )


def _milliseconds(seconds: float) -> str:
    return str(max(1, math.ceil(seconds * 1000)))


def _begin_sqlite(connection: Connection, watch: Watch) -> None:
    driver = connection.connection.driver_connection
    if not isinstance(driver, sqlite3.Connection):
        raise TypeError("SQLite is read with the driver of the standard library")
    register_functions(driver)
    driver.set_progress_handler(
        lambda: int(watch.is_over() or watch.is_too_long()), _SQLITE_STEPS_BETWEEN_CHECKS
    )
    connection.exec_driver_sql("BEGIN")
    # The snapshot is taken by the first read, not by BEGIN.
    connection.exec_driver_sql("SELECT count(*) FROM sqlite_schema").all()


def _lenient(name: str, oid: int, read: Any) -> Any:
    """Read a date or time as the driver does, but leave what Python cannot hold as text.

    The driver gives the last day of Python for ``infinity``, which would be a wrong value in the
    file. As text it is refused where cells are converted, with the column's name.
    """

    def lenient(raw: Any, cursor: Any) -> object:
        if raw is None or raw.endswith("infinity"):
            return raw
        try:
            return read(raw, cursor)
        except (ValueError, OverflowError, psycopg2.Error):
            return raw

    return extensions.new_type((oid,), name, lenient)


_LENIENT_READERS: Final = (
    _lenient("LENIENT_DATE", 1082, extensions.PYDATE),
    _lenient("LENIENT_TIME", 1083, extensions.PYTIME),
    _lenient("LENIENT_TIMESTAMP", 1114, extensions.PYDATETIME),
    _lenient("LENIENT_TIMESTAMPTZ", 1184, extensions.PYDATETIMETZ),
    _lenient("LENIENT_TIMETZ", 1266, extensions.PYTIME),
)


def _give_up_if_ended(connection: Connection) -> None:
    """Expect nothing more of a connection that the server has ended, not even a rollback."""
    if connection.invalidated:
        return
    driver = connection.connection.driver_connection
    if isinstance(driver, extensions.connection) and driver.closed:
        connection.invalidate()
