"""Transactions, the database's clock, instants, and errors that hold no values."""

from __future__ import annotations

import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, example, given, settings, strategies as st
from sqlalchemy.exc import IntegrityError, ProgrammingError, StatementError

from queries_orchestration.model.errors import InvalidSettings, StoreUnavailable
from queries_orchestration.store import database as store_database
from queries_orchestration.store.database import Database
from queries_orchestration.store.tables import dispatcher_heartbeats, metadata, people, workspaces
from queries_orchestration.store.types import Instant
from queries_orchestration_tests.postgres import PostgresServer
from queries_orchestration_tests.store.valid_rows import SLOT, set_up, valid_rows

SQLITE_ONLY = pytest.mark.parametrize("shared_url", ["sqlite"], indirect=True)

offsets = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
instants = st.datetimes(datetime(2, 1, 1), datetime(9998, 12, 31), timezones=offsets)  # noqa: DTZ001


def insert_workspace(database: Database, name: str) -> None:
    with database.across.transaction() as connection:
        connection.execute(sa.insert(workspaces).values(valid_rows(name)["workspaces"]))


def names(database: Database) -> list[str]:
    with database.across.read() as connection:
        return list(connection.scalars(sa.select(workspaces.c.name).order_by(workspaces.c.name)))


def test_a_transaction_that_fails_writes_nothing(database: Database) -> None:
    insert_workspace(database, "acme")

    def insert_both(second: str) -> None:
        with database.across.transaction() as connection:
            connection.execute(sa.insert(workspaces).values(valid_rows("blue")["workspaces"]))
            connection.execute(sa.insert(workspaces).values(valid_rows(second)["workspaces"]))
            raise ZeroDivisionError

    with pytest.raises(IntegrityError):
        insert_both("acme")
    with pytest.raises(ZeroDivisionError):
        insert_both("cyan")

    assert names(database) == ["acme"]


def test_a_reader_sees_nothing_that_is_not_committed_and_does_not_wait(database: Database) -> None:
    with database.across.transaction() as connection:
        connection.execute(sa.insert(workspaces).values(valid_rows("acme")["workspaces"]))
        assert names(database) == []
    assert names(database) == ["acme"]


@SQLITE_ONLY
def test_two_writers_wait_for_each_other_rather_than_fail(database: Database) -> None:
    with database.across.transaction() as connection:
        set_up(connection, "acme")
    streak = metadata.tables["schedules"].c.failure_streak
    ready = threading.Barrier(3)

    def count_up() -> None:
        own = Database(database.url)
        ready.wait(10)
        for _ in range(10):
            with own.across.transaction() as connection:
                seen = connection.scalar(sa.select(streak))
                assert seen is not None
                connection.execute(sa.update(streak.table).values(failure_streak=seen + 1))

    with ThreadPoolExecutor(3) as threads:
        for done in [threads.submit(count_up) for _ in range(3)]:
            done.result()

    with database.across.read() as connection:
        assert connection.scalar(sa.select(streak)) == 30


@SQLITE_ONLY
def test_a_writer_who_waits_too_long_is_told_that_the_store_is_busy(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_database, "SQLITE_BUSY_SECONDS", 0.05)
    impatient = Database(database.url)

    with database.across.transaction(), pytest.raises(StoreUnavailable, match="SQLITE_BUSY"):
        insert_workspace(impatient, "acme")

    insert_workspace(impatient, "acme")
    assert names(database) == ["acme"]


def test_now_is_the_databases_instant_and_moves_within_a_transaction(database: Database) -> None:
    before = datetime.now(UTC) - timedelta(milliseconds=1)  # SQLite tells whole milliseconds
    with database.across.read() as connection:
        first = store_database.now(connection)
        time.sleep(0.005)
        second = store_database.now(connection)

    assert first.utcoffset() == second.utcoffset() == timedelta(0)
    assert before <= first < second <= datetime.now(UTC)


