"""How a worker waits: a stopwatch and a sleep, which a test replaces by its own."""

from __future__ import annotations

import time
from typing import Protocol


class Waiting(Protocol):
    """Seconds that pass while a worker waits for somebody else."""

    def now(self) -> float:
        """Return the seconds since some fixed moment."""
        ...

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        ...


class RealWaiting:
    """The time of this machine."""

    def now(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)
