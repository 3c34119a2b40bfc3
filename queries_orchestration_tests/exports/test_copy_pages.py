"""COPY: how it ends when it must, and which keys it can go on after."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator

import psycopg2
import pytest
from sqlalchemy import Connection, create_engine, text
from sqlalchemy.pool import NullPool

from queries_orchestration.exports.column_texts import column_texts
from queries_orchestration.exports.copy_formats import csv_options
from queries_orchestration.exports.copy_pages import TakeLines, copy_pages
from queries_orchestration.exports.file_writer import FileFormat
from queries_orchestration.exports.page_size import PAGE_BYTES
from queries_orchestration.exports.sources import read_snapshot
from queries_orchestration.exports.text_form import TextForm
from queries_orchestration.model.compile import CompiledQuery
from queries_orchestration.model.errors import (
    LimitExceeded,
    ReceiveTimeout,
    SourceBroken,
    SourceUnavailable,
    UploadGone,
)
from queries_orchestration_tests.exports.query_files import Patient, file_of
from queries_orchestration_tests.exports.read_back import BERLIN, Sink
from queries_orchestration_tests.exports.test_raw_pages import EQUAL_BUT_NOT_ALIKE
from queries_orchestration_tests.model.definitions import (
    a_dataset,
    compiled,
    fill,
    snapshot_engine,
)
from queries_orchestration_tests.postgres import PostgresServer

ROWS = 60_000
BY_KEY = pytest.mark.parametrize("by_key", [True, False])
BOTH: list[FileFormat] = ["csv", "xlsx"]


@pytest.fixture(scope="module")
def url(postgres: PostgresServer) -> Iterator[str]:
    """A source of more than a connection's buffers hold."""
    made = postgres.create_database()
    fill(
        made,
        "CREATE TABLE t (id integer PRIMARY KEY, v text)",
        f"INSERT INTO t SELECT i, repeat('x', 200) FROM generate_series(1, {ROWS}) i",  # noqa: S608
        "CREATE VIEW unsorted AS SELECT id + 0 AS id, v FROM t",
        "CREATE COLLATION any_case"
        " (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
        "ANALYZE",
    )
    yield made
    postgres.drop(made)


def query(relation: str = "t") -> CompiledQuery:
    return compiled(a_dataset({"id": "integer", "v": "text"}, relation=relation), "id", "v")


def copied(
    connection: Connection, query: CompiledQuery, take: TakeLines, page_rows: int, *, by_key: bool
) -> None:
    texts = column_texts(connection, query, TextForm(BERLIN.zone))
    copy_pages(
        connection,
        texts,
        take,
        options=csv_options(","),
        is_guarded=True,
        page_rows=page_rows,
        by_key=by_key,
    )


REFUSALS: list[Exception] = [
    ReceiveTimeout("the deadline"),
    UploadGone("aborted"),
    LimitExceeded("too large"),
    psycopg2.OperationalError("of another database"),
    sqlite3.IntegrityError("of another database"),
    UnicodeError("of something else"),
    RuntimeError("a fault"),
]


@BY_KEY
@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda refusal: type(refusal).__name__)
def test_what_ends_the_taking_comes_out_as_that_very_error(
    url: str, refusal: Exception, by_key: bool
) -> None:
    taken: list[int] = []

    def take(_lines: bytes, rows: int) -> None:
        taken.append(rows)
        if len(taken) == 3:
            raise refusal

    with snapshot_engine(url) as engine:
        with pytest.raises(type(refusal)) as caught, read_snapshot(engine, 30) as connection:
            copied(connection, query(), take, 10, by_key=by_key)
        assert caught.value is refusal
        assert connection.closed
    assert taken == [10] * 3
    assert is_left_alone(url)


def test_the_rest_of_a_result_is_not_received_when_the_taking_ends(url: str) -> None:
    """Here the server waits for us to take it; where we wait for the server, it is interrupted."""
    fill(
        url,
        "CREATE OR REPLACE VIEW heavy AS SELECT id, v || repeat('y', 100000) AS v FROM t",
    )

    def take(_lines: bytes, _rows: int) -> None:
        while True not in reading(url, "wait_event = 'ClientWrite'"):
            time.sleep(0.01)
        raise ReceiveTimeout("the deadline")

    with snapshot_engine(url) as engine, read_snapshot(engine, 600) as connection:
        with pytest.raises(ReceiveTimeout):
            copied(connection, query("heavy"), take, 1000, by_key=False)
        assert connection.invalidated


