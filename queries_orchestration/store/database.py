"""The connection to the application database: transactions, its clock, its errors."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final

from sqlalchemy import (
    URL,
    Connection,
    Engine,
    ExceptionContext,
    create_engine,
    event,
    func,
    make_url,
    select,
    text,
)
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    DisconnectionError,
)
from sqlalchemy.pool import NullPool

from queries_orchestration.model.errors import InvalidSettings, StoreUnavailable
from queries_orchestration.store import counters
from queries_orchestration.store.driver_errors import OUR_FAULTS, our_errors
from queries_orchestration.store.prepared import bound, prepare_statements
from queries_orchestration.store.roles import WORKSPACE_VARIABLE, roles_of

SQLITE_BUSY_SECONDS: Final = 30
IDLE_SECONDS: Final = 1.0
PATIENCE_SECONDS: Final = 20
"""How long one statement of a server that people wait for may take, locks included."""
MOST_CONNECTIONS: Final = 30
"""How many a server may open beside those that it keeps; who needs one more waits so long."""
LOCK_SECONDS: Final = 10
"""How long who changes a table waits for those who use it: whoever comes then waits as long."""
RECYCLE_SECONDS: Final = 300
"""How old a kept connection grows: with it end the plans and the defaults that it began with."""
# A host that is silent, as after a failover, is given up within half a minute.
_SILENCE: Final = {
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,  # milliseconds
}
_ENTER: Final = f"SELECT set_config('{WORKSPACE_VARIABLE}', %(id)s, true)"
_IDLE_SINCE: Final = "queries_idle_since"
_READ_ONLY: Final = "queries_read_only"


class Across:
    """The database over all workspaces, as those steps need it that are nobody's: dispatch,
    recovery, what is looked up before it is known whose it is.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Open one transaction that writes; it commits at the end, or not at all.

        Raises:
            StoreUnavailable: the database cannot be reached, is locked or full.
        """
        with our_errors(), self._engine.begin() as connection:
            counters.begin(connection)
            yield connection
            counters.write(connection)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Open one transaction that only reads and holds no write lock."""
        with our_errors(), self._engine.connect() as connection:
            connection = connection.execution_options(**{_READ_ONLY: True})
            with connection.begin():
                yield connection

    @contextmanager
    def not_begun(self) -> Iterator[Connection]:
        """Open a connection whose transactions the caller begins and ends."""
        with our_errors(), self._engine.connect() as connection:
            yield connection


