"""Admission of many due schedules, and a pass beside a thousand and a million that are not due."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Final

import sqlalchemy as sa

from benchmarks.measure import Result, keep
from queries_orchestration.store.database import Database
from queries_orchestration.store.migrate import upgrade
from queries_orchestration_tests.house import MONDAY, House, build_house
from queries_orchestration_tests.postgres import PostgresServer, running_postgres

DUE: Final = 10_000
DUE_SECONDS: Final = 10.0
FEW, MANY = 1_000, 1_000_000
TICK_BAR: Final = 1.5
DUE_EACH_TICK: Final = 20
TICKS: Final = 15
_COPY: Final = """
    INSERT INTO schedules
    SELECT (jsonb_populate_record(schedules, jsonb_build_object(
        'id', '{prefix}' || number, 'name', '{prefix}' || number, 'next_slot', :next_slot
    ))).* FROM schedules, generate_series(1, :count) AS number WHERE name = 'weekly'
"""


def main() -> None:
    """Take both measures."""
    with running_postgres(is_durable=True) as server:
        keep(_results(server))


def _results(server: PostgresServer) -> Iterator[Result]:
    with _house(server) as house:
        add(house, "due", DUE, MONDAY)
        seconds = _pass_seconds(house, MONDAY, DUE)
        yield Result(
            name="admission of 10,000 due schedules, s",
            ours=seconds,
            baseline=1.0,
            ratio=seconds,
            peak_mb=None,
            bar=DUE_SECONDS,
            holds=seconds < DUE_SECONDS,
        )
    with _house(server) as few, _house(server) as many:
        for house, count in ((few, FEW), (many, MANY)):
            add(house, "later", count, MONDAY + timedelta(days=300))
        pairs = [(_tick(many, number), _tick(few, number)) for number in range(TICKS)]
        ratio = median(one for one, _ in pairs) / median(other for _, other in pairs)
        yield Result(
            name="a tick beside 1,000,000 / 1,000 schedules, ms",
            ours=median(one for one, _ in pairs) * 1e3,
            baseline=median(other for _, other in pairs) * 1e3,
            ratio=ratio,
            peak_mb=None,
            bar=TICK_BAR,
            holds=ratio <= TICK_BAR,
        )


@contextmanager
def _house(server: PostgresServer) -> Iterator[House]:
    with tempfile.TemporaryDirectory(prefix="queries-bench-") as folder:
        store, source = server.create_database(), server.create_database()
        upgrade(store)
        yield build_house(Path(folder), store, source)
        server.drop(store)
        server.drop(source)


def add(house: House, prefix: str, count: int, next_slot: datetime) -> None:
    """Add copies of the weekly schedule whose next slot is the given one."""
    database = Database(house.backends.database.url)  # whose statements may take their time
    with database.across.transaction() as connection:
        connection.execute(
            sa.text(_COPY.format(prefix=prefix)), {"count": count, "next_slot": next_slot}
        )
    with database.session() as connection:
        connection.exec_driver_sql("VACUUM ANALYZE schedules")


def _tick(house: House, number: int) -> float:
    slot = MONDAY + timedelta(minutes=5 * number)
    add_due = timedelta(minutes=1)
    with house.backends.database.across.transaction() as connection:
        connection.execute(
            sa.text(_COPY.format(prefix=f"tick-{number}-")),
            {"count": DUE_EACH_TICK, "next_slot": slot},
        )
    return _pass_seconds(house, slot + add_due, DUE_EACH_TICK)


def _pass_seconds(house: House, at: datetime, least: int) -> float:
    begun = time.perf_counter()
    done = house.dispatch(at)
    seconds = time.perf_counter() - begun
    if done.admitted < least:
        raise RuntimeError(f"{done.admitted} of {least} were admitted")
    return seconds


if __name__ == "__main__":
    main()
