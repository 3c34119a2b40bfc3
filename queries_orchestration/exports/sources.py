"""Reading a source's database: one snapshot, with a time limit, and errors that are ours.

Driver text may hold values of rows, so it stops here: errors are raised ``from None`` and name
an SQLSTATE or SQLite's error name only.
"""

from __future__ import annotations

import math
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import quote

import psycopg2
from psycopg2 import extensions
from sqlalchemy import Connection, Engine, Row, Select, create_engine, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from queries_orchestration.model.dialects import (
    SQLITE_AVERAGE,
    SQLITE_COMPARE,
    SQLITE_ONE_FORM,
    SQLITE_SUM,
)
from queries_orchestration.model.errors import (
    InvalidSettings,
    LimitExceeded,
    QueriesError,
    ReceiveTimeout,
    SourceBroken,
    SourceUnavailable,
)
from queries_orchestration.model.values import (
    ExactAverage,
    ExactSum,
    compare_stored,
    one_form,
)

APPLICATION_NAME: Final = "queries"
CONNECT_SECONDS: Final = 10
SQLITE_BUSY_SECONDS: Final = 30
_SQLITE_STEPS_BETWEEN_CHECKS: Final = 20_000
_WATCH: Final = "queries_watch"
_OWN_FUNCTIONS_FIRST: Final = """
SELECT pg_catalog.set_config(
    'search_path',
    pg_catalog.concat_ws(', ', 'pg_catalog', nullif(current_setting('search_path'), '')),
    true
)
"""

_WORDS: Final = {
    "42P01": "its relation does not exist",
    "3F000": "its schema does not exist",
    "42703": "a column of it does not exist",
    "42883": "a field's type does not allow what is asked of it",
    "22021": "it holds text that is not in its database's encoding",
    "22P05": "it holds text that has no place in Unicode",
}
_UNAVAILABLE_CLASSES: Final = ("08", "40", "53", "57", "58")
_UNAVAILABLE_STATES: Final = ("25P03", "25P04", "55P03")
_UNAVAILABLE_SQLITE: Final = (
    "SQLITE_BUSY",
    "SQLITE_CANTOPEN",
    "SQLITE_FULL",
    "SQLITE_IOERR",
    "SQLITE_LOCKED",
    "SQLITE_NOMEM",
    "SQLITE_PROTOCOL",
)


def engine_of(url: str) -> Engine:
    """Make the engine that reads a source; it keeps no connection and connects only when asked.

    Args:
        url: an SQLAlchemy URL of PostgreSQL (``postgresql+psycopg2://…``) or of an SQLite file,
            which is opened for reading only.

    Raises:
        InvalidSettings: the URL cannot be read, or is of another kind of database.
    """
    wanted = "Write it as postgresql+psycopg2://user:password@host/database or sqlite:///file."
    try:
        parsed = make_url(url)
        backend = parsed.get_backend_name()
    except (ArgumentError, NoSuchModuleError, ValueError):
        raise InvalidSettings(f"The URL of the connection cannot be read. {wanted}") from None
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
            "connect_timeout": CONNECT_SECONDS,
            "client_encoding": "utf8",  # as the bytes of COPY go into files
            # A server that vanished is noticed in a minute, not in the system's two hours.
            "keepalives_idle": 30,
            "keepalives_interval": 10,
            "keepalives_count": 3,
        }
    else:
        raise InvalidSettings(f"The URL of the connection names no source we can read. {wanted}")
    return create_engine(parsed, poolclass=NullPool, hide_parameters=True, connect_args=arguments)


class _Watch:
    """Watches the time of the reading, and of the statement that runs."""

    def __init__(
        self,
        timeout_seconds: float,
        statement_seconds: float | None,
        monotonic: Callable[[], float],
    ) -> None:
        self.statement_seconds = statement_seconds
        self._monotonic = monotonic
        self._deadline = monotonic() + timeout_seconds
        self.begin_statement()

    def begin_statement(self) -> None:
        self._began = self._monotonic()

    def is_over(self) -> bool:
        """Tell whether no time is left for the reading."""
        return self._monotonic() >= self._deadline

    def is_too_long(self) -> bool:
        """Tell whether the statement has run for as long as one may."""
        limit = self.statement_seconds
        return limit is not None and self._monotonic() - self._began >= limit


@contextmanager
def read_snapshot(
    engine: Engine,
    timeout_seconds: float,
    *,
    statement_seconds: float | None = None,
    monotonic: Callable[[], float] = time.monotonic,
) -> Iterator[Connection]:
    """Open a connection on which every statement sees the source as of one moment, read-only.

    Args:
        engine: of :func:`engine_of`.
        timeout_seconds: how long a statement may run; on SQLite, all of them together.
        statement_seconds: how long one statement may run by a limit of the workspace.
        monotonic: the clock of the time limits, in seconds.

    Raises:
        ReceiveTimeout: no time is left.
        SourceUnavailable: the source cannot be reached.
        SourceBroken: the source is no database.
    """
    if timeout_seconds <= 0:
        raise ReceiveTimeout("No time is left to read the source.")
    watch = _Watch(timeout_seconds, statement_seconds, monotonic)
    try:
        connection = engine.connect()
    except DBAPIError as error:
        raise _ours(error, "The source", watch) from None
    with connection:
        connection.execution_options(**{_WATCH: watch})
        with running(connection, "The source"):
            if engine.dialect.name == "postgresql":
                _begin_postgresql(connection, min(timeout_seconds, statement_seconds or math.inf))
            else:
                _begin_sqlite(connection, watch)
        yield connection