class Database:
    """One application database, SQLite or PostgreSQL.

    Whatever is read or written is of one workspace, which PostgreSQL sees to as well where the
    address names ``roles``: of another it shows and takes no row. What is over all workspaces is
    asked of :attr:`across`.

    Connections are not kept where a process asks seldom. Who asks often, a web server between
    requests or a run between its steps, has PostgreSQL's kept, ``kept_connections`` of each kind:
    to make one costs more than most of what is asked.
    """

    def __init__(
        self, url: str, *, kept_connections: int = 0, patience: int | None = PATIENCE_SECONDS
    ) -> None:
        """Name a database; nothing is opened yet.

        Args:
            patience: seconds that a statement of a kept connection may take; None: any.
        """
        self.url = url
        parsed, roles = roles_of(_parsed(url))
        self._is_walled = roles is not None
        self._is_kept = kept_connections > 0 and parsed.get_backend_name() != "sqlite"
        service = roles.service if roles else None
        create = partial(_create_engine, parsed, kept_connections, patience)
        self._engine = create(role=service)
        # Of connections of their own: to turn one's transactions off and on asks the server twice.
        self._sessions = create(role=service, isolation_level="AUTOCOMMIT")
        across = create(role=roles.across) if roles else self._engine
        self.across = Across(across)
        self._engines = (self._engine, self._sessions, across)

    def close(self) -> None:
        """Give up the connections that are kept."""
        for engine in self._engines:
            engine.dispose()

    @property
    def is_sqlite(self) -> bool:
        """Whether the embedded default is in use."""
        return self._engine.dialect.name == "sqlite"

    @contextmanager
    def transaction(self, workspace_id: str) -> Iterator[Connection]:
        """Open one transaction that writes in a workspace; it commits at the end, or not at all.

        Raises:
            StoreUnavailable: the database cannot be reached, is locked or full.
        """
        with our_errors(), self._engine.begin() as connection:
            self._enter(connection, workspace_id)
            counters.begin(connection)
            yield connection
            counters.write(connection)

    @contextmanager
    def read(self, workspace_id: str) -> Iterator[Connection]:
        """Open one transaction that only reads in a workspace and holds no write lock."""
        with our_errors(), self._engine.connect() as connection:
            connection = connection.execution_options(**{_READ_ONLY: True})
            with connection.begin():
                self._enter(connection, workspace_id)
                yield connection

    @contextmanager
    def glance(self, workspace_id: str) -> Iterator[Connection]:
        """Open a connection to read by one statement, which is a transaction of its own.

        Where PostgreSQL's connections are kept, it asks the server once: :meth:`read` does so
        three times or four.
        """
        with self._one_by_one(workspace_id) if self._is_kept else self.read(workspace_id) as opened:
            yield opened

    @contextmanager
    def one_statement(self, workspace_id: str) -> Iterator[Connection]:
        """Open a connection to write by one statement, as :meth:`glance` reads by one."""
        with (
            self._one_by_one(workspace_id) if self._is_kept else self.transaction(workspace_id)
        ) as opened:
            yield opened

    @contextmanager
    def session(self) -> Iterator[Connection]:
        """Open a connection outside any transaction, for locks that a session holds.

        It is never kept: the locks end with it.
        """
        with our_errors(), self._sessions.connect() as connection:
            connection.detach()
            yield connection

    @contextmanager
    def _one_by_one(self, workspace_id: str) -> Iterator[Connection]:
        with our_errors(), self._sessions.connect() as connection:
            yield bound(connection, workspace_id) if self._is_walled else connection

    def _enter(self, connection: Connection, workspace_id: str) -> None:
        """Say whose rows the transaction is about; it ends with the transaction."""
        if self._is_walled:
            connection.exec_driver_sql(_ENTER, {"id": workspace_id})  # compiled it takes longer


@contextmanager
def attempt(connection: Connection) -> Iterator[None]:
    """Open a savepoint: what fails within leaves nothing, and the transaction can go on.

    Raises:
        StoreUnavailable: the database cannot be reached, is locked or full; it cannot go on.
    """
    before = counters.counted(connection)
    try:
        with our_errors(), connection.begin_nested():
            yield
    except Exception:
        counters.go_back(connection, before)
        raise


def now(connection: Connection) -> datetime:
    """Return the database's own present instant: the lease clock."""
    if connection.dialect.name == "sqlite":
        milliseconds = connection.scalar(text("SELECT strftime('%Y-%m-%d %H:%M:%f', 'now')"))
        return datetime.strptime(str(milliseconds), "%Y-%m-%d %H:%M:%S.%f").replace(tzinfo=UTC)
    instant = connection.scalar(text("SELECT clock_timestamp()"))
    if not isinstance(instant, datetime):
        raise StoreUnavailable("The database did not tell its time.")
    return instant.astimezone(UTC)


def is_there(url: str) -> bool:
    """Tell whether there is a database to open; a file of SQLite that is not would be made.

    Raises:
        InvalidSettings: it cannot be read as a URL.
    """
    parsed = _parsed(url)
    return parsed.get_backend_name() != "sqlite" or Path(parsed.database or "").is_file()


def limit_statements(connection: Connection, seconds: int) -> None:
    """Let each statement of the transaction take so long at most; SQLite's can take any time."""
    if connection.dialect.name != "sqlite":
        connection.execute(select(func.set_config("statement_timeout", f"{seconds}s", True)))


def limit_waits(connection: Connection, seconds: float, *, whole_session: bool = False) -> None:
    """Let each statement of the transaction wait so long for what others hold; 0: any time.

    Who asks for a table alone waits for whoever reads it, a backup too, and all others behind it.

    Args:
        whole_session: of the whole connection, until it is told another time.
    """
    if connection.dialect.name != "sqlite":
        is_local = not whole_session
        connection.execute(select(func.set_config("lock_timeout", f"{seconds}s", is_local)))


def take_turn(connection: Connection, lock: int) -> None:
    """Hold ``lock`` until the transaction ends; wait while another transaction holds it.

    SQLite's transactions that write take turns anyway.
    """
    if connection.dialect.name != "sqlite":
        connection.execute(select(func.pg_advisory_xact_lock(lock)))


