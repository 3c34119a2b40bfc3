"""Publish a piece of work that was just asked for, and follow it to its end."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Final

import click

from queries_orchestration.cli.lane_process import Worker
from queries_orchestration.cli.output import local_text
from queries_orchestration.cli.recovery import Recovery
from queries_orchestration.cli.runs import runs_of
from queries_orchestration.cli.told_export import progress_text
from queries_orchestration.model.errors import QueriesError
from queries_orchestration.orchestration.publish_now import publish_now
from queries_orchestration.receives.backends import Backends
from queries_orchestration.store import claims, cross_workspace, database, exports

FIRST_PAUSE: Final = 0.1
LONGEST_PAUSE: Final = 1.0
PATIENCE: Final = 10.0
"""Seconds without any change after which the person is told what it waits for."""


class StillWaiting(QueriesError):
    """The work is not done within the time that the person would wait."""

    code = "still_waiting"


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """An occurrence or an export, and the export that makes its file.

    ``later`` tells the person how to see to it without this command; ``first`` is the render that
    it waits for, if it is the delivery of a report.
    """

    workspace_id: str
    key: str
    export_id: str
    lane: str
    label: str
    later: str
    first: Followed | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """The work at one moment; ``waits_for`` is None once it is done."""

    progress: str
    waits_for: str | None
    may_start: bool = False
    is_running: bool = False
    is_idle: bool = False
    receives: int = 0


def publish_work(backends: Backends, work: Followed) -> None:
    """Ask for the runs of the work at once, that of the render it waits for first.

    Raises:
        StoreUnavailable: the database cannot be reached.
    """
    for one in (work.first, work):
        if one is not None:
            publish_now(backends, one.workspace_id, one.key)


def follow(
    backends: Backends, work: Followed, *, work_here: bool, wait: float | None, quiet: bool
) -> None:
    """Return when the work is done, however it ended; shows its progress on standard error.

    Args:
        work_here: work it in child processes, and find it again if one is lost.
        wait: seconds to follow it at most; None: without end.
        quiet: show no progress.

    Raises:
        StillWaiting: the time is over. The work goes on, as it does on every other error here.
        LaneFailed: a child process failed before it began, or none begins.
        StoreUnavailable: the database cannot be reached.
    """
    if work_here and work.first is not None:
        began = time.monotonic()
        follow(backends, work.first, work_here=True, wait=wait, quiet=quiet)
        wait = None if wait is None else max(0.0, wait - (time.monotonic() - began))
    newest = ""

    def shown(look: _Look | None) -> str:
        nonlocal newest
        newest = look.progress if look else newest
        return newest

    with _worker_of(backends, work) if work_here else nullcontext() as here:
        looks = _looks(backends, work, here, wait)
        try:
            with click.progressbar(
                looks,
                label=work.label,
                item_show_func=shown,
                file=sys.stderr,
                hidden=quiet,
            ) as bar:
                for _ in bar:
                    pass
        except (KeyboardInterrupt, QueriesError):
            click.echo(f"\n{work.later}", err=True)
            raise
        if here is not None:
            here.worker.end()


@dataclass(frozen=True, slots=True)
class _Here:
    """What works in this place, and finds again what a lost worker held."""

    worker: Worker
    recovery: Recovery


@contextmanager
def _worker_of(backends: Backends, work: Followed) -> Iterator[_Here]:
    with runs_of(backends.settings) as runs:
        yield _Here(Worker(backends.settings, work.lane, work.key), Recovery(backends, runs))


def _looks(
    backends: Backends, work: Followed, here: _Here | None, wait: float | None
) -> Iterator[_Look]:
    """Look at the work until it is done, ever more seldom; tell what it waits for."""
    began = changed = time.monotonic()
    pause, before, told = FIRST_PAUSE, None, ""
    while True:
        if here is not None:
            here.worker.look()
        look = _look(backends, work)
        yield look
        if look.waits_for is None:
            return
        if here is not None:
            here.recovery.tend()
            here.worker.tend(
                may_start=look.may_start, is_running=look.is_running, receives=look.receives
            )
        now = time.monotonic()
        if look != before:
            before, changed = look, now
        if wait is not None and now - began >= wait:
            raise StillWaiting(f"Not done yet: it waits for {look.waits_for}.")
        is_worked = here is not None and here.worker.is_at_work
        if look.is_idle and not is_worked and now - changed >= PATIENCE:
            if look.waits_for != told:
                click.echo(f"\n{_hint(look, work_here=here is not None)}", err=True)
            told = look.waits_for
        time.sleep(pause)
        pause = min(pause * 1.5, LONGEST_PAUSE)


def _hint(look: _Look, *, work_here: bool) -> str:
    waits = f"It waits for {look.waits_for}."
    if work_here:
        return f"{waits} Then it goes on."
    return f"{waits} If nobody works: start `dagster dev`, or run `queries tick --work`."


def _look(backends: Backends, work: Followed) -> _Look:
    with backends.database.across.read() as connection:
        at = database.now(connection)
        unfinished = cross_workspace.unfinished(
            connection, silence=backends.settings.heartbeat_silence, key=work.key
        )
        claim = claims.get(connection, work.workspace_id, work.key)
        export = exports.get(connection, work.workspace_id, work.export_id)
    progress = progress_text(export) if export else ""
    if not unfinished:
        return _Look(progress=progress, waits_for=None)
    waiting = unfinished[0]
    why = "a worker" if waiting.may_start else waiting.why
    until = f", until {local_text(waiting.until)}" if waiting.until else ""
    is_silent = waiting.until is None or waiting.until <= at
    return _Look(
        progress=progress,
        waits_for=why + until,
        may_start=waiting.may_start,
        is_running=waiting.is_running,
        is_idle=is_silent or not waiting.is_running,
        receives=claim.receive_number if claim else 0,
    )
