"""The house of this folder's tests: on PostgreSQL in two databases that are emptied, not made."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from queries_orchestration.store.database import Database
from queries_orchestration_tests.emptied import empty_tables
from queries_orchestration_tests.house import House, build_house
from queries_orchestration_tests.postgres import PostgresServer


@pytest.fixture(scope="session")
def kept_urls(postgres: PostgresServer, postgres_template: str) -> Iterator[tuple[str, str]]:
    """An application database and a source that many tests use, one after the other."""
    urls = (postgres.create_database(template=postgres_template), postgres.create_database())
    yield urls
    for url in urls:
        postgres.drop(url)


@pytest.fixture
def house(database_kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> House:
    """A small organisation whose first slot is ``house.MONDAY``."""
    if database_kind == "sqlite":
        store_url = request.getfixturevalue("store_url")
        return build_house(tmp_path, store_url, request.getfixturevalue("source_url"))
    store_url, source_url = request.getfixturevalue("kept_urls")
    with Database(store_url).across.transaction() as connection:
        empty_tables(connection)
    with Database(source_url).across.transaction() as connection:
        connection.execute(sa.text("DROP TABLE IF EXISTS orders"))
    return build_house(tmp_path, store_url, source_url)
