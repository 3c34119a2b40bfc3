"""The child process that works a lane, or one piece of work in it, seen from the command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from queries_orchestration.cli.dagster_home import make_dagster_home
from queries_orchestration.model.errors import QueriesError
from queries_orchestration.settings import Settings


class LaneFailed(QueriesError):
    """The process that works a lane ended badly."""

    code = "lane_failed"


def run_lane_process(settings: Settings, lane: str) -> Iterator[str]:
    """Work ``lane`` in a child process; yields the key of each piece of work it did.

    A process of its own, since only it needs Dagster, which takes seconds to load.

    Raises:
        LaneFailed: it was killed or failed; what it held is found by a later pass.
    """
    log = _log_of(settings, lane)
    with (
        _opened(log) as log_file,
        _start(settings, lane, log_file, stdout=subprocess.PIPE) as child,
    ):
        for line in child.stdout or ():
            yield json.loads(line)["work"]
    _check_ended_well(child, lane, log)


class Worker:
    """Works one piece of work in child processes: another one whenever a retry may start.

    A child is in no way tied to the command: what it has begun it ends, also if the command is
    interrupted.
    """

    def __init__(self, settings: Settings, lane: str, key: str) -> None:
        self._settings = settings
        self._lane = lane
        self._key = key
        self._child: subprocess.Popen[str] | None = None

    def tend(self, *, may_start: bool) -> None:
        """Start a child if none is at work and the work may start now.

        Raises:
            LaneFailed: the last child was killed or failed.
        """
        log = _log_of(self._settings, self._lane)
        if self._child is not None:
            if self._child.poll() is None:
                return
            _check_ended_well(self._child, self._lane, log)
            self._child = None
        if may_start:
            with _opened(log) as log_file:
                self._child = _start(
                    self._settings, self._lane, log_file, self._key, stdout=subprocess.DEVNULL
                )

    def end(self) -> None:
        """Wait for the child to end, once the work is done."""
        if self._child is not None:
            self._child.wait()


def _start(
    settings: Settings, lane: str, log_file: IO[bytes], *words: str, stdout: int
) -> subprocess.Popen[str]:
    return subprocess.Popen(  # noqa: S603 - our own module, no shell
        [sys.executable, "-m", "queries_orchestration.cli.lane", lane, *words],
        env={**os.environ, "DAGSTER_HOME": str(make_dagster_home(settings))},
        stdout=stdout,
        stderr=log_file,
        text=True,
        # Ctrl-C of one who works a single piece leaves the child at work.
        start_new_session=bool(words),
    )


def _log_of(settings: Settings, lane: str) -> Path:
    return settings.home / f"{lane}.log"


def _opened(log: Path) -> IO[bytes]:
    # Where the database and the files are elsewhere, nobody may have needed the home yet.
    log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    return log.open("ab")


def _check_ended_well(child: subprocess.Popen[str], lane: str, log: Path) -> None:
    if child.returncode != 0:
        raise LaneFailed(
            f"The process of the {lane} lane ended with status {child.returncode}; see {log}."
            " What it worked on is offered again: run `queries tick` to see when."
        )