class Until(Patient):
    """Ends the work before a page."""

    def __init__(self, pages: int) -> None:
        super().__init__()
        self.pages = pages

    def check(self) -> None:
        self.pages -= 1
        if self.pages < 0:
            raise ReceiveTimeout("the deadline")


@pytest.mark.parametrize("relation", ["t", "unsorted"])
@pytest.mark.parametrize("file_format", BOTH)
@pytest.mark.parametrize("pages", [0, 1, 30, 59])
def test_the_end_of_patience_ends_a_file_before_its_next_page(
    url: str, relation: str, file_format: FileFormat, pages: int
) -> None:
    sink = Sink()
    done: list[int] = []
    with pytest.raises(ReceiveTimeout, match="the deadline"):
        file_of(
            url,
            query(relation),
            file_format,
            patience=Until(pages),
            progress=done.append,
            sink=sink,
        )
    at_once = relation == "unsorted"
    ends = range(1000, ROWS, 1000) if at_once else (10, *range(110, ROWS, 1000))
    assert done == [*ends[:pages]]
    assert b"PK\x05\x06" not in sink.content
    if file_format == "csv":
        assert sink.content.count(b"\n") == sum(done[-1:]) + 1


@pytest.mark.parametrize("relation", ["t", "unsorted"])
@pytest.mark.parametrize("file_format", BOTH)
def test_a_server_that_ends_the_connection_in_the_middle_is_transient(
    url: str, relation: str, file_format: FileFormat
) -> None:
    def end(rows: int) -> None:
        if rows in (3000, 3110):
            assert True in reading(url, "pg_terminate_backend(pid)")

    sink = Sink()
    with pytest.raises(SourceUnavailable) as caught:
        file_of(url, query(relation), file_format, progress=end, sink=sink)
    assert caught.value.code == "source_unavailable"
    assert sink.content.count(b"\n") < ROWS
    assert b"PK\x05\x06" not in sink.content


@pytest.mark.parametrize("by_key", [True, False])
def test_a_copy_is_interrupted_from_another_thread(url: str, by_key: bool) -> None:
    fill(
        url,
        "CREATE OR REPLACE VIEW slow AS"
        " SELECT id, v || pg_sleep(CASE id WHEN 1500 THEN 30 ELSE 0 END)::text AS v FROM t",
    )
    slow = query("slow")
    patience = Patient()
    if not by_key:
        slow = compiled(
            a_dataset({"id": "integer", "v": "text"}, relation="slow"),
            "id",
            "v",
            sort=[{"field": "v", "direction": "asc"}],
        )

    def interrupt_soon() -> None:
        while True not in reading(url, "wait_event = 'PgSleep'"):
            time.sleep(0.01)
        patience.interrupts[0]()

    thread = threading.Thread(target=interrupt_soon, daemon=True)
    thread.start()
    with pytest.raises(SourceUnavailable) as caught:
        file_of(url, slow, patience=patience)
    thread.join()
    assert caught.value.code == "source_interrupted"


@pytest.mark.parametrize("first", range(9))
@pytest.mark.parametrize("shown", [("id", "place"), ("place",)])
def test_equal_keys_at_any_place_are_all_copied_or_named(
    url: str, first: int, shown: tuple[str, ...]
) -> None:
    keys = [max(first, n - 2) if n >= first else n for n in range(10)]
    fill(
        url,
        "DROP TABLE IF EXISTS twice",
        "CREATE TABLE twice (id integer, place integer)",
        ("INSERT INTO twice VALUES (?, ?)", [(key, place) for place, key in enumerate(keys)]),
    )
    twice = compiled(a_dataset({"id": "integer", "place": "integer"}, relation="twice"), *shown)
    straddles = any(keys[3 * n - 1] == keys[3 * n] for n in (1, 2, 3))

    assert sorted(places(url, twice, 3, by_key=False)) == list(range(10))
    if straddles:
        with pytest.raises(SourceBroken) as caught:
            places(url, twice, 3, by_key=True)
        assert caught.value.code == "source_key_not_unique"
    else:
        assert sorted(places(url, twice, 3, by_key=True)) == list(range(10))


