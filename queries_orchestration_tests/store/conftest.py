"""One store of each kind for the tests of this folder, emptied for each test."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from queries_orchestration.receives.backends import Backends, open_backends
from queries_orchestration.settings import load_settings
from queries_orchestration.store.database import Database
from queries_orchestration_tests.emptied import empty_tables
from queries_orchestration_tests.postgres import as_owner, as_service
from queries_orchestration_tests.store.valid_rows import SLOT, fill


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def shared_url(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """A migrated store that many tests use, one after the other."""
    if request.param == "sqlite":
        path = tmp_path_factory.mktemp("shared") / "store.db"
        shutil.copy(request.getfixturevalue("sqlite_template"), path)
        yield f"sqlite:///{path}"
        return
    server = request.getfixturevalue("postgres")
    url = server.create_database(template=request.getfixturevalue("postgres_template"))
    yield as_service(url)
    server.drop(url)


@pytest.fixture(scope="session")
def empty() -> Callable[[str], Database]:
    """Opens the store at a URL with no rows left in it."""

    @cache
    def opened(url: str) -> Database:
        return Database(url, kept_connections=3)

    def emptied(url: str) -> Database:
        with Database(as_owner(url)).across.transaction() as connection:  # which may take its time
            empty_tables(connection)
        return opened(url)

    return emptied


@pytest.fixture
def database(shared_url: str, empty: Callable[[str], Database]) -> Database:
    """An empty application database."""
    return empty(shared_url)


@pytest.fixture
def environment(database: Database, tmp_path: Path) -> Mapping[str, str]:
    """The settings of a process that works on the store; an offer is live for a minute."""
    return {
        "PATH": os.environ.get("PATH", ""),
        "QUERIES_HOME": str(tmp_path),
        "QUERIES_DATABASE_URL": database.url,
        "QUERIES_LINK_KEYS": f"test:{'s' * 40}",
        "QUERIES_OFFER_LEASE": "60",
        "QUERIES_HEARTBEAT_INTERVAL": "20",
        "QUERIES_HEARTBEAT_SILENCE": "60",
    }


@pytest.fixture
def backends(environment: Mapping[str, str]) -> Backends:
    """The backends of such a process; its calendar clock stands still."""
    return open_backends(load_settings(environment), environment, lambda: SLOT)


@pytest.fixture
def two(database: Database) -> Database:
    """A store with a row of each of two workspaces in every table."""
    with database.across.transaction() as connection:
        for workspace_id in ("one", "other"):
            fill(connection, workspace_id)
    return database
