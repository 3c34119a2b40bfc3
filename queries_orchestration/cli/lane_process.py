"""The child process that works a lane, or one piece of work in it, seen from the command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final

import click

from queries_orchestration.cli.dagster_home import make_dagster_home
from queries_orchestration.model.errors import QueriesError
from queries_orchestration.settings import Settings

FRUITLESS_CHILDREN: Final = 2


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
        self._ended_with: int | None = None
        self._receives_before = 0
        self._fruitless = 0

    @property
    def is_at_work(self) -> bool:
        """Whether there is a child that was not seen to have ended."""
        return self._child is not None

    def look(self) -> None:
        """See whether the child has ended; what is known of the work must be read after it."""
        if self._child is not None:
            self._ended_with = self._child.poll()

    def tend(self, *, may_start: bool, is_running: bool, receives: int) -> None:
        """Start a child if none is at work and the work may start now.

        A child that was lost in the middle of a receive is told; recovery finds what it held.

        Args:
            may_start: the work can be taken now.
            is_running: a receive holds the work, with a worker or without.
            receives: how many have begun.

        Raises:
            LaneFailed: the last child failed before it began, or nothing that is started begins.
        """
        if self._child is not None:
            if self._ended_with is None:
                return
            self._judge(self._child, is_running=is_running, receives=receives)
            self._child = self._ended_with = None
        if may_start:
            self._receives_before = receives
            with _opened(self._log) as log_file:
                self._child = _start(
                    self._settings, self._lane, log_file, self._key, stdout=subprocess.DEVNULL
                )

    def end(self) -> None:
        """Wait for the child to end, once the work is done."""
        if self._child is not None:
            self._child.wait()

    @property
    def _log(self) -> Path:
        return _log_of(self._settings, self._lane)

    def _judge(self, child: subprocess.Popen[str], *, is_running: bool, receives: int) -> None:
        if is_running:
            # With status 0 it may also be that a run of Dagster was faster.
            if child.returncode != 0:
                click.echo(
                    f"\nThe process of the {self._lane} lane ended with status {child.returncode};"
                    f" see {self._log}. What it worked on goes on once its heartbeat has been"
                    f" silent for {self._settings.heartbeat_silence:g} seconds.",
                    err=True,
                )
            return
        _check_ended_well(child, self._lane, self._log)
        # One may find that somebody else was faster.
        self._fruitless = self._fruitless + 1 if receives == self._receives_before else 0
        if self._fruitless == FRUITLESS_CHILDREN:
            raise LaneFailed(
                f"{FRUITLESS_CHILDREN} processes of the {self._lane} lane ended one after the other"
                f" without having begun the work. See why in {self._log}, then ask again."
            )


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
    try:
        log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        return log.open("ab")
    except OSError as error:
        raise LaneFailed(
            f"The log {log} cannot be written ({error.strerror}), so no process works the lane."
            " Make way for it, then ask again."
        ) from error


def _check_ended_well(child: subprocess.Popen[str], lane: str, log: Path) -> None:
    if child.returncode != 0:
        raise LaneFailed(
            f"The process of the {lane} lane ended with status {child.returncode}; see {log}."
            " What it worked on is offered again: run `queries tick` to see when."
        )
