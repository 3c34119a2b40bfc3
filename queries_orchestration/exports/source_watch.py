"""The time of reading a source, and of the statement that runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sqlalchemy import Connection

from queries_orchestration.exports.source_line import Line


class Watch:
    """Watches the time of the reading, and of the statement that runs.

    Attributes:
        statement_seconds: how long a statement may run; None: as long as the reading may take.
        beside: connections that read of the same snapshot.
        line: to the server, where there is one.
        is_interrupted: whether somebody has ended the reading.
    """

    def __init__(
        self,
        timeout_seconds: float,
        statement_seconds: float | None,
        monotonic: Callable[[], float],
    ) -> None:
        self.statement_seconds = statement_seconds
        self.beside: list[Connection] = []
        self.line: Line | None = None
        self.is_interrupted = False
        self.monotonic = monotonic
        self._deadline = monotonic() + timeout_seconds
        self._began: float | None = None
        self._paused_at: float | None = None

    def begin_statement(self) -> None:
        self._paused_at = None
        self._began = self.monotonic()

    def end_statement(self) -> None:
        self._began = None

    def left(self) -> float:
        """Return the seconds that are left for the reading."""
        return self._deadline - self.monotonic()

    def is_over(self) -> bool:
        """Tell whether no time is left for the reading."""
        return self.left() <= 0

    def left_of_statement(self) -> float | None:
        """Return the seconds that are left for the statement; None: none runs, or without limit."""
        paused_at, began = self._paused_at, self._began  # in this order, see paused()
        if self.statement_seconds is None or began is None:
            return None
        now = self.monotonic() if paused_at is None else paused_at
        return self.statement_seconds - (now - began)

    def is_too_long(self) -> bool:
        """Tell whether the statement has run for as long as one may."""
        left = self.left_of_statement()
        return left is not None and left <= 0

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Count no time of the statement: what is done within is not the database's."""
        self._paused_at = began = self.monotonic()
        try:
            yield
        finally:
            # In this order: who looks meanwhile must never see too much time.
            if self._began is not None:
                self._began += self.monotonic() - began
            self._paused_at = None
