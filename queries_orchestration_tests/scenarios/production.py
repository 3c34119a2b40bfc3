"""The whole production shape as real processes, from the files in deploy/.

PostgreSQL for both sides and the source, Redis, an S3-compatible store, a mail server; and what
deploy/supervisord.conf starts.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Collection, Iterator, Mapping
from configparser import RawConfigParser
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar
from urllib.error import URLError

import dagster as dg
import psutil
import pytest
import sqlalchemy as sa
import yaml

from queries_orchestration.catalog.apply import apply_catalog
from queries_orchestration.cli.dagster_home import make_storage
from queries_orchestration.model.audit import OPERATOR
from queries_orchestration.model.clock import system_clock
from queries_orchestration.model.errors import StoreUnavailable
from queries_orchestration.receives.backends import Backends, open_backends
from queries_orchestration.settings import load_settings
from queries_orchestration.store.migrate import upgrade
from queries_orchestration.store.wall import raise_wall
from queries_orchestration_tests.end_with_us import end_with_us
from queries_orchestration_tests.house import make_orders
from queries_orchestration_tests.postgres import (
    PostgresServer,
    as_owner,
    as_service,
    free_port,
    running_postgres,
)
from queries_orchestration_tests.redis_server import running_redis
from queries_orchestration_tests.scenarios.mail_server import (
    PASSWORD,
    MailServer,
    running_mail_server,
)
from queries_orchestration_tests.storage.s3_server import BUCKET, S3Server, running_s3_server

DEPLOY = Path(__file__).parents[2] / "deploy"
START_SECONDS = 300.0
PATIENCE = 900.0
LOOK_SECONDS = 0.5
UNFINISHED = [
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
]

Found = TypeVar("Found")


@dataclass(frozen=True, kw_only=True)
class Servers:
    """What stands around our processes."""

    postgres: PostgresServer
    broker_url: str
    s3: S3Server
    mail: MailServer


@dataclass(frozen=True, kw_only=True)
class Production:
    """The production shape in ``folder``; ``environment`` is that of its processes."""

    servers: Servers
    folder: Path
    environment: Mapping[str, str]
    backends: Backends

    @contextmanager
    def running(self, *without: str) -> Iterator[dg.DagsterInstance]:
        """Run what supervisord.conf lists, but not ``without``, until the block ends."""
        configuration = _process_file(self.folder, without)
        with (self.folder / "logs" / "supervisord.out").open("wb") as output:
            process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "supervisor.supervisord", "--nodaemon"),
                    *("--configuration", str(configuration)),
                ],
                env=self.environment,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=end_with_us(signal.SIGTERM),
            )
        supervisor = psutil.Process(process.pid)
        try:
            with dg.DagsterInstance.from_config(self.environment["DAGSTER_HOME"]) as instance:
                self.wait_for(lambda: self._is_up(without), seconds=START_SECONDS)
                yield instance
        finally:
            # At once: what is worth a good end has ended.
            left = [*supervisor.children(recursive=True), supervisor]
            for one in reversed(left):
                _kill(one)
            psutil.wait_procs(left, timeout=30)
            process.wait(timeout=30)

    def process(self, program: str) -> psutil.Process:
        """The process of a program of supervisord.conf."""
        told = subprocess.run(
            [
                *(sys.executable, "-m", "supervisor.supervisorctl"),
                *("--configuration", str(self.folder / "supervisord.conf"), "pid", program),
            ],
            env=self.environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return psutil.Process(int(told.stdout))

    def apply(self, catalogs: Mapping[str, str]) -> None:
        """Apply catalogs as of a week ago: what is weekly in them has been due once."""
        week_ago = datetime.now(UTC) - timedelta(days=7)
        for name, catalog in catalogs.items():
            path = self.folder / f"{name}.yaml"
            path.write_text(catalog)
            apply_catalog(
                self.backends.database,
                [path],
                clock=lambda: week_ago,
                by=OPERATOR,
                environment=self.environment,
            )

    def admit_all(self) -> None:
        """Run a pass as an operator would; the daemon's own begins with its second full minute."""
        subprocess.run(
            [sys.executable, "-m", "queries_orchestration", "tick"],
            env=self.environment,
            check=True,
            capture_output=True,
        )

    def count(self, statement: str, **values: object) -> int:
        """Count in the application database; 0 while it is away."""
        try:
            with self.backends.database.across.read() as connection:
                return int(connection.scalar(sa.text(statement), values) or 0)
        except StoreUnavailable:
            return 0

    def settled(self) -> int:
        """How many occurrences are settled."""
        return self.count("SELECT count(*) FROM occurrences WHERE outcome IS NOT NULL")

    def wait_for(self, look: Callable[[], Found], *, seconds: float = PATIENCE) -> Found:
        """Look until something is found; says what the processes printed if nothing comes."""
        end = time.monotonic() + seconds
        while not (found := look()):
            if time.monotonic() > end:
                raise AssertionError(f"nothing came in time\n{self._printed()}")
            time.sleep(LOOK_SECONDS)
        return found

    def api(self, path: str) -> bytes:
        """What the API answers."""
        url = f"http://127.0.0.1:{self.environment['API_PORT']}{path}"
        with urllib.request.urlopen(url, timeout=30) as response:
            answer: bytes = response.read()
        return answer

    def _is_up(self, without: Collection[str]) -> bool:
        port = self.environment
        pages = {
            "webserver": f"http://127.0.0.1:{port['DAGSTER_UI_PORT']}/server_info",
            "api": f"http://127.0.0.1:{port['API_PORT']}/readyz",
        }
        return all(_answers(page) for name, page in pages.items() if name not in without)

    def _printed(self) -> str:
        logs = sorted((self.folder / "logs").glob("*.log"))
        return "\n".join(f"== {log.name}\n{log.read_text()[-2_000:]}" for log in logs)


