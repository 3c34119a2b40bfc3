"""Read ahead: the next pages are read while those before are written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from queue import Full, Queue
from threading import Event
from typing import Final, TypeVar

Item = TypeVar("Item")

MOST_AHEAD: Final = 2
_SECONDS_BETWEEN_LOOKS: Final = 0.2


class _Stopped(Exception):
    """Nobody takes what is read any more."""


@contextmanager
def read_ahead(
    read: Callable[[Callable[[Item], None]], None], *, interrupt: Callable[[], object]
) -> Iterator[Iterator[Item]]:
    """Run ``read`` in a thread of its own, and yield what it gives to its argument, in order.

    At most :data:`MOST_AHEAD` items wait. What ``read`` raises is raised where the items are taken.

    Args:
        interrupt: ends what ``read`` waits for, when nobody takes its items any more.
    """
    items: Queue[Item | None] = Queue(MOST_AHEAD)
    stopped = Event()

    def put(item: Item | None) -> None:
        while not stopped.is_set():
            with suppress(Full):
                items.put(item, timeout=_SECONDS_BETWEEN_LOOKS)
                return
        raise _Stopped

    def run() -> None:
        try:
            read(put)
        finally:
            with suppress(_Stopped):
                put(None)

    with ThreadPoolExecutor(1, thread_name_prefix="read-ahead") as thread:
        reading = thread.submit(run)

        def taken() -> Iterator[Item]:
            while (item := items.get()) is not None:
                yield item
            reading.result()

        try:
            yield taken()
        finally:
            stopped.set()
            if not reading.done():
                interrupt()
