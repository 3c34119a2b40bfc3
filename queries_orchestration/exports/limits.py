"""What a workspace allows one file: its bytes, the seconds of making it, those of a statement.

What exceeds a limit fails for good: trying again would meet it again. The message says what to do.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from queries_orchestration.exports.file_writer import Sink
from queries_orchestration.exports.generate import Patience, Produce, Written
from queries_orchestration.model.errors import LimitExceeded, QueriesError
from queries_orchestration.store.workspaces import Workspace


class LimitedPatience:
    """The patience of a receive within the seconds that its workspace allows a file from now on."""

    def __init__(
        self, patience: Patience, workspace: Workspace, stopwatch: Callable[[], float]
    ) -> None:
        """Limit ``patience``.

        Args:
            stopwatch: returns the seconds since some fixed moment.
        """
        self._patience = patience
        self._seconds = workspace.export_seconds
        self._stopwatch = stopwatch
        self._began = stopwatch()
        self.statement_seconds: float | None = workspace.statement_seconds

    def check(self) -> None:
        """Raise if the work must end.

        Raises:
            LimitExceeded: it took longer than the workspace allows (``time_limit``).
            ReceiveLost, ReceiveTimeout: from the patience of the receive.
        """
        self._patience.check()
        if self._left() == 0:
            raise LimitExceeded(
                f"The file was not made within {self._seconds} seconds, which is the most in this"
                " workspace. Ask for less, or raise `export_seconds` of the workspace in the"
                " catalog.",
                code="time_limit",
            )

    def remaining(self) -> float:
        """Return the seconds that are left; raises as :meth:`check`."""
        self.check()
        left = self._left()
        remaining = self._patience.remaining()
        return remaining if left is None else min(left, remaining)

    @contextmanager
    def interrupting(self, interrupt: Callable[[], object]) -> Iterator[None]:
        """Call ``interrupt`` if the work must end meanwhile; the error then tells why it must."""
        with self._patience.interrupting(interrupt):
            alarm = self._alarm(interrupt)
            try:
                yield
            except QueriesError:
                self.check()
                raise
            finally:
                if alarm is not None:
                    alarm.cancel()
                    alarm.join()

    def _alarm(self, interrupt: Callable[[], object]) -> threading.Timer | None:
        left = self._left()
        if left is None:
            return None
        alarm = threading.Timer(left, interrupt)
        alarm.daemon = True
        alarm.start()
        return alarm

    def _left(self) -> float | None:
        """Return the seconds that the workspace leaves, never negative; None: it has no limit."""
        if self._seconds is None:
            return None
        return max(0.0, self._seconds - (self._stopwatch() - self._began))


class LimitedSink:
    """A sink that takes the bytes that a file may have, and not one more."""

    def __init__(self, sink: Sink, most: int) -> None:
        self._sink = sink
        self._most = most
        self._taken = 0

    def write(self, data: bytes, /) -> int:
        """Take all of ``data``.

        Raises:
            LimitExceeded: the file would be larger than the workspace allows (``size_limit``).
        """
        self._taken += memoryview(data).nbytes
        if self._taken > self._most:
            raise LimitExceeded(
                f"The file is larger than {self._most} bytes, which is the most in this workspace."
                " Ask for less, or raise `export_bytes` of the workspace in the catalog.",
                code="size_limit",
            )
        return self._sink.write(data)


def limited(produce: Produce, workspace: Workspace) -> Produce:
    """Return ``produce`` with no more bytes than the workspace allows a file."""
    most = workspace.export_bytes
    if most is None:
        return produce

    def produce_limited(sink: Sink, progress: Callable[[int], None]) -> Written:
        return produce(LimitedSink(sink, most), progress)

    return produce_limited