def test_a_naive_instant_is_refused(database: Database) -> None:
    naive = datetime(2027, 1, 4, 7, 0)  # noqa: DTZ001
    with (
        pytest.raises(StatementError, match="an instant needs a time zone"),
        database.across.transaction() as connection,
    ):
        connection.execute(sa.select(sa.literal(naive, Instant)))


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(kept=[SLOT + timedelta(microseconds=number) for number in (1, 0, -1)])
@given(kept=st.lists(instants, min_size=1, max_size=8))
def test_instants_are_kept_to_the_microsecond_and_sort_as_time(
    database: Database, kept: list[datetime]
) -> None:
    column = dispatcher_heartbeats.c.pass_started_at
    rows = [
        {"dispatcher": str(number), "holder": "test", "pass_started_at": instant}
        for number, instant in enumerate(kept)
    ]
    with database.across.transaction() as connection:
        connection.execute(sa.delete(dispatcher_heartbeats))
        connection.execute(sa.insert(dispatcher_heartbeats), rows)
        found = list(connection.scalars(sa.select(column).order_by(column)))
        first = min(kept)
        later = connection.scalar(sa.select(sa.func.count()).where(column > first))

    assert found == sorted(kept)
    assert {instant.utcoffset() for instant in found} == {timedelta(0)}
    assert later == sum(instant > first for instant in kept)


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({}, "people"),  # a key that is there
        ({"id": "new", "name": "new", "written_by": "x"}, "ck_people_written_by"),
        ({"id": "new", "name": "new", "workspace_id": "nowhere"}, "FOREIGN KEY|fk_people"),
    ],
)
def test_a_refused_row_is_told_without_its_values(
    database: Database, changes: dict[str, str], rule: str
) -> None:
    row = valid_rows("acme")["people"]
    with database.across.transaction() as connection:
        set_up(connection, "acme")

    with (
        pytest.raises(IntegrityError, match=rule) as refused,
        database.across.transaction() as connection,
    ):
        connection.execute(sa.insert(people).values(row | changes))

    told = "".join(traceback.format_exception(refused.value))
    for value in (row["address"], row["id"], "nowhere"):
        assert value not in told


def test_a_store_without_tables_is_told_with_what_makes_them(database_url: str) -> None:
    with pytest.raises(StoreUnavailable, match="queries init"):
        names(Database(database_url))


def test_a_file_that_is_no_database_is_told_as_such(tmp_path: Path) -> None:
    (tmp_path / "store.db").write_bytes(b"this is no database " * 100)
    with pytest.raises(StoreUnavailable, match="SQLITE_NOTADB"):
        names(Database(f"sqlite:///{tmp_path / 'store.db'}"))


@pytest.mark.parametrize(
    "url",
    [
        "sqlite:///",
        "sqlite:///:memory:",
        "sqlite:////dev/null/queries.db",
        "postgresql+psycopg2://somebody:secret@host:port/queries",
        "secret",
    ],
)
def test_a_url_that_cannot_be_used_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(InvalidSettings, match="QUERIES_DATABASE_URL") as refused:
        Database(url)
    assert "secret" not in "".join(traceback.format_exception(refused.value))


