"""Publish a piece of work that was just asked for, and follow it to its end."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import click

from queries_orchestration.cli.lane_process import Worker
from queries_orchestration.cli.output import local_text
from queries_orchestration.cli.told_export import progress_text
from queries_orchestration.model.errors import QueriesError
from queries_orchestration.receives.backends import Backends
from queries_orchestration.receives.publish import publish
from queries_orchestration.store import cross_workspace, database, exports

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
    may_start: bool
    is_idle: bool


def publish_now(backends: Backends, work: Followed) -> None:
    """Ask Dagster for the runs at once, where a web server is set; else the sensors find the work.

    Raises:
        StoreUnavailable: the database cannot be reached.
    """
    if not backends.settings.dagster_url:
        return
    # Imported here: it loads Dagster.
    from queries_orchestration.orchestration.run_requests import nudge

    for one in (work.first, work):
        if one is not None:
            publish(backends, one.workspace_id, one.key, nudge(backends.settings))


def follow(
    backends: Backends, work: Followed, *, work_here: bool, wait: float | None, quiet: bool
) -> None:
    """Return when the work is done, however it ended; shows its progress on standard error.

    Args:
        work_here: work it in a child process.
        wait: seconds to follow it at most; None: without end.
        quiet: show no progress.

    Raises:
        StillWaiting: the time is over. The work goes on, as it does on every other error here.
        LaneFailed: the child process ended badly.
        StoreUnavailable: the database cannot be reached.
    """
    if work_here and work.first is not None:
        began = time.monotonic()
        follow(backends, work.first, work_here=True, wait=wait, quiet=quiet)
        wait = None if wait is None else max(0.0, wait - (time.monotonic() - began))
    worker = Worker(backends.settings, work.lane, work.key) if work_here else None
    newest = ""

    def shown(look: _Look | None) -> str:
        nonlocal newest
        newest = look.progress if look else newest
        return newest

    looks = _looks(backends, work, worker, wait)
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
    if worker is not None:
        worker.end()


def _looks(
    backends: Backends, work: Followed, worker: Worker | None, wait: float | None
) -> Iterator[_Look]:
    """Look at the work until it is done, ever more seldom; tell what it waits for."""
    began = changed = time.monotonic()
    pause, before, told = FIRST_PAUSE, None, ""
    while True:
        look = _look(backends, work)
        yield look
        if look.waits_for is None:
            return
        if worker is not None:
            worker.tend(may_start=look.may_start)
        now = time.monotonic()
        if look != before:
            before, changed = look, now
        if wait is not None and now - began >= wait:
            raise StillWaiting(f"Not done yet: it waits for {look.waits_for}.")
        if look.is_idle and worker is None and now - changed >= PATIENCE:
            if look.waits_for != told:
                click.echo(f"\n{_hint(look)}", err=True)
            told = look.waits_for
        time.sleep(pause)
        pause = min(pause * 1.5, LONGEST_PAUSE)


def _hint(look: _Look) -> str:
    return (
        f"It waits for {look.waits_for}. If nobody works: start `dagster dev`,"
        " or run `queries tick --work`."
    )


def _look(backends: Backends, work: Followed) -> _Look:
    with backends.database.read() as connection:
        at = database.now(connection)
        unfinished = cross_workspace.unfinished(
            connection, silence=backends.settings.heartbeat_silence, key=work.key
        )
        export = exports.get(connection, work.workspace_id, work.export_id)
    progress = progress_text(export) if export else ""
    if not unfinished:
        return _Look(progress=progress, waits_for=None, may_start=False, is_idle=False)
    waiting = unfinished[0]
    why = waiting.why if waiting.until or waiting.is_running else "a worker"
    until = f", until {local_text(waiting.until)}" if waiting.until else ""
    is_silent = waiting.until is None or waiting.until <= at
    return _Look(
        progress=progress,
        waits_for=why + until,
        may_start=waiting.until is None,
        is_idle=is_silent or not waiting.is_running,
    )
