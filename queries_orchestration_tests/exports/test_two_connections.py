"""COPY through two connections: one moment, one order, and one result, however one of them ends."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from sqlalchemy import Connection, create_engine, text
from sqlalchemy.pool import NullPool

from queries_orchestration.exports import copy_pages as module, shared_snapshot
from queries_orchestration.exports.page_size import PAGE_BYTES
from queries_orchestration.exports.shared_snapshot import SharedSnapshot, share
from queries_orchestration.exports.sources import read_snapshot
from queries_orchestration.model.compile import CompiledQuery
from queries_orchestration.model.errors import SourceBroken, SourceUnavailable
from queries_orchestration_tests.exports.query_files import Patient, file_of
from queries_orchestration_tests.exports.test_copy_pages import copied, is_left_alone, reading
from queries_orchestration_tests.exports.weak_roles import weak_role
from queries_orchestration_tests.model.definitions import (
    a_dataset,
    compiled,
    fill,
    snapshot_engine,
)
from queries_orchestration_tests.postgres import PostgresServer

ROWS = 60_000
MANY_PAGES = ROWS // 1000 + 2


@pytest.fixture
def url(postgres: PostgresServer) -> Iterator[str]:
    made = postgres.create_database()
    fill(
        made,
        "CREATE TABLE t (id integer PRIMARY KEY, at timestamptz, v text)",
        "INSERT INTO t SELECT i, timestamptz '2020-03-29 00:30+00' + i * interval '7 minutes',"  # noqa: S608
        f" repeat('x', 300) FROM generate_series(1, {ROWS}) i",
        "ANALYZE",
    )
    yield made
    postgres.drop(made)


def query(relation: str = "t") -> CompiledQuery:
    types = {"id": "integer", "at": "timestamptz", "v": "text"}
    return compiled(a_dataset(types, relation=relation), *types)


def lines_of(
    url: str, *, by_key: bool = True, after_page: Callable[[int], object] = lambda _page: None
) -> bytes:
    """Copy the table; ``after_page`` is called with the number of each page that was taken."""
    taken: list[bytes] = []

    def take(lines: bytes, _rows: int) -> None:
        taken.append(lines)
        after_page(len(taken))

    with snapshot_engine(url) as engine, read_snapshot(engine, 60) as connection:
        copied(connection, query(), take, 1000, by_key=by_key)
    assert len(taken) == (MANY_PAGES if by_key else ROWS // 1000)
    return b"".join(taken)


def test_both_read_and_the_file_is_the_same_as_that_of_one(url: str) -> None:
    readers: list[int] = []

    def count(page: int) -> None:
        if page > 5:
            readers.append(len(reading(url, "pid")))

    made = lines_of(url, after_page=count)
    assert max(readers) == 2
    assert made == lines_of(url, by_key=False)
    assert is_left_alone(url)


def test_both_see_the_moment_at_which_the_first_began(url: str) -> None:
    expected = lines_of(url)

    def change(page: int) -> None:
        if page == 1:  # before the second has joined
            fill(
                url,
                f"DELETE FROM t WHERE id > {ROWS // 2}",  # noqa: S608
                "UPDATE t SET v = 'changed' WHERE id > 2000",
                "INSERT INTO t SELECT -i, now(), 'new' FROM generate_series(1, 100) i",
            )

    assert lines_of(url, after_page=change) == expected


def test_where_a_role_may_connect_once_one_connection_reads_all(url: str) -> None:
    with weak_role(url, "CONNECTION LIMIT 1") as weak:
        assert lines_of(weak) == lines_of(url)


@pytest.mark.parametrize("function", shared_snapshot._FUNCTIONS)
def test_where_a_role_may_not_share_a_snapshot_one_connection_reads_all(
    url: str, function: str
) -> None:
    fill(url, f"REVOKE EXECUTE ON FUNCTION {function}() FROM PUBLIC")
    readers: list[int] = []
    with weak_role(url) as weak:
        made = lines_of(weak, after_page=lambda _page: readers.append(len(reading(url, "pid"))))
    assert made == lines_of(url)
    assert set(readers) == {1}


@pytest.mark.parametrize(
    "of_another",
    [
        lambda shared: replace(shared, moment=("another",)),
        lambda shared: replace(shared, id="00000000-00000000-1"),
        lambda _shared: None,
    ],
    ids=["moment", "id", "none"],
)
def test_where_the_second_does_not_see_the_same_one_connection_reads_all(
    url: str,
    monkeypatch: pytest.MonkeyPatch,
    of_another: Callable[[SharedSnapshot | None], SharedSnapshot | None],
) -> None:
    shared: list[SharedSnapshot | None] = []

    def share_another(connection: Connection, query: CompiledQuery) -> SharedSnapshot | None:
        shared.append(share(connection, query))
        return of_another(shared[-1])

    expected = lines_of(url)
    monkeypatch.setattr(module, "share", share_another)
    assert lines_of(url) == expected
    assert len(shared) == 1
    assert shared[0] is not None


def test_a_small_result_is_read_through_one_connection(url: str) -> None:
    fill(url, "DELETE FROM t WHERE id > 110")
    readers: list[int] = []
    file_of(url, query(), progress=lambda _rows: readers.append(len(reading(url, "pid"))))
    assert set(readers) == {1}


@pytest.mark.parametrize("which", ["ASC", "DESC"])
def test_where_either_connection_ends_nothing_is_complete(url: str, which: str) -> None:
    ended: list[object] = []

    def end(_rows: int) -> None:
        time.sleep(0.005)
        # One that ends before it has read anything is not missed.
        if not ended and reading(url, "query ~ '^COPY|OFFSET'") == [True, True]:
            ended.extend(
                reading(url, "pg_terminate_backend(pid)", f"backend_start {which} LIMIT 1")
            )

    with pytest.raises(SourceUnavailable) as caught:
        file_of(url, query(), progress=end)
    assert ended == [True]
    assert caught.value.code == "source_unavailable"
    assert is_left_alone(url)


def test_both_are_interrupted(url: str) -> None:
    fill(
        url,
        "CREATE TYPE nap AS (id integer)",
        "CREATE FUNCTION printed(nap) RETURNS text VOLATILE LANGUAGE sql AS"
        " $$ SELECT pg_sleep(CASE WHEN $1.id > 1110 THEN 30 ELSE 0 END)::text $$",
        "CREATE CAST (nap AS text) WITH FUNCTION printed(nap)",
        "ALTER TABLE t ALTER v TYPE nap USING row(id)::nap",
    )
    patience = Patient()

    def interrupt_when_both_sleep() -> None:
        while reading(url, "wait_event") != ["PgSleep"] * 2:
            time.sleep(0.01)
        patience.interrupts[0]()

    began = time.monotonic()
    thread = threading.Thread(target=interrupt_when_both_sleep, daemon=True)
    thread.start()
    with pytest.raises(SourceUnavailable) as caught:
        file_of(url, query(), patience=patience)
    thread.join()
    assert caught.value.code == "source_interrupted"
    assert time.monotonic() - began < 20
    assert is_left_alone(url)


@pytest.mark.parametrize(
    "definition",
    [
        "CREATE VIEW other AS SELECT id, at, now()::text AS v FROM t",
        "CREATE VIEW other AS SELECT id, at, v FROM t WHERE now() > at - interval '100 years'",
        "CREATE TABLE other (LIKE t INCLUDING ALL); INSERT INTO other SELECT * FROM t;"
        " ALTER TABLE other ENABLE ROW LEVEL SECURITY",
        "CREATE TABLE other (LIKE t INCLUDING ALL); INSERT INTO other SELECT * FROM t;"
        " CREATE TABLE child () INHERITS (other)",
    ],
    ids=["time in a cell", "time in a condition", "row rules", "children"],
)
def test_what_may_depend_on_more_than_the_snapshot_is_read_through_one(
    url: str, definition: str
) -> None:
    fill(url, *definition.split("; "), "ANALYZE")
    readers: list[int] = []
    made = file_of(
        url, query("other"), progress=lambda _rows: readers.append(len(reading(url, "pid")))
    )
    assert made.written.rows == ROWS
    assert set(readers) == {1}
    if "now()::text" in definition:
        assert len({line.rpartition(b",")[2] for line in made.content.splitlines()[1:]}) == 1


def test_a_lock_that_waits_for_the_first_does_not_hold_up_the_second(url: str) -> None:
    """Once the first reads, ALTER waits for it, and whoever comes then waits for ALTER."""

    def alter() -> None:
        fill(url, "ALTER TABLE t ADD COLUMN extra integer")

    altering = threading.Thread(target=alter)

    def begin_to_alter(page: int) -> None:
        if page == 1:
            altering.start()
            while not locks_wait(url):
                time.sleep(0.01)

    began = time.monotonic()
    assert lines_of(url, after_page=begin_to_alter)
    altering.join()
    assert time.monotonic() - began < 10


def test_a_second_connection_that_hangs_holds_up_nothing(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As behind a pool that gives it no server."""
    expected = lines_of(url)
    moment = shared_snapshot._moment

    def hang(connection: Connection) -> tuple[str, ...]:
        if asked:
            connection.exec_driver_sql("SELECT pg_sleep(60)")
        asked.append(connection)
        return moment(connection)

    asked: list[Connection] = []
    monkeypatch.setattr(shared_snapshot, "_moment", hang)
    began = time.monotonic()
    assert lines_of(url) == expected
    assert len(asked) == 1
    assert time.monotonic() - began < 10


