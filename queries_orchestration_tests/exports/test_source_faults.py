"""What a source's server does while a storage takes its time, and after the last row."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator

import pytest
from sqlalchemy import text

from queries_orchestration.exports.file_writer import FileFormat
from queries_orchestration.exports.sources import read_snapshot
from queries_orchestration.model.compile import CompiledQuery
from queries_orchestration.model.errors import LimitExceeded, SourceUnavailable
from queries_orchestration_tests.exports.query_files import Patient, csv_of, file_of
from queries_orchestration_tests.exports.read_back import Sink
from queries_orchestration_tests.exports.test_copy_pages import copied, reading
from queries_orchestration_tests.exports.weak_roles import weak_role
from queries_orchestration_tests.house import make_orders
from queries_orchestration_tests.model.definitions import (
    POSTGRESQL,
    SQLITE,
    a_dataset,
    compiled,
    fill,
    snapshot_engine,
)
from queries_orchestration_tests.postgres import PostgresServer
from queries_orchestration_tests.reports.opened import open_sections, reader_of, table

FORMATS = pytest.mark.parametrize("file_format", ["csv", "xlsx"])
RELATIONS = pytest.mark.parametrize("relation", ["t", "unsorted"])
WIDE = 40_000
"""Rows of more bytes than a connection's buffers hold."""


@pytest.fixture(scope="module")
def url(postgres: PostgresServer) -> Iterator[str]:
    made = postgres.create_database()
    fill(
        made,
        "CREATE TABLE t (id integer PRIMARY KEY, v text)",
        f"INSERT INTO t SELECT i, repeat('x', 400) FROM generate_series(1, {WIDE}) i",  # noqa: S608
        "CREATE VIEW unsorted AS SELECT id + 0 AS id, v FROM t",
        "CREATE VIEW slow AS SELECT id, v || pg_sleep(0.01)::text AS v FROM t",
        # Printed late: a row takes its time after all are in order.
        "CREATE TYPE nap AS (id integer)",
        "CREATE FUNCTION printed(nap) RETURNS text VOLATILE LANGUAGE sql AS"
        " $$ SELECT repeat('x', 400) || pg_sleep(0.01)::text $$",
        "CREATE CAST (nap AS text) WITH FUNCTION printed(nap)",
        "CREATE VIEW naps AS SELECT id, row(id)::nap AS v FROM t",
        "ANALYZE",
    )
    yield made
    postgres.drop(made)


def first(rows: int, relation: str = "t") -> CompiledQuery:
    return compiled(
        a_dataset({"id": "integer", "v": "text"}, relation=relation),
        "id",
        "v",
        filters=[{"field": "id", "op": "le", "value": rows}],
    )


class Stalling(Sink):
    """Does something once before it takes so many writes."""

    def __init__(self, stall: Callable[[], object], *, at: int = 2) -> None:
        super().__init__()
        self._stall = stall
        self._at = at

    def write(self, data: bytes, /) -> int:
        if len(self.written) + 1 == self._at:
            self._stall()
        return super().write(data)


def end_connections(url: str) -> None:
    time.sleep(0.3)  # for what is read ahead
    assert True in reading(url, "pg_terminate_backend(pid)")


# --- The server ends the connection


@FORMATS
@RELATIONS
@pytest.mark.parametrize("rows", [9, 1000, 1500])
def test_a_connection_that_ends_after_the_last_row_is_not_missed(
    url: str, relation: str, file_format: FileFormat, rows: int
) -> None:
    def end(done: int) -> None:
        if done == rows:
            end_connections(url)

    made = file_of(url, first(rows, relation), file_format, progress=end)
    assert made.written.rows == rows
    if file_format == "csv":
        assert len(made.content.splitlines()) == rows + 1


@FORMATS
@RELATIONS
def test_one_that_ends_before_it_is_transient(
    url: str, relation: str, file_format: FileFormat
) -> None:
    def end(rows: int) -> None:
        if len(seen) == 0:
            end_connections(url)
        seen.append(rows)

    seen: list[int] = []
    with pytest.raises(SourceUnavailable) as caught:
        file_of(url, first(WIDE, relation), file_format, progress=end)
    assert caught.value.code == "source_unavailable"


@POSTGRESQL
def test_a_report_does_not_miss_one_that_ends_after_its_last_section(source_url: str) -> None:
    make_orders(source_url, 50)
    reader = reader_of(open_sections(source_url, table(title="One"), table(title="Two")))
    with reader.reading():
        assert len(list(reader.sections())) == 2
        end_connections(source_url)
    assert reader.rows == 100


@POSTGRESQL
def test_a_report_misses_one_that_ends_between_two_sections(source_url: str) -> None:
    make_orders(source_url, 50)
    reader = reader_of(open_sections(source_url, table(title="One"), table(title="Two")))
    with reader.reading():
        sections = reader.sections()
        next(sections)
        end_connections(source_url)
        with pytest.raises(SourceUnavailable):
            next(sections)


@SQLITE
def test_a_rollback_that_fails_is_not_missed_on_sqlite(
    source_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(source_url, "CREATE TABLE t (id integer PRIMARY KEY)")
    with snapshot_engine(source_url) as engine:

        def fail(*_: object) -> None:
            raise sqlite3.OperationalError("disk I/O error")

        with read_snapshot(engine, 30) as connection:
            monkeypatch.setattr(engine.dialect, "do_rollback", fail)
        assert connection.closed


# --- The storage stalls


@FORMATS
@RELATIONS
def test_a_role_that_may_not_wait_within_a_transaction_does(
    url: str, relation: str, file_format: FileFormat
) -> None:
    with snapshot_engine(url) as engine, read_snapshot(engine, 30) as connection:
        version = connection.scalar(text("SELECT current_setting('server_version_num')::integer"))
    settings = ["SET idle_in_transaction_session_timeout = '300ms'"]
    if version >= 170000:
        settings.append("SET transaction_timeout = '700ms'")
    with weak_role(url, *settings) as weak:
        sink = Stalling(lambda: time.sleep(1.2), at=3)
        assert file_of(weak, first(WIDE, relation), file_format, sink=sink).written.rows == WIDE


@FORMATS
@RELATIONS
def test_the_time_of_a_storage_is_none_of_the_statement(
    url: str, relation: str, file_format: FileFormat
) -> None:
    made = file_of(
        url,
        first(WIDE, relation),
        file_format,
        sink=Stalling(lambda: time.sleep(2.5), at=3),
        patience=Patient(statement_seconds=1),
    )
    assert made.written.rows == WIDE


def test_the_time_of_the_database_is_although_a_storage_stalls_too(url: str) -> None:
    taken: list[int] = []

    def take(_lines: bytes, rows: int) -> None:
        if not taken:
            time.sleep(2)
        taken.append(rows)

    began = time.monotonic()
    with (
        snapshot_engine(url) as engine,
        pytest.raises(LimitExceeded) as caught,
        read_snapshot(engine, 30, statement_seconds=1) as connection,
    ):
        copied(connection, first(WIDE, "naps"), take, 20, by_key=False)
    assert caught.value.code == "statement_timeout"
    assert len(taken) > 1
    assert 2 < time.monotonic() - began < 10


def test_within_its_time_a_slow_result_is_complete(url: str) -> None:
    assert len(csv_of(url, first(40, "slow"), patience=Patient(statement_seconds=5))) == 40