@contextmanager
def running(connection: Connection, what: str) -> Iterator[None]:
    """Run one statement within: its time is counted, and the driver's error becomes ours.

    Args:
        connection: of :func:`read_snapshot`.
        what: what is read, for messages.

    Raises:
        As :func:`fetch`.
    """
    watch: _Watch = connection.get_execution_options()[_WATCH]
    watch.begin_statement()
    try:
        yield
    except (DBAPIError, psycopg2.Error, sqlite3.Error) as error:
        _give_up_if_ended(connection)
        raise _ours(error, what, watch) from None
    except UnicodeError:
        raise SourceBroken(f"{what} holds text that is not in its database's encoding.") from None


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
    """Cancel what runs on the connection, from any thread and at any time.

    Returns:
        Whether the driver was told; ``False`` when the connection is closed, or its server
        cannot be reached, and then the statement ends by its own time limit.
    """
    try:
        if connection.closed or connection.invalidated:
            return False
        driver = connection.connection.driver_connection
        if isinstance(driver, sqlite3.Connection):
            driver.interrupt()
        elif driver is not None:
            driver.cancel()
    except (SQLAlchemyError, psycopg2.Error, sqlite3.Error):
        return False
    return driver is not None


def _begin_postgresql(connection: Connection, timeout_seconds: float) -> None:
    connection.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)
    driver = connection.connection.driver_connection
    for reader in _LENIENT_READERS:
        extensions.register_type(reader, driver)
    # Local to the transaction: a cursor value is the database's text, and must mean the same
    # value when it comes back, whatever the role's own settings are.
    settings = {
        "statement_timeout": str(max(1, math.ceil(timeout_seconds * 1000))),
        "TimeZone": "UTC",
        "DateStyle": "ISO, YMD",
        "IntervalStyle": "postgres",
        "extra_float_digits": "1",
        "bytea_output": "hex",
    }
    for name, setting in settings.items():
        connection.execute(
            text("SELECT set_config(:name, :setting, true)"), {"name": name, "setting": setting}
        )
    # Functions and operators mean PostgreSQL's own, also where the role's path has others before.
    connection.execute(text(_OWN_FUNCTIONS_FIRST))


def _begin_sqlite(connection: Connection, watch: _Watch) -> None:
    driver = connection.connection.driver_connection
    if not isinstance(driver, sqlite3.Connection):
        raise TypeError("SQLite is read with the driver of the standard library")
    driver.create_function(SQLITE_COMPARE, 3, compare_stored, deterministic=True)
    driver.create_function(SQLITE_ONE_FORM, 2, one_form, deterministic=True)
    # The stubs know aggregates of integers only.
    driver.create_aggregate(SQLITE_SUM, 1, ExactSum)  # type: ignore[arg-type]
    driver.create_aggregate(SQLITE_AVERAGE, 1, ExactAverage)  # type: ignore[arg-type]
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


def _ours(error: Exception, what: str, watch: _Watch) -> QueriesError:
    raised = error.orig if isinstance(error, DBAPIError) else error
    if isinstance(raised, sqlite3.Error):
        return _from_sqlite(raised, what, watch)
    state: str | None = getattr(raised, "pgcode", None)
    if state == "57014":
        return _interrupted(what, watch)
    if state is None or state[:2] in _UNAVAILABLE_CLASSES or state in _UNAVAILABLE_STATES:
        return _unavailable(what, state or type(raised).__name__)
    if state == "42501":
        return SourceBroken(
            f"{what} cannot be read: the connection's database user may not (SQLSTATE 42501)."
            " Grant it SELECT.",
            code="source_permission_denied",
        )
    words = _WORDS.get(state, "a value in it cannot be computed" if state[:2] == "22" else "")
    return _broken(what, f"SQLSTATE {state}", words)


def _from_sqlite(error: sqlite3.Error, what: str, watch: _Watch) -> QueriesError:
    # Errors that the driver raises by itself, such as a closed connection, have no name.
    name: str = getattr(error, "sqlite_errorname", type(error).__name__)
    if name == "SQLITE_INTERRUPT":
        return _interrupted(what, watch)
    if name.startswith(_UNAVAILABLE_SQLITE):
        return _unavailable(what, name)
    missing = str(error).startswith("no such")
    return _broken(what, name, "its relation or a column of it does not exist" if missing else "")


def _interrupted(what: str, watch: _Watch) -> QueriesError:
    if watch.is_too_long():
        return LimitExceeded(
            f"{what} was not read within the {watch.statement_seconds:g} seconds that a statement"
            " may run in this workspace. Ask for less, let the database find it by an index, or"
            " raise `statement_seconds` of the workspace in the catalog.",
            code="statement_timeout",
        )
    if watch.is_over():
        return ReceiveTimeout(f"{what} could not be read in the time that was left.")
    return SourceUnavailable(
        f"{what} could not be read: the statement was cancelled.", code="source_interrupted"
    )


def _unavailable(what: str, state: str) -> SourceUnavailable:
    return SourceUnavailable(
        f"{what} cannot be reached or is busy ({state}). Check the connection and its database."
    )


def _broken(what: str, state: str, words: str) -> SourceBroken:
    because = f": {words} ({state})" if words else f" ({state})"
    return SourceBroken(f"{what} cannot be read as it is defined{because}. Correct the dataset.")