def locks_wait(url: str) -> bool:
    with create_engine(url, poolclass=NullPool).connect() as connection:
        return bool(connection.scalar(text("SELECT bool_or(NOT granted) FROM pg_locks")))


@pytest.mark.parametrize("by_key", [True, False])
@pytest.mark.parametrize("broken", [1500, 2500, ROWS])
def test_what_cannot_be_computed_is_named_wherever_it_is(
    url: str, broken: int, by_key: bool
) -> None:
    fill(
        url,
        "CREATE VIEW broken AS SELECT id, at,"  # noqa: S608
        f" (1 / CASE id WHEN {broken} THEN 0 ELSE 1 END)::text AS v FROM t",
    )
    done: list[int] = []
    with (
        pytest.raises(SourceBroken, match="22012"),
        snapshot_engine(url) as engine,
        read_snapshot(engine, 60) as connection,
    ):
        copied(connection, query("broken"), lambda _, rows: done.append(rows), 1000, by_key=by_key)
    seams = (broken - 111) // 1000 * 1000 + 110 if by_key else (broken - 1) // 1000 * 1000
    assert sum(done) == seams
    assert is_left_alone(url)


def test_rows_that_turn_wide_are_given_on_as_they_come(url: str) -> None:
    fill(url, "UPDATE t SET v = repeat('w', 100000) WHERE id BETWEEN 1501 AND 2600")
    fill(url, "DELETE FROM t WHERE id > 4000")
    given: list[int] = []
    rows: list[int] = []

    def take(lines: bytes, count: int) -> None:
        given.append(len(lines))
        rows.append(count)
        time.sleep(0.005)

    with snapshot_engine(url) as engine, read_snapshot(engine, 60) as connection:
        copied(connection, query(), take, 1000, by_key=True)
    assert sum(rows) == 4000
    assert sum(given) > 1100 * 100_000
    assert max(given) < PAGE_BYTES + 101_000
