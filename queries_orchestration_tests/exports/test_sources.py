"""A source: its snapshot, its time limit, and its errors in our words."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import create_engine, make_url, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from queries_orchestration.exports.pages import read_pages
from queries_orchestration.exports.sources import engine_of, interrupt, read_snapshot
from queries_orchestration.model.compile import CompiledQuery
from queries_orchestration.model.errors import (
    InvalidSettings,
    ReceiveTimeout,
    SourceBroken,
    SourceUnavailable,
)
from queries_orchestration_tests.model.definitions import (
    POSTGRESQL,
    SQLITE,
    a_dataset,
    compiled,
    fill,
    is_sqlite,
    read_all,
    rows_of_ids,
    snapshot_engine,
    sqlite_url,
)


def test_a_dropped_relation_or_column_is_permanent_and_names_the_dataset(source_url: str) -> None:
    dataset = a_dataset({"id": "integer", "v": "text"})
    query = compiled(dataset, "v")
    fill(source_url, "CREATE TABLE other (id integer)")
    with pytest.raises(SourceBroken, match=r"dataset things .*does not exist") as caught:
        read_all(source_url, query)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
    fill(source_url, "CREATE TABLE t (id integer PRIMARY KEY)")
    with pytest.raises(SourceBroken, match="column of it does not exist"):
        read_all(source_url, query)


def test_a_source_that_is_not_there_is_transient(
    tmp_path: Path, unused_port: Callable[[], int]
) -> None:
    query = compiled(a_dataset({"id": "integer"}), "id")
    nowhere = f"postgresql+psycopg2://u:hush@127.0.0.1:{unused_port()}/d"
    for url in (sqlite_url(tmp_path / "missing"), nowhere):
        with pytest.raises(SourceUnavailable) as caught:
            read_all(url, query)
        assert "hush" not in caught.value.message
        assert "127.0.0.1" not in caught.value.message


@pytest.fixture
def unused_port() -> Callable[[], int]:
    def find() -> int:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port: int = probe.getsockname()[1]
            return port

    return find


@POSTGRESQL
def test_postgresql_without_the_right_to_read_says_so(source_url: str) -> None:
    role = "weak_" + (make_url(source_url).database or "")
    fill(
        source_url,
        f"CREATE ROLE {role} LOGIN PASSWORD 'weak'",
        "CREATE TABLE t (id integer PRIMARY KEY)",
    )
    weak = (
        make_url(source_url)
        .set(username=role, password="weak")
        .render_as_string(hide_password=False)
    )
    with pytest.raises(SourceBroken, match="may not") as caught:
        read_all(weak, compiled(a_dataset({"id": "integer"}), "id"))
    assert caught.value.code == "source_permission_denied"


@POSTGRESQL
def test_a_value_that_the_database_cannot_compute_is_permanent(source_url: str) -> None:
    fill(source_url, "CREATE VIEW t AS SELECT 1 AS id, 1 / (SELECT 0) AS v")
    with pytest.raises(SourceBroken, match="SQLSTATE 22012"):
        read_all(source_url, compiled(a_dataset({"id": "integer", "v": "integer"}), "v"))


@POSTGRESQL
def test_a_connection_that_the_server_ends_is_transient(source_url: str) -> None:
    fill(source_url, "CREATE TABLE t (id integer PRIMARY KEY)", "INSERT INTO t VALUES (1), (2)")
    query = compiled(a_dataset({"id": "integer"}), "id")
    with snapshot_engine(source_url) as engine, read_snapshot(engine, 30) as connection:
        pages = read_pages(connection, query, 1)
        next(pages)
        process = connection.scalar(text("SELECT pg_backend_pid()"))
        with create_engine(source_url, poolclass=NullPool).connect() as other:
            other.execute(text("SELECT pg_terminate_backend(:process)"), {"process": process})
        with pytest.raises(SourceUnavailable):
            next(pages)


SLOW = {
    "sqlite": "CREATE VIEW t AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n"
    " WHERE id < 1000000000) SELECT count(*) AS id FROM n",
    "postgresql": "CREATE VIEW t AS SELECT 1 AS id, pg_sleep(60)::text AS s",
}


def slow_query(url: str) -> CompiledQuery:
    kind = "sqlite" if is_sqlite(url) else "postgresql"
    fill(url, SLOW[kind])
    if kind == "sqlite":
        return compiled(a_dataset({"id": "integer"}), "id")
    return compiled(a_dataset({"id": "integer", "s": "text"}), "s")


def test_a_statement_that_takes_too_long_times_out(source_url: str) -> None:
    query = slow_query(source_url)
    with (
        snapshot_engine(source_url) as engine,
        read_snapshot(engine, 0.2) as connection,
        pytest.raises(ReceiveTimeout),
    ):
        list(read_pages(connection, query))


def test_no_time_left_is_a_timeout_before_anything_is_opened(tmp_path: Path) -> None:
    with (
        snapshot_engine(sqlite_url(tmp_path)) as engine,
        pytest.raises(ReceiveTimeout),
        read_snapshot(engine, 0),
    ):
        pass


def test_a_running_statement_is_interrupted_from_another_thread(source_url: str) -> None:
    query = slow_query(source_url)
    told: list[bool] = []
    with snapshot_engine(source_url) as engine:
        with read_snapshot(engine, 30) as connection:

            def interrupt_soon() -> None:
                time.sleep(0.2)
                told.append(interrupt(connection))

            thread = threading.Thread(target=interrupt_soon)
            thread.start()
            with pytest.raises(SourceUnavailable) as caught:
                list(read_pages(connection, query))
            thread.join()
        assert caught.value.code == "source_interrupted"
        assert told == [True]
        assert interrupt(connection) is False


def test_a_source_cannot_be_written_to(source_url: str) -> None:
    fill(source_url, "CREATE TABLE t (id integer PRIMARY KEY)")
    with (
        snapshot_engine(source_url) as engine,
        read_snapshot(engine, 30) as connection,
        pytest.raises(DBAPIError, match=r"(?i)read-?only"),
    ):
        connection.execute(text("INSERT INTO t VALUES (1)"))


def test_an_url_of_another_kind_is_refused_without_showing_it() -> None:
    for url in ("mysql://root:hush@host/d", "no url with hush"):
        with pytest.raises(InvalidSettings) as caught:
            engine_of(url)
        assert "hush" not in caught.value.message


@SQLITE
def test_the_clock_of_the_time_limit_is_given(source_url: str) -> None:
    fill(
        source_url,
        "CREATE TABLE t (id integer PRIMARY KEY)",
        ("INSERT INTO t VALUES (?)", rows_of_ids(list(range(20_000)))),
    )
    now = [0.0]
    with (
        snapshot_engine(source_url) as engine,
        read_snapshot(engine, 10, monotonic=lambda: now[0]) as connection,
    ):
        pages = read_pages(connection, compiled(a_dataset({"id": "integer"}), "id"), 15_000)
        assert next(pages)
        now[0] = 11.0
        with pytest.raises(ReceiveTimeout):
            list(pages)
