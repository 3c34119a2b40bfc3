"""How reading a PostgreSQL is ended: at once, also where the server has fallen silent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sqlalchemy import event, text

from queries_orchestration.exports import shared_snapshot, sources
from queries_orchestration.exports.file_writer import FileFormat
from queries_orchestration.exports.pages import read_pages
from queries_orchestration.exports.raw_rows import fetch_raw
from queries_orchestration.exports.shared_snapshot import joined, share
from queries_orchestration.exports.sources import (
    counting_waits,
    interrupt,
    read_snapshot,
    running,
)
from queries_orchestration.model.compile import CompiledQuery
from queries_orchestration.model.errors import LimitExceeded, ReceiveTimeout, SourceUnavailable
from queries_orchestration_tests.exports.query_files import Patient, file_of
from queries_orchestration_tests.exports.silence import SilentLine, silent_line
from queries_orchestration_tests.exports.test_copy_pages import is_left_alone, reading
from queries_orchestration_tests.model.definitions import (
    a_dataset,
    compiled,
    fill,
    snapshot_engine,
)
from queries_orchestration_tests.postgres import PostgresServer

ROWS = 60_000
FORMATS = pytest.mark.parametrize("file_format", ["csv", "xlsx"])
LONG_STATEMENT = """
import os, sys
from sqlalchemy import event, text
from queries_orchestration.exports.sources import engine_of, read_snapshot
with read_snapshot(engine_of(os.environ["SOURCE"]), 600) as connection:
    connection.execute(text("SELECT pg_sleep(600)"))
"""


@pytest.fixture(scope="module")
def url(postgres: PostgresServer) -> Iterator[str]:
    made = postgres.create_database()
    fill(
        made,
        "CREATE TABLE t (id integer PRIMARY KEY, v text)",
        f"INSERT INTO t SELECT i, repeat('x', 300) FROM generate_series(1, {ROWS}) i",  # noqa: S608
        "CREATE VIEW slow AS SELECT 1 AS id, pg_sleep(600)::text AS v",
        "ANALYZE",
    )
    yield made
    postgres.drop(made)


@pytest.fixture
def line(url: str) -> Iterator[SilentLine]:
    with silent_line(url) as made:
        yield made
    assert is_left_alone(url)


def query(relation: str = "t") -> CompiledQuery:
    return compiled(a_dataset({"id": "integer", "v": "text"}, relation=relation), "id", "v")


def wait_until(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.01)


def in_another_thread(work: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


# --- The server has fallen silent


@FORMATS
def test_an_export_that_waits_for_it_is_interrupted(
    url: str, line: SilentLine, file_format: FileFormat
) -> None:
    patience = Patient()
    returned: list[bool] = []

    def interrupt_when_silent() -> None:
        wait_until(lambda: "PgSleep" in reading(url, "wait_event"))
        line.fall_silent()
        patience.interrupts[0]()
        returned.append(line.is_silent())

    thread = in_another_thread(interrupt_when_silent)
    with pytest.raises(SourceUnavailable) as caught:
        file_of(line.url, query("slow"), file_format, patience=patience)
    assert line.is_silent()
    thread.join()
    assert returned == [True]
    assert caught.value.code == "source_interrupted"


def test_both_connections_that_wait_for_it_are_interrupted(url: str, line: SilentLine) -> None:
    patience = Patient()

    def interrupt_when_both_read(_rows: int) -> None:
        time.sleep(0.005)
        if not interrupted and reading(url, "query ~ '^COPY|OFFSET'") == [True, True]:
            line.fall_silent()
            interrupted.append(in_another_thread(patience.interrupts[0]))

    interrupted: list[threading.Thread] = []
    with pytest.raises(SourceUnavailable) as caught:
        file_of(line.url, query(), patience=patience, progress=interrupt_when_both_read)
    assert line.is_silent()
    assert caught.value.code == "source_interrupted"


def test_a_statement_ends_by_the_limit_of_the_workspace(url: str, line: SilentLine) -> None:
    def fall_silent() -> None:
        wait_until(lambda: "PgSleep" in reading(url, "wait_event"))
        line.fall_silent()

    thread = in_another_thread(fall_silent)
    with pytest.raises(LimitExceeded) as caught:
        file_of(line.url, query("slow"), patience=Patient(statement_seconds=3))
    assert line.is_silent()
    thread.join()
    assert caught.value.code == "statement_timeout"


@pytest.mark.parametrize(
    ("timeout_seconds", "opening_seconds", "error"),
    [(60, 0.5, SourceUnavailable), (1, 60, ReceiveTimeout)],
)
def test_a_connection_does_not_wait_for_its_first_answer(
    line: SilentLine, timeout_seconds: float, opening_seconds: float, error: type[Exception]
) -> None:
    with snapshot_engine(line.url) as engine:
        event.listen(engine, "connect", lambda *_: line.fall_silent(), insert=True)
        with (
            pytest.raises(error),
            read_snapshot(engine, timeout_seconds, opening_seconds=opening_seconds),
        ):
            pass
    assert line.is_silent()


def test_the_connection_is_closed(line: SilentLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "CLOSE_SECONDS", 0.5)
    with snapshot_engine(line.url) as engine:
        with read_snapshot(engine, 60) as connection:
            line.fall_silent()
        assert connection.closed
    assert line.is_silent()


# --- It answers


def test_what_is_asked_after_an_interrupt_is_interrupted_too(url: str) -> None:
    with snapshot_engine(url) as engine, read_snapshot(engine, 60) as connection:
        pages = read_pages(connection, query())
        next(pages)
        assert interrupt(connection)
        with pytest.raises(SourceUnavailable) as caught:
            next(pages)
    assert caught.value.code == "source_interrupted"
    assert is_left_alone(url)


def test_a_connection_that_joins_meanwhile_is_interrupted(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with snapshot_engine(url) as engine, read_snapshot(engine, 60) as first:
        shared = share(first, query())
        assert shared is not None

        def interrupt_after(*arguments: Any) -> object:
            fetched = fetch_raw(*arguments)
            interrupt(first)
            return fetched

        monkeypatch.setattr(shared_snapshot, "fetch_raw", interrupt_after)
        with pytest.raises(SourceUnavailable) as caught, joined(first, shared, query()):
            pass
    assert caught.value.code == "source_interrupted"


def test_a_statement_that_takes_too_long_ends_only_its_own_connection(url: str) -> None:
    with (
        snapshot_engine(url) as engine,
        read_snapshot(engine, 60, statement_seconds=1) as first,
    ):
        shared = share(first, query())
        assert shared is not None
        with joined(first, shared, query()) as second:
            with (
                pytest.raises(LimitExceeded) as caught,
                counting_waits(first, "The source"),
                running(first, "The source"),
            ):
                first.execute(text("SELECT pg_sleep(30)"))
            assert caught.value.code == "statement_timeout"
            assert second.scalar(text("SELECT count(*) FROM t")) == ROWS


def test_the_server_ends_the_statement_of_a_worker_that_was_killed(url: str) -> None:
    with snapshot_engine(url) as engine, read_snapshot(engine, 60) as connection:
        if connection.scalar(text("SHOW server_version_num")) < "140000":
            pytest.skip("PostgreSQL looks for its clients since version 14")
    assert is_left_alone(url)
    with subprocess.Popen(
        [sys.executable, "-c", LONG_STATEMENT], env={**os.environ, "SOURCE": url}
    ) as worker:
        try:
            wait_until(lambda: reading(url, "wait_event") == ["PgSleep"])
        finally:
            worker.send_signal(signal.SIGKILL)
    assert is_left_alone(url)
