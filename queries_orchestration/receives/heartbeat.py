"""The heartbeat of a running receive, its deadline, and the interruption of what it runs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Final, Self

from queries_orchestration.model.errors import (
    QueriesError,
    ReceiveLost,
    ReceiveTimeout,
    StoreUnavailable,
)
from queries_orchestration.receives.backends import Backends
from queries_orchestration.store import claims
from queries_orchestration.store.claims import Receive
from queries_orchestration.store.database import Database


class Terminated(ReceiveLost):
    """An operator terminated the run that works the receive."""

    code = "terminated"


class Heartbeat:
    """A thread that keeps a receive's claim alive until its deadline.

    When the claim is lost, the run terminated or the deadline reached, it interrupts the
    statement that runs, and ``check`` raises from then on.
    """

    statement_seconds: Final = None  # a receive has one deadline for all that it does

    def __init__(
        self,
        database: Database,
        receive: Receive,
        *,
        interval: float,
        deadline: float,
        is_terminated: Callable[[], bool] | None = None,
    ) -> None:
        """Make the heartbeat of a receive; it beats within its ``with`` block.

        Args:
            interval: seconds between two beats.
            deadline: seconds from now until the receive must end.
            is_terminated: asked at each beat whether an operator has terminated the run.
        """
        self._database = database
        self._receive = receive
        self._interval = interval
        self._is_terminated = is_terminated
        self._ends = time.monotonic() + deadline
        self._deadline = deadline
        self._over: QueriesError | None = None
        self._stopped = threading.Event()
        self._guard = threading.Lock()
        self._interrupt: Callable[[], object] | None = None
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stopped.set()
        self._thread.join()

    def check(self) -> None:
        """Raise if the receive may not go on.

        Raises:
            ReceiveLost: the work was taken over or settled, or the run terminated.
            ReceiveTimeout: the deadline is reached.
        """
        if self._over is not None:
            raise self._over
        if time.monotonic() >= self._ends:
            raise self._timeout()

    def remaining(self) -> float:
        """Return the seconds until the deadline, never negative."""
        return max(0.0, self._ends - time.monotonic())

    @contextmanager
    def interrupting(self, interrupt: Callable[[], object]) -> Iterator[None]:
        """Call ``interrupt``, from the heartbeat's thread, if the receive must end meanwhile.

        An error that follows from the interruption is told as its reason.
        """
        with self._guard:
            self._interrupt = interrupt
        try:
            self.check()
            yield
        except QueriesError:
            self.check()
            raise
        finally:
            with self._guard:
                self._interrupt = None

    def _beat(self) -> None:
        while not self._stopped.wait(min(self._interval, self.remaining())):
            if self.remaining() == 0:
                self._end(self._timeout())
                return
            if self._is_terminated is not None and self._is_terminated():
                self._end(Terminated("An operator terminated the run."))
                return
            try:
                with self._database.transaction(self._receive.workspace_id) as connection:
                    claims.hold(connection, self._receive)
            except ReceiveLost as lost:
                self._end(lost)
                return
            except StoreUnavailable:
                continue  # The next beat tries again; silence is judged by the dispatcher.

    def _end(self, reason: QueriesError) -> None:
        self._over = reason
        with self._guard:
            if self._interrupt is not None:
                self._interrupt()

    def _timeout(self) -> ReceiveTimeout:
        return ReceiveTimeout(f"It was not finished within {self._deadline:g} seconds.")


def heartbeat_of(
    backends: Backends,
    receive: Receive,
    *,
    lane: str,
    is_terminated: Callable[[], bool] | None = None,
) -> Heartbeat:
    """Return the heartbeat that a running receive of ``lane`` keeps, with its deadline from now."""
    return Heartbeat(
        backends.database,
        receive,
        interval=backends.settings.heartbeat_interval,
        deadline=backends.settings.lane_deadline(lane),
        is_terminated=is_terminated,
    )
