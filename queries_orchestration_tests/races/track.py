"""Start processes that race, tell them what to do at the same moment, hear their answers."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from typing import Any, Final

from queries_orchestration_tests.house import House

_HEAD_START: Final = 0.02
"""Seconds in which both have read their line before they begin."""


class Racer:
    """One process; it waits, works or hangs."""

    def __init__(self, child: subprocess.Popen[str]) -> None:
        self._child = child

    def ask(self, do: str, at: datetime, *, begins: float = 0, **more: Any) -> None:
        """Tell it what to do, with its calendar clock at ``at``."""
        self._write({"do": do, "moment": at.isoformat(), "begins": begins, **more})

    def answer(self) -> Any:
        """Wait for what came of it."""
        assert self._child.stdout is not None
        line = self._child.stdout.readline()
        assert line, "the process has ended"
        return json.loads(line)

    def do(self, do: str, at: datetime, **more: Any) -> Any:
        """Ask, and wait for the answer."""
        self.ask(do, at, **more)
        return self.answer()

    def suspend(self) -> None:
        """Stop it as it stands, with all its threads."""
        self._child.send_signal(signal.SIGSTOP)

    def wake(self) -> None:
        """Let it go on from where it hangs."""
        self._child.send_signal(signal.SIGCONT)
        self._write({})

    def _write(self, line: object) -> None:
        assert self._child.stdin is not None
        self._child.stdin.write(json.dumps(line) + "\n")
        self._child.stdin.flush()


@contextmanager
def racers(house: House, many: int = 2) -> Iterator[list[Racer]]:
    """Start processes on a house; they end with the block."""
    with ExitStack() as stack:
        children = [stack.enter_context(_child(house)) for _ in range(many)]
        yield [Racer(child) for child in children]


def at_once(racing: list[Racer], do: str, at: datetime, **more: Any) -> list[Any]:
    """Let all do the same at the same moment; returns what came of each."""
    return each_at_once(racing, at, *[{"do": do, **more}] * len(racing))


def each_at_once(racing: list[Racer], at: datetime, *tasks: dict[str, Any]) -> list[Any]:
    """Let each do its own task at the same moment; returns what came of each."""
    begins = time.monotonic() + _HEAD_START
    for racer, task in zip(racing, tasks, strict=True):
        racer.ask(at=at, begins=begins, **task)
    return [racer.answer() for racer in racing]


@contextmanager
def _child(house: House) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-m", "queries_orchestration_tests.races.racer"],
        env=dict(house.environment),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        try:
            yield child
        finally:
            child.kill()
