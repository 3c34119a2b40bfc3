"""The dispatcher's lock, and passes that run at the same time with it and without it."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from queries_orchestration.deliveries.dispatch import Pass, run_pass
from queries_orchestration.model.ids import slot_key
from queries_orchestration.receives.backends import Backends
from queries_orchestration.store import dispatchers, schedules
from queries_orchestration.store.database import Database
from queries_orchestration.store.dispatchers import only_pass
from queries_orchestration.store.tables import occurrences
from queries_orchestration_tests.no_runs import NoRuns
from queries_orchestration_tests.store.valid_rows import SLOT, set_up

DAY = timedelta(days=1)
ROUNDS = 5


@contextmanager
def child(environment: Mapping[str, str], what: str) -> Iterator[subprocess.Popen[str]]:
    """A process of ``passes`` that is gone at the end."""
    with subprocess.Popen(
        [sys.executable, "-m", "queries_orchestration_tests.store.passes", what],
        env=dict(environment),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def answer(process: subprocess.Popen[str]) -> Any:
    assert process.stdout is not None
    return json.loads(process.stdout.readline())


def is_free(database: Database) -> bool:
    with only_pass(database) as alone:
        return alone


def keys_of_slots(database: Database, count: int) -> list[str]:
    """The keys that the schedule's first slots must have."""
    with database.across.read() as connection:
        schedule = schedules.get(connection, "acme", "acme-schedule")
    assert schedule is not None
    assert schedule.next_slot == SLOT + count * DAY
    return [slot_key(schedule.id, SLOT + number * DAY) for number in range(count)]


def admitted(database: Database) -> list[str]:
    with database.across.read() as connection:
        return list(connection.scalars(sa.select(occurrences.c.key).order_by(occurrences.c.slot)))


def test_the_lock_is_held_by_one_pass_and_free_after_it(database: Database) -> None:
    with only_pass(database) as alone:
        assert alone
        assert not is_free(Database(database.url))
        assert not is_free(Database(database.url))  # asking did not free it
    assert is_free(database)
    with pytest.raises(ZeroDivisionError), only_pass(database):
        raise ZeroDivisionError
    assert is_free(database)


def test_the_lock_excludes_another_process_and_is_free_once_that_is_killed(
    database: Database, environment: Mapping[str, str]
) -> None:
    with child(environment, "hold") as holder:
        assert answer(holder) is True
        assert not is_free(database)

        holder.kill()
        holder.wait()

        end = time.monotonic() + 5  # PostgreSQL notices the closed connection by itself
        while not is_free(database):
            assert time.monotonic() < end
            time.sleep(0.01)


def test_two_processes_that_run_a_pass_at_once_admit_a_slot_once(
    database: Database, environment: Mapping[str, str]
) -> None:
    """Case Q03."""
    with database.across.transaction() as connection:
        set_up(connection, "acme")

    with child(environment, "pass") as one, child(environment, "pass") as other:
        assert [answer(one), answer(other)] == ["ready", "ready"]
        for number in range(ROUNDS):
            for process in (one, other):
                assert process.stdin is not None
                process.stdin.write(f"{(SLOT + number * DAY).isoformat()}\n")
                process.stdin.flush()
            done = [answer(one), answer(other)]
            assert sum(each["admitted"] for each in done) == 1

    assert admitted(database) == keys_of_slots(database, ROUNDS)


def test_a_slot_is_admitted_once_though_the_lock_did_not_hold(
    backends: Backends, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Case Q03 once more: the lock spares work, the rows themselves keep the promise."""

    @contextmanager
    def everybody_alone(_database: Database) -> Iterator[bool]:
        yield True

    with backends.database.across.transaction() as connection:
        set_up(connection, "acme")
    run_pass(backends, NoRuns(), at=SLOT - DAY, offer=True)
    monkeypatch.setattr(dispatchers, "only_pass", everybody_alone)
    ready = threading.Barrier(2)

    def run(_: int) -> list[Pass]:
        passes = []
        for number in range(ROUNDS):
            ready.wait(10)
            passes.append(run_pass(backends, NoRuns(), at=SLOT + number * DAY, offer=True))
        return passes

    with ThreadPoolExecutor(2) as threads:
        one, other = threads.map(run, range(2))

    offers = [offer.run_key for done in one + other for offer in done.offers]
    assert [a.admitted + b.admitted for a, b in zip(one, other, strict=True)] == [1] * ROUNDS
    assert admitted(backends.database) == keys_of_slots(backends.database, ROUNDS)
    assert len(offers) == len(set(offers)) >= 1