def look_sooner(dagster: dict[str, Any]) -> None:
    """Let Dagster look sooner for what is lost, so that a test need not wait for it."""
    dagster["run_queue"]["dequeue_interval_seconds"] = 1
    dagster["run_monitoring"] |= {"poll_interval_seconds": 5, "start_timeout_seconds": 60}


@contextmanager
def production(
    folder: Path,
    catalogs: Mapping[str, str],
    *,
    settings: Mapping[str, str] | None = None,
    dagster: Callable[[dict[str, Any]], None] = look_sooner,
) -> Iterator[Production]:
    """Set the production shape up, with its servers running and its catalogs applied.

    Args:
        catalogs: by name; what is weekly in them has been due once.
        settings: beside those of the shape, or in their place.
        dagster: changes what deploy/dagster.yaml says.
    """
    with ExitStack() as stack:
        servers = Servers(
            postgres=stack.enter_context(running_postgres(is_durable=True)),
            broker_url=stack.enter_context(running_redis(folder)),
            s3=stack.enter_context(running_s3_server()),
            mail=stack.enter_context(running_mail_server(folder / "mail", free_port())),
        )
        environment = {**environment_of(servers, folder), **(settings or {})}
        for name in ("logs", "dagster", "home"):
            (folder / name).mkdir()
        config = yaml.safe_load((DEPLOY / "dagster.yaml").read_text())
        dagster(config)
        (folder / "dagster" / "dagster.yaml").write_text(yaml.safe_dump(config))
        # Dagster's instance reads the variables that its file names from this process, too.
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        for name, value in environment.items():
            if name.startswith(("DAGSTER_", "AWS_")):
                patch.setenv(name, value)
        made = Production(
            servers=servers,
            folder=folder,
            environment=environment,
            backends=_fill(servers, environment),
        )
        made.apply(catalogs)
        yield made


def _fill(servers: Servers, environment: Mapping[str, str]) -> Backends:
    """Make the databases' tables, the wall between workspaces and the source."""
    make_storage(Path(environment["DAGSTER_HOME"]))
    url = environment["QUERIES_DATABASE_URL"]
    upgrade(as_owner(url))
    servers.postgres.create_service_login()
    raise_wall(url, owner_url=as_owner(url))
    make_orders(environment["SHOP_URL"], 100)
    return open_backends(load_settings(environment), environment, system_clock, kept_connections=3)


def environment_of(servers: Servers, folder: Path) -> dict[str, str]:
    """What docs/deployment.md lists, for a shape in ``folder``."""
    return {
        "PATH": os.environ.get("PATH", ""),
        "HOME": str(folder),
        "PYTHONPATH": str(
            DEPLOY.parent
        ),  # of this checkout, wherever the package is installed from
        "PROGRAMS": str(Path(sys.executable).parent),
        "LOGS": str(folder / "logs"),
        "API_HOST": "127.0.0.1",
        "API_PORT": str(free_port()),
        "DAGSTER_HOME": str(folder / "dagster"),
        "DAGSTER_CODE_HOST": "127.0.0.1",
        "DAGSTER_CODE_PORT": str(free_port()),
        "DAGSTER_UI_HOST": "127.0.0.1",
        "DAGSTER_UI_PORT": (ui_port := str(free_port())),
        "DAGSTER_POSTGRES_URL": servers.postgres.create_database(),
        "DAGSTER_BROKER_URL": servers.broker_url,
        "DAGSTER_LOGS_BUCKET": BUCKET,
        **servers.s3.environment,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL_S3": servers.s3.endpoint,
        "QUERIES_HOME": str(folder / "home"),
        "QUERIES_DATABASE_URL": as_service(servers.postgres.create_database()),
        "QUERIES_STORAGE_URL": servers.s3.url("deliveries"),
        "QUERIES_COMMUNICATIONS_URL": servers.mail.url,
        "QUERIES_SMTP_PASSWORD": PASSWORD,
        "QUERIES_LINK_KEYS": f"test:{'s' * 40}",
        "QUERIES_PUBLIC_URL": "https://queries.example.org",
        "QUERIES_TOKEN_KEYS_URL": "https://login.example.org/keys",
        "QUERIES_TOKEN_ISSUER": "https://login.example.org",
        "QUERIES_DAGSTER_URL": f"http://127.0.0.1:{ui_port}",
        "QUERIES_HEARTBEAT_INTERVAL": "2",
        "QUERIES_HEARTBEAT_SILENCE": "40",
        "QUERIES_RETRY_DELAY": "1",
        "SHOP_URL": servers.postgres.create_database(),
    }


def _process_file(folder: Path, without: Collection[str]) -> Path:
    """Copy deploy/supervisord.conf, but for some programs."""
    parser = RawConfigParser()
    parser.read_string((DEPLOY / "supervisord.conf").read_text().replace("%(here)s", str(DEPLOY)))
    for program in without:
        parser.remove_section(f"program:{program}")
    path = folder / "supervisord.conf"
    with path.open("w") as file:
        parser.write(file)
    return path


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2):
            return True
    except (URLError, OSError):
        return False


def _kill(process: psutil.Process) -> None:
    try:
        process.kill()
    except psutil.NoSuchProcess:
        return
