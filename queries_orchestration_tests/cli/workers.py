"""Somebody who works a lane meanwhile, in this process, as the runs of a Dagster daemon do."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace

from queries_orchestration.model.clock import system_clock
from queries_orchestration_tests.house import House

PAUSE = 0.02


def on_real_clock(house: House) -> House:
    """The house by the clock that the command has."""
    return house.with_backends(replace(house.backends, clock=system_clock))


@contextmanager
def at_work(house: House, lane: str) -> Iterator[None]:
    """Work what waits in ``lane``, until the end of the block."""
    stopped = threading.Event()

    def work() -> None:
        while not stopped.wait(PAUSE):
            on_real_clock(house).work(lane)

    with ThreadPoolExecutor(1) as threads:
        working = threads.submit(work)
        try:
            yield
        finally:
            stopped.set()
            working.result()
