"""Something done within a time, whatever it waits for."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")


def within(seconds: float, work: Callable[[], Result]) -> Result:
    """Return what ``work`` gives, or raise what it raises.

    It is done in a thread: what cannot be ended is left behind.

    Raises:
        TimeoutError: it takes longer.
    """
    ends: queue.SimpleQueue[tuple[Result] | Exception] = queue.SimpleQueue()

    def run() -> None:
        try:
            ends.put((work(),))
        except Exception as error:  # noqa: BLE001  # raised by who waits for it
            ends.put(error)

    threading.Thread(target=run, name="within", daemon=True).start()
    try:
        end = ends.get(timeout=max(seconds, 0))
    except queue.Empty:
        raise TimeoutError from None
    if isinstance(end, Exception):
        raise end
    return end[0]