def _parsed(url: str) -> URL:
    try:
        return make_url(url)
    except (ArgumentError, ValueError):
        raise InvalidSettings("QUERIES_DATABASE_URL cannot be read as a URL.") from None


def _create_engine(
    parsed: URL, kept_connections: int, patience: int | None, *, role: str | None, **options: Any
) -> Engine:
    if parsed.get_backend_name() != "sqlite":
        asked = parsed.query.get("options", ())  # of the URL, as a search_path: ours come after
        settings = [asked] if isinstance(asked, str) else [*asked]
        settings.append("-c timezone=UTC")
        if kept_connections and patience:
            settings.append(f"-c statement_timeout={patience}s")
        if role:
            settings.append(f"-c role={role}")
        engine = create_engine(
            parsed,
            **_pool(kept_connections),
            **options,
            hide_parameters=True,
            connect_args={
                "application_name": "queries",
                "connect_timeout": 10,
                "options": " ".join(settings),
                **_SILENCE,
            },
        )
        if kept_connections:
            event.listen(engine, "handle_error", _give_up_connection)
            _look_at_idle_connections(engine)
            prepare_statements(engine)
        return engine
    if not parsed.database or parsed.database == ":memory:":
        raise InvalidSettings("QUERIES_DATABASE_URL must name a file, as sqlite:///queries.db.")
    try:
        Path(parsed.database).parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidSettings(
            f"The folder that QUERIES_DATABASE_URL names cannot be made: {error.strerror}."
        ) from error
    engine = create_engine(
        parsed,
        poolclass=NullPool,
        **options,
        hide_parameters=True,
        connect_args={"timeout": SQLITE_BUSY_SECONDS},
    )
    event.listen(engine, "connect", _set_up_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _pool(kept_connections: int) -> dict[str, Any]:
    if not kept_connections:
        return {"poolclass": NullPool}
    return {
        "pool_size": kept_connections,
        "max_overflow": MOST_CONNECTIONS,
        "pool_timeout": PATIENCE_SECONDS,
        "pool_recycle": RECYCLE_SECONDS,
    }


def _give_up_connection(context: ExceptionContext) -> None:
    """Keep no connection that has failed otherwise than by what was asked of it.

    What its server, or its session, has come to (read only, out of memory) would stay with it.
    """
    error = context.sqlalchemy_exception
    if isinstance(error, DBAPIError) and not isinstance(error, OUR_FAULTS):
        context.is_disconnect = True
        context.invalidate_pool_on_disconnect = False


def _look_at_idle_connections(engine: Engine) -> None:
    """Find out, when a connection is taken, whether the server has ended it meanwhile.

    One that was in use a moment ago is not looked at: a busy web server would ask twice as often.
    """

    def given_back(_connection: Any, record: Any) -> None:
        record.info[_IDLE_SINCE] = time.monotonic()

    def taken(connection: Any, record: Any, _proxy: Any) -> None:
        if time.monotonic() - record.info.get(_IDLE_SINCE, time.monotonic()) <= IDLE_SECONDS:
            return
        try:
            engine.dialect.do_ping(connection)
        except engine.dialect.loaded_dbapi.Error:
            # The pool takes another one, until one is new.
            raise DisconnectionError from None

    event.listen(engine, "checkin", given_back)
    event.listen(engine, "checkout", taken)


def _set_up_sqlite(connection: sqlite3.Connection, _record: Any) -> None:
    # The driver must not open transactions by itself: `_begin_sqlite` does.
    connection.isolation_level = None
    cursor = connection.cursor()
    _write_ahead(cursor)
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.close()


def _write_ahead(cursor: sqlite3.Cursor) -> None:
    # A new file is changed to WAL once. Of two processes that open it at that moment SQLite
    # refuses one immediately, whatever the busy time-out says.
    end = time.monotonic() + SQLITE_BUSY_SECONDS
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorname != "SQLITE_BUSY" or time.monotonic() > end:
                raise
            time.sleep(0.01)
        else:
            return


def _begin_sqlite(connection: Connection) -> None:
    # IMMEDIATE takes the write lock at once: a transaction that reads, then writes, cannot
    # fail half way because another one wrote in between.
    read_only = connection.get_execution_options().get(_READ_ONLY, False)
    connection.exec_driver_sql("BEGIN" if read_only else "BEGIN IMMEDIATE")