@pytest.mark.parametrize("type_", EQUAL_BUT_NOT_ALIKE)
@pytest.mark.parametrize("shown", [("id", "v"), ("v",)])
def test_equal_keys_that_print_differently_are_named_too(
    url: str, type_: str, shown: tuple[str, ...]
) -> None:
    in_catalog, keys = EQUAL_BUT_NOT_ALIKE[type_]
    fill(
        url,
        "DROP TABLE IF EXISTS alike",
        f"CREATE TABLE alike (id {type_}, v integer)",
        ("INSERT INTO alike VALUES (?, ?)", [(key, n) for n, key in enumerate(keys)]),
    )
    alike = compiled(a_dataset({"id": in_catalog, "v": "integer"}, relation="alike"), *shown)

    assert sorted(places(url, alike, 2, by_key=False)) == [0, 1, 2, 3]
    with pytest.raises(SourceBroken) as caught:
        places(url, alike, 2, by_key=True)
    assert caught.value.code == "source_key_not_unique"


@pytest.mark.parametrize("shown", [("id", "v"), ("v",)])
@pytest.mark.parametrize("direction", ["asc", "desc"])
def test_a_null_that_the_dataset_forbids_is_named_by_key_and_copied_at_once(
    url: str, shown: tuple[str, ...], direction: str
) -> None:
    fill(
        url,
        "DROP TABLE IF EXISTS nulls",
        "CREATE TABLE nulls (id integer, v integer)",
        ("INSERT INTO nulls VALUES (?, ?)", [(None if n < 2 else n, n) for n in range(6)]),
    )
    nulls = compiled(
        a_dataset({"id": "integer", "v": "integer"}, relation="nulls"),
        *shown,
        sort=[{"field": "id", "direction": direction}],
    )
    assert sorted(places(url, nulls, 2, by_key=False)) == list(range(6))
    with pytest.raises(SourceBroken) as caught:
        places(url, nulls, 2, by_key=True)
    assert caught.value.code == "source_key_null"


@BY_KEY
@pytest.mark.parametrize("shown", [("id", "v"), ("v",)])
def test_wide_rows_make_small_pages(url: str, shown: tuple[str, ...], by_key: bool) -> None:
    fill(
        url,
        "DROP TABLE IF EXISTS wide",
        "CREATE TABLE wide (id integer PRIMARY KEY, v text)",
        "INSERT INTO wide SELECT i, repeat('x', 100000) FROM generate_series(1, 100) i",
    )
    wide = compiled(a_dataset({"id": "integer", "v": "text"}, relation="wide"), *shown)
    pages: list[int] = []
    with snapshot_engine(url) as engine, read_snapshot(engine, 30) as connection:
        copied(connection, wide, lambda page, _: pages.append(len(page)), 1000, by_key=by_key)
    assert sum(pages) > 100 * 100_000
    assert max(pages) < PAGE_BYTES + 110_000


def places(url: str, query: CompiledQuery, page_rows: int, *, by_key: bool) -> list[int]:
    """Copy a result and return the whole numbers of its last column."""
    lines: list[bytes] = []
    with snapshot_engine(url) as engine, read_snapshot(engine, 30) as connection:
        copied(connection, query, lambda page, _: lines.append(page), page_rows, by_key=by_key)
    return [int(line.rpartition(b",")[2]) for line in b"".join(lines).splitlines()]


def reading(url: str, what: str, order: str = "pid") -> list[object]:
    """Ask something of the connections that read the source."""
    with create_engine(url, poolclass=NullPool).connect() as connection:
        statement = (
            f"SELECT {what} FROM pg_stat_activity"  # noqa: S608
            " WHERE application_name = 'queries' AND datname = current_database()"
            f" ORDER BY {order}"
        )
        return list(connection.scalars(text(statement)))


def is_left_alone(url: str) -> bool:
    """Wait until nobody reads the source."""
    end = time.monotonic() + 20
    while reading(url, "pid"):
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True
