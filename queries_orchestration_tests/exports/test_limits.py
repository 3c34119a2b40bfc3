"""The limits of a workspace: a file that exceeds one fails for good, and leaves nothing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from queries_orchestration.exports.limits import LimitedPatience
from queries_orchestration.exports.sources import engine_of, fetch, interrupt, read_snapshot
from queries_orchestration.model.errors import (
    LimitExceeded,
    QueriesError,
    ReceiveLost,
    ReceiveTimeout,
    SourceUnavailable,
)
from queries_orchestration.store.exports import Export
from queries_orchestration.store.workspaces import Workspace
from queries_orchestration_tests.downloads import export_of
from queries_orchestration_tests.exports.admitted import admit
from queries_orchestration_tests.house import MONDAY, House, make_orders
from queries_orchestration_tests.report_house import build_report_house

PLENTY = "export_bytes: 10000000, export_seconds: 600, statement_seconds: 120"


def limit(house: House, limits: str) -> None:
    house.apply(f"workspace: {{name: acme, limits: {{{limits}}}}}\n")


def check_failed(house: House, export: Export, code: str, advice: str) -> None:
    """The export has failed for good, says what to do, and storage holds nothing of it."""
    assert (export.state, export.code) == ("failed", code)
    assert advice in (export.message or "")
    storage = house.backends.storage
    assert storage.size(export.storage_key) is None
    assert storage.open_uploads("") == []
    assert house.work("export") == []


@pytest.mark.parametrize("file_format", ["csv", "xlsx"])
def test_a_file_that_grows_over_its_bytes_fails_at_once_and_for_good(
    house: House, file_format: str
) -> None:
    limit(house, "export_bytes: 20000")
    pages: list[str] = []
    export_id = admit(house, file_format=file_format)
    watched = house.with_backends(replace(house.backends, reached=pages.append))

    assert watched.work("export") == ["size_limit"]

    check_failed(house, export_of(house, export_id), "size_limit", "`export_bytes`")
    assert "20000 bytes" in (export_of(house, export_id).message or "")
    if file_format == "csv":
        assert pages.count("page written") in (1, 3)  # of three by one COPY, or of five
    assert house.claim(export_id).receive_number == 1


def test_the_last_byte_that_is_allowed_is_written(house: House) -> None:
    whole = admit(house)
    assert house.work("export") == ["ready"]
    size = export_of(house, whole).size
    assert size is not None
    limit(house, f"export_bytes: {size}")

    exact = admit(house)
    assert house.work("export") == ["ready"]

    assert export_of(house, exact).sha256 == export_of(house, whole).sha256
    limit(house, f"export_bytes: {size - 1}")
    admit(house)
    assert house.work("export") == ["size_limit"]


def test_within_its_limits_and_without_any_a_file_is_made(house: House) -> None:
    for limits in (PLENTY, ""):
        limit(house, limits)
        admit(house)
        assert house.work("export") == ["ready"]


@dataclass
class Leaping:
    """A stopwatch that a test moves on."""

    seconds: float = 0.0

    def now(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds


def leaping(house: House, seconds: float) -> House:
    """The house in which each page takes so many seconds."""
    watch = Leaping()

    def reached(point: str) -> None:
        if point == "page written":
            watch.sleep(seconds)

    return house.with_backends(replace(house.backends, waiting=watch, reached=reached))


def test_a_file_that_takes_too_long_fails_for_good(house: House) -> None:
    limit(house, "export_seconds: 90")
    assert admit(house)
    assert leaping(house, 17).work("export") == ["ready"]

    export_id = admit(house)
    assert leaping(house, 45).work("export") == ["time_limit"]

    check_failed(house, export_of(house, export_id), "time_limit", "`export_seconds`")
    assert "90 seconds" in (export_of(house, export_id).message or "")


def test_the_limits_hold_for_the_file_of_a_delivery(house: House) -> None:
    limit(house, "export_bytes: 20000")

    assert house.deliver(MONDAY) == ["size_limit"]

    (occurrence,) = house.history()
    assert (occurrence.outcome, occurrence.code) == ("failed", "size_limit")
    check_failed(house, house.export(occurrence.key), "size_limit", "`export_bytes`")


@pytest.mark.parametrize("database_kind", ["sqlite"])
def test_the_limits_hold_for_the_render_of_a_report(
    tmp_path: Path, store_url: str, source_url: str
) -> None:
    house = build_report_house(tmp_path, store_url, source_url)
    limit(house, "export_bytes: 1000")
    export_id = house.ask_export("sales", file_format="xlsx")

    assert house.work("report") == ["size_limit"]

    check_failed(house, export_of(house, export_id), "size_limit", "`export_bytes`")


SLOW = {
    "sqlite": "CREATE VIEW orders AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1"
    " FROM n WHERE id < 1000000000) SELECT count(*) AS id, 'r' AS region, 1.5 AS amount FROM n",
    "postgresql": "CREATE VIEW orders AS SELECT 1 AS id, pg_sleep(60)::text AS region,"
    " 1.5 AS amount",
}


def make_endless(house: House, database_kind: str) -> None:
    engine = sa.create_engine(house.environment["SHOP_URL"])
    with engine.begin() as connection:
        connection.execute(sa.text("ALTER TABLE orders RENAME TO taken"))
        connection.execute(sa.text(SLOW[database_kind]))
    engine.dispose()


@pytest.fixture
def endless(house: House, database_kind: str) -> Iterator[House]:
    """The house whose orders are never read to the end."""
    make_endless(house, database_kind)
    yield house
    engine = sa.create_engine(house.environment["SHOP_URL"])
    with engine.begin() as connection:
        connection.execute(sa.text("DROP VIEW orders"))
        connection.execute(sa.text("ALTER TABLE taken RENAME TO orders"))
    engine.dispose()


def test_a_statement_that_runs_too_long_fails_for_good(endless: House) -> None:
    limit(endless, "statement_seconds: 1")
    export_id = admit(endless)
    began = time.monotonic()

    assert endless.work("export") == ["statement_timeout"]

    assert 1 <= time.monotonic() - began < 8
    export = export_of(endless, export_id)
    check_failed(endless, export, "statement_timeout", "`statement_seconds`")
    assert (export.message or "").startswith("The dataset orders was not read within the 1 seconds")


def test_a_statement_still_runs_at_the_limit_of_the_file(endless: House) -> None:
    limit(endless, "export_seconds: 1")
    export_id = admit(endless)

    assert endless.work("export") == ["time_limit"]

    check_failed(endless, export_of(endless, export_id), "time_limit", "`export_seconds`")


def test_the_deadline_of_the_receive_stays_transient_under_the_limits(endless: House) -> None:
    limit(endless, PLENTY)
    settings = replace(endless.backends.settings, export_deadline=0.3)
    admit(endless)

    hurried = endless.with_backends(replace(endless.backends, settings=settings))
    assert hurried.work("export") == ["receive_timeout"]


def test_many_short_statements_may_together_take_longer_than_one(source_url: str) -> None:
    make_orders(source_url, 10_000)
    seconds = [0.0]
    # Each has SQLite look at the time.
    statement = sa.select(sa.text("sum(id)")).select_from(sa.text("orders"))
    with read_snapshot(
        engine_of(source_url), 60, statement_seconds=2, monotonic=lambda: seconds[0]
    ) as connection:
        for _ in range(5):
            assert fetch(connection, statement, dataset="orders") == [(50_005_000,)]
            seconds[0] += 1.5


def test_a_statement_that_somebody_else_cancels_is_no_timeout(
    source_url: str, database_kind: str
) -> None:
    engine = sa.create_engine(source_url)
    with engine.begin() as connection:
        connection.execute(sa.text(SLOW[database_kind]))
    engine.dispose()
    statement = sa.select(sa.text("*")).select_from(sa.text("orders"))
    with read_snapshot(engine_of(source_url), 60, statement_seconds=30) as connection:
        alarm = threading.Timer(0.2, interrupt, [connection])
        alarm.start()
        with pytest.raises(SourceUnavailable) as failed:
            fetch(connection, statement, dataset="orders")
        alarm.join()
    assert failed.value.code == "source_interrupted"


class Receiving:
    """The patience of a receive that has a minute, or is over."""

    statement_seconds = None
    over: QueriesError | None = None

    def check(self) -> None:
        if self.over is not None:
            raise self.over

    def remaining(self) -> float:
        return 60.0

    @contextmanager
    def interrupting(self, interrupt: Callable[[], object]) -> Iterator[None]:
        yield


def limited(receiving: Receiving, watch: Leaping, **limits: Any) -> LimitedPatience:
    workspace = Workspace(id="w", name="w", title="W", time_zone="UTC", **limits)
    return LimitedPatience(receiving, workspace, watch.now)


def test_what_is_left_is_the_shorter_of_receive_and_limit() -> None:
    watch = Leaping()
    assert limited(Receiving(), watch).remaining() == 60
    assert limited(Receiving(), watch, export_seconds=90).remaining() == 60
    patience = limited(Receiving(), watch, export_seconds=30, statement_seconds=7)
    assert (patience.remaining(), patience.statement_seconds) == (30, 7)
    watch.sleep(29)
    assert patience.remaining() == 1
    watch.sleep(1)
    for ask in (patience.check, patience.remaining):
        with pytest.raises(LimitExceeded) as over:
            ask()
        assert over.value.code == "time_limit"


def test_a_receive_that_is_over_is_told_as_that_even_beyond_the_limit() -> None:
    watch, receiving = Leaping(), Receiving()
    patience = limited(receiving, watch, export_seconds=30)
    watch.sleep(31)
    receiving.over = ReceiveLost("cancelled")

    with pytest.raises(ReceiveLost):
        patience.check()


def test_what_runs_is_interrupted_at_the_limit_and_told_why() -> None:
    watch, interrupted = Leaping(), threading.Event()
    patience = limited(Receiving(), watch, export_seconds=30)
    watch.sleep(29.95)

    def run() -> None:
        with patience.interrupting(interrupted.set):
            assert interrupted.wait(10)
            watch.sleep(0.05)
            raise SourceUnavailable("interrupted")

    with pytest.raises(LimitExceeded):
        run()


def test_what_ends_before_the_limit_is_not_interrupted_and_tells_its_own_error() -> None:
    interrupted = threading.Event()
    patience = limited(Receiving(), Leaping(), export_seconds=30)

    with pytest.raises(ReceiveTimeout), patience.interrupting(interrupted.set):
        raise ReceiveTimeout("its own")

    assert not interrupted.is_set()
    assert [one for one in threading.enumerate() if isinstance(one, threading.Timer)] == []