def test_kept_connections_that_the_server_has_ended_meanwhile_fail_nobody(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = postgres.create_database()
    kept = Database(url, kept_connections=3)
    ours = sa.text("SELECT pg_backend_pid()")
    with kept.across.read() as one, kept.across.read() as other:
        backends = {one.scalar(ours), other.scalar(ours)}
    assert len(backends) == 2
    with kept.across.read() as again:
        assert again.scalar(ours) in backends
    with Database(url).session() as operator:
        for backend in backends:
            assert operator.scalar(sa.text(f"SELECT pg_terminate_backend({backend}, 5000)"))
    # Idle for longer than a moment: it is found out before anything is asked of it.
    monkeypatch.setattr(store_database, "IDLE_SECONDS", -1.0)
    with kept.across.read() as one, kept.across.read() as other:
        assert not {one.scalar(ours), other.scalar(ours)} & backends
    # A moment later it is told as what it is, and what comes next is served.
    monkeypatch.setattr(store_database, "IDLE_SECONDS", 60.0)
    kept = Database(url, kept_connections=1)
    with kept.across.read() as one:
        (backend,) = {one.scalar(ours)}
    with Database(url).session() as operator:
        assert operator.scalar(sa.text(f"SELECT pg_terminate_backend({backend}, 5000)"))
    with pytest.raises(StoreUnavailable), kept.across.read() as one:
        one.scalar(ours)
    with kept.across.read() as one:
        assert one.scalar(ours) is not None


def test_a_connection_that_failed_is_not_kept_nor_what_it_began_with(
    postgres: PostgresServer,
) -> None:
    url = postgres.create_database()
    name = url.rpartition("/")[2]
    kept = Database(url, kept_connections=2)

    def set_default(change: str) -> None:
        with Database(url).session() as operator:
            operator.execute(sa.text("SET default_transaction_read_only = off"))
            operator.execute(sa.text(f"ALTER DATABASE {name} {change}"))

    def write() -> None:
        with kept.across.transaction() as connection:
            connection.execute(sa.text("CREATE TABLE IF NOT EXISTS things (number integer)"))

    set_default("SET default_transaction_read_only = on")
    for _ in range(2):
        with pytest.raises(StoreUnavailable):
            write()
    set_default("RESET default_transaction_read_only")
    write()
    # What was asked of it wrongly is no fault of the connection.
    ours = sa.text("SELECT pg_backend_pid()")
    with kept.across.read() as connection:
        backend = connection.scalar(ours)
    with pytest.raises(ProgrammingError), kept.across.read() as connection:
        connection.execute(sa.text("SELECT nothing"))
    with kept.across.read() as connection:
        assert connection.scalar(ours) == backend
    postgres.drop(url)


def test_a_statement_of_a_server_that_people_wait_for_ends(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_database, "PATIENCE_SECONDS", 1)
    url = postgres.create_database()
    kept = Database(url, kept_connections=1)
    for opened in (kept.read, kept.glance):
        with pytest.raises(StoreUnavailable), opened("any") as connection:
            connection.execute(sa.text("SELECT pg_sleep(60)"))
    with kept.across.read() as connection:
        assert connection.scalar(sa.text("SELECT 1")) == 1
        waits = connection.connection.driver_connection.info.dsn_parameters  # type: ignore[union-attr]
        assert waits["tcp_user_timeout"] == "20000"  # a host that went silent is given up, too
    postgres.drop(url)


@pytest.mark.parametrize(("patience", "limit"), [(7, "7s"), (None, "0")])
def test_who_keeps_connections_says_how_long_a_statement_may_take(
    postgres: PostgresServer, patience: int | None, limit: str
) -> None:
    """A run has its own deadline."""
    url = postgres.create_database()
    kept = Database(url, kept_connections=1, patience=patience)
    with kept.across.read() as connection:
        assert connection.scalar(sa.text("SHOW statement_timeout")) == limit
    kept.close()
    postgres.drop(url)


def test_who_waits_for_a_connection_in_vain_is_told_to_try_again(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_database, "PATIENCE_SECONDS", 1)
    monkeypatch.setattr(store_database, "MOST_CONNECTIONS", 0)
    url = postgres.create_database()
    kept = Database(url, kept_connections=1)
    with (
        kept.across.transaction(),
        pytest.raises(StoreUnavailable, match="in use"),
        kept.across.transaction(),
    ):
        pass
    kept.close()
    postgres.drop(url)


def test_what_is_closed_keeps_no_connection(postgres: PostgresServer) -> None:
    url = postgres.create_database()
    kept, other = Database(url, kept_connections=1), Database(url)
    there = sa.text(
        "SELECT count(*) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    with kept.across.read() as connection:
        connection.execute(sa.text("SELECT 1"))
    with other.across.read() as connection:
        assert connection.scalar(there) == 1
    kept.close()
    end = time.monotonic() + 10
    count = 1
    while count and time.monotonic() < end:
        with other.across.read() as connection:
            count = connection.scalar(there)
    assert count == 0
    postgres.drop(url)


def test_what_the_url_asks_of_each_session_holds_beside_what_is_ours(
    postgres: PostgresServer,
) -> None:
    url = postgres.create_database()
    asked = Database(f"{url}?options=-c%20search_path%3Dtheirs%20-c%20timezone%3DAsia%2FTokyo")
    with asked.across.read() as connection:
        assert connection.scalar(sa.text("SHOW search_path")) == "theirs"
        assert connection.scalar(sa.text("SHOW timezone")) == "UTC"
    postgres.drop(url)
