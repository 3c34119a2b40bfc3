"""Statements that a kept connection plans once, and what a click writes by one of them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import DataError, IntegrityError, NotSupportedError

from queries_orchestration.model.audit import By, Subject
from queries_orchestration.model.errors import StoreUnavailable
from queries_orchestration.store import audit, downloads
from queries_orchestration.store.database import Database
from queries_orchestration.store.downloads import Download
from queries_orchestration.store.prepared import as_prepared
from queries_orchestration.store.tables import exports
from queries_orchestration_tests.postgres import PostgresServer
from queries_orchestration_tests.store.spoiled_rows import FINISHED
from queries_orchestration_tests.store.valid_rows import fill

AT = datetime(2027, 1, 4, 8, tzinfo=UTC)
PREPARED = sa.text(
    "SELECT name, calls FROM (SELECT name, generic_plans + custom_plans AS calls"
    " FROM pg_prepared_statements WHERE name = 'tried') AS prepared"
)


@pytest.fixture
def kept(postgres: PostgresServer) -> Iterator[Database]:
    url = postgres.create_database()
    yield Database(url, kept_connections=1)
    postgres.drop(url)


def tried(value: int) -> sa.Select[Any]:
    return sa.select(sa.cast(value, sa.Integer) % 7)


def test_a_kept_connection_plans_a_statement_once(kept: Database) -> None:
    for value in (8, 16, 24):
        with kept.across.read() as connection:
            assert connection.scalar(as_prepared(tried(value), "tried")) == value % 7
    with kept.across.read() as connection:
        assert connection.execute(PREPARED).all() == [("tried", 3)]
        assert connection.scalar(tried(9)) == 2
        assert connection.execute(PREPARED).all() == [("tried", 3)]


def test_what_was_rolled_back_is_planned_still(kept: Database) -> None:
    broken = as_prepared(sa.select(1 / sa.bindparam("by", type_=sa.Integer)), "tried")
    for _ in range(2):
        with pytest.raises(DataError), kept.across.read() as connection:
            connection.scalar(broken, {"by": 0})
        with kept.across.read() as connection:
            assert connection.scalar(broken, {"by": 1}) == 1


def test_what_a_column_has_become_is_planned_anew(kept: Database) -> None:
    with kept.across.transaction() as connection:
        connection.execute(sa.text("CREATE TABLE things (title varchar(9))"))
        connection.execute(sa.text("INSERT INTO things VALUES ('one')"))
    title = as_prepared(
        sa.select(sa.column("title", sa.Text)).select_from(sa.table("things")), "tried"
    )
    for number in (19, 29, 39):
        with kept.glance("any") as connection:
            assert connection.scalar(title) == "one"
        with Database(kept.url).across.transaction() as connection:
            connection.execute(
                sa.text(f"ALTER TABLE things ALTER COLUMN title TYPE varchar({number})")
            )
    # In a transaction it fails once.
    with kept.across.read() as connection:
        assert connection.scalar(title) == "one"
    with Database(kept.url).across.transaction() as connection:
        connection.execute(sa.text("ALTER TABLE things ALTER COLUMN title TYPE varchar(49)"))
    with pytest.raises(NotSupportedError), kept.across.read() as connection:
        connection.scalar(title)
    for _ in range(2):
        with kept.across.read() as connection:
            assert connection.scalar(title) == "one"


def test_a_new_connection_plans_it_anew(kept: Database) -> None:
    statement = as_prepared(tried(8), "tried")
    with kept.across.read() as connection:
        assert connection.scalar(statement) == 1
        backend = connection.scalar(sa.text("SELECT pg_backend_pid()"))
    with Database(kept.url).session() as operator:
        assert operator.scalar(sa.text(f"SELECT pg_terminate_backend({backend}, 5000)"))
    with pytest.raises(StoreUnavailable), kept.across.read() as connection:
        connection.scalar(statement)
    with kept.across.read() as connection:
        assert connection.scalar(statement) == 1


def test_connections_that_are_not_kept_plan_nothing_ahead(kept: Database) -> None:
    with Database(kept.url).across.read() as connection:
        assert connection.scalar(as_prepared(tried(8), "tried")) == 1
        assert connection.execute(PREPARED).all() == []


@pytest.mark.parametrize("kept_connections", [0, 2])
def test_a_download_is_recorded_with_its_event_or_not_at_all(
    database: Database, kept_connections: int
) -> None:
    with database.across.transaction() as connection:
        fill(connection, "one")
        fill(connection, "other")
        connection.execute(exports.update().values(FINISHED))
    kept = Database(database.url, kept_connections=kept_connections)
    for number in range(3):
        with kept.one_statement("one") as connection:
            assert downloads.record(connection, download(f"download-{number}"), via="api")
    with kept.one_statement("one") as connection, pytest.raises(IntegrityError):
        downloads.record(connection, download("download-0"), via="api")
    with kept.across.transaction() as connection:
        connection.execute(exports.update().values(state="expired"))
        assert not downloads.record(connection, download("download-3"), via="api")
    with kept.across.read() as connection:
        ids = [one.id for one in downloads.of_export(connection, "one", "one-export")]
        assert [one for one in ids if one.startswith("download-")] == [
            "download-0",
            "download-1",
            "download-2",
        ]
        told = [
            (event.at, event.by, event.subject)
            for event in audit.listing(connection, "one", limit=10)
            if event.action == "file_downloaded" and event.at == AT
        ]
    assert (
        told == [(AT, By(via="api", person_id="one-person"), Subject("export", "one-export"))] * 3
    )


def download(name: str) -> Download:
    return Download(
        workspace_id="one",
        id=name,
        export_id="one-export",
        person_id="one-person",
        outside_id=None,
        occurrence_key=None,
        downloaded_at=AT,
    )
