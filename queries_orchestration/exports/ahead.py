"""Read ahead: threads read what comes next while what came before is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from queue import Full, Queue
from threading import Event
from typing import Any, Final, Generic, TypeAlias, TypeVar

Item = TypeVar("Item")
Give: TypeAlias = Callable[[Item], None]

MOST_AHEAD: Final = 2
"""Parts that are begun and not yet looked at; and items of each that wait."""
_SECONDS_BETWEEN_LOOKS: Final = 0.2


class _Stopped(Exception):
    """Nobody takes what is read any more."""


@dataclass(frozen=True, slots=True)
class _End:
    """Nothing more comes; because of an error, or because that was all."""

    error: BaseException | None

    def check(self) -> None:
        if self.error is not None:
            raise self.error


class Ahead(Generic[Item]):
    """What threads read: parts, in the order in which they were begun, each of items in order.

    Attributes:
        stopped: nobody takes items any more.
        is_all_read: all items were taken, and no more come.
    """

    def __init__(self) -> None:
        self.parts: Queue[Queue[Item | _End] | _End] = Queue(MOST_AHEAD)
        self.stopped = Event()
        self.is_all_read = False

    def begin_part(self) -> AbstractContextManager[Give[Item]]:
        """Begin a part: its items follow those of all parts begun before.

        It ends, and fails, with the ``with`` block of what is returned.
        """
        items: Queue[Item | _End] = Queue(MOST_AHEAD)
        self.put(self.parts, items)
        return _Open(self, items)

    def put(self, queue: Queue[Any], item: object) -> None:
        """Put an item into a queue, as soon as it has room."""
        while not self.stopped.is_set():
            with suppress(Full):
                queue.put(item, timeout=_SECONDS_BETWEEN_LOOKS)
                return
        raise _Stopped


class _Open:
    """An open end of a queue, which is told how it ended."""

    def __init__(self, ahead: Ahead[Any], queue: Queue[Any]) -> None:
        self._ahead = ahead
        self._queue = queue

    def __enter__(self) -> Give[Any]:
        return partial(self._ahead.put, self._queue)

    def __exit__(
        self, _kind: type[BaseException] | None, error: BaseException | None, *_: object
    ) -> None:
        self._ahead.put(self._queue, _End(error))


@contextmanager
def read_ahead(
    reads: Sequence[Callable[[Ahead[Item]], None]], *, interrupt: Callable[[], object]
) -> Iterator[Iterator[Item]]:
    """Run each of ``reads`` in a thread of its own, and yield the items they give, in order.

    What one of them raises is raised where the first item that it left out would be taken.

    Args:
        interrupt: ends what they wait for, when nobody takes their items any more.
    """
    ahead: Ahead[Item] = Ahead()

    def run(read: Callable[[Ahead[Item]], None]) -> None:
        with suppress(_Stopped), _Open(ahead, ahead.parts):
            read(ahead)

    with ThreadPoolExecutor(len(reads), thread_name_prefix="read-ahead") as threads:
        readings = [threads.submit(run, read) for read in reads]
        try:
            yield _taken(ahead, len(reads))
        finally:
            ahead.stopped.set()
            # A thread that has said that nothing more comes may not be done, but reads no more.
            if not (ahead.is_all_read or all(reading.done() for reading in readings)):
                interrupt()


def _taken(ahead: Ahead[Item], readers: int) -> Iterator[Item]:
    """Yield what is given until all have ended."""
    while readers:
        part = ahead.parts.get()
        if isinstance(part, _End):
            part.check()
            readers -= 1
            continue
        while not isinstance(item := part.get(), _End):
            yield item
        item.check()
    ahead.is_all_read = True
