"""What every test may ask for: real databases of both kinds, and a clean environment."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from queries_orchestration_tests.postgres import (
    PostgresNotFound,
    PostgresServer,
    as_service,
    running_postgres,
)

if TYPE_CHECKING:
    from queries_orchestration_tests.house import House

CI = bool(os.environ.get("CI"))

_NO_LIBREOFFICE = "LibreOffice is missing; install libreoffice-calc-nogui"

# The machine is shared and its speed varies: no deadline. In CI the same examples every time.
settings.register_profile("queries", deadline=None)
settings.register_profile("queries-ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("queries-ci" if CI else "queries")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let `make soak` ask for what takes too long for every day."""
    parser.addoption("--soak", action="store_true", help="try every zone, and more rounds")


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Let one worker run all tests of a group."""
    from queries_orchestration_tests.groups import GroupScheduling

    return GroupScheduling(config, log)


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No setting of the person who runs the tests reaches a test."""
    for variable in list(os.environ):
        if variable.startswith("QUERIES_") or variable == "DAGSTER_HOME":
            monkeypatch.delenv(variable)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """One PostgreSQL per test process, started when the first test asks for it."""
    try:
        with running_postgres() as server:
            yield server
    except PostgresNotFound as error:
        if CI:
            raise
        pytest.skip(str(error))


@pytest.fixture(params=["sqlite", "postgresql"])
def database_kind(request: pytest.FixtureRequest) -> str:
    """Both kinds of database, the same for every database of one test."""
    kind: str = request.param
    return kind


@pytest.fixture
def new_database(
    database_kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Callable[[str], str]]:
    """Makes an empty database from a name that is unique in the test, and returns its URL."""
    if database_kind == "sqlite":
        yield lambda name: f"sqlite:///{tmp_path / name}.db"
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    urls: list[str] = []

    def create(_name: str) -> str:
        urls.append(server.create_database())
        return urls[-1]

    yield create
    for url in urls:
        server.drop(url)


@pytest.fixture
def database_url(new_database: Callable[[str], str]) -> str:
    """A fresh, empty database."""
    return new_database("database")


@pytest.fixture
def source_url(new_database: Callable[[str], str]) -> str:
    """A fresh, empty database that plays a source."""
    return new_database("source")


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated application database to copy."""
    from queries_orchestration.store.migrate import upgrade

    path = tmp_path_factory.mktemp("template") / "store.db"
    upgrade(f"sqlite:///{path}")
    return path


@pytest.fixture(scope="session")
def postgres_template(postgres: PostgresServer) -> str:
    """A migrated application database with the wall up, to copy; nobody else connects to it."""
    from queries_orchestration.store.migrate import upgrade
    from queries_orchestration.store.wall import raise_wall

    url = postgres.create_database()
    upgrade(url)
    postgres.create_service_login()
    raise_wall(as_service(url), owner_url=url)
    return url


@pytest.fixture
def store_url(database_kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[str]:
    """A fresh application database with every migration, on PostgreSQL under the wall."""
    if database_kind == "sqlite":
        path = tmp_path / "store.db"
        shutil.copy(request.getfixturevalue("sqlite_template"), path)
        yield f"sqlite:///{path}"
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    url = server.create_database(template=request.getfixturevalue("postgres_template"))
    yield as_service(url)
    server.drop(url)


@pytest.fixture
def house(tmp_path: Path, store_url: str, source_url: str) -> House:
    """A small organisation whose first slot is ``house.MONDAY``."""
    from queries_orchestration_tests.house import build_house

    return build_house(tmp_path, store_url, source_url)


@pytest.fixture
def libreoffice(tmp_path: Path) -> Callable[[Path, str], Path]:
    """Converts a file to another format and returns the new one; each start takes seconds."""
    program = shutil.which("soffice")
    if program is None:
        if CI:
            pytest.fail(_NO_LIBREOFFICE)
        pytest.skip(_NO_LIBREOFFICE)

    def convert(source: Path, wanted: str) -> Path:
        profile, made = tmp_path / "profile", tmp_path / "converted"
        arguments = ["--headless", "--convert-to", wanted, "--outdir", str(made), str(source)]
        subprocess.run(
            [program, f"-env:UserInstallation={profile.as_uri()}", *arguments],
            check=True,
            capture_output=True,
            timeout=120,
        )
        return made / f"{source.stem}.{wanted}"

    return convert
