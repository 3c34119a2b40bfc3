"""``queries tick``: one dispatcher pass; with ``--work`` what waits is executed as well."""

from __future__ import annotations

import os
from datetime import datetime

import click

from queries_orchestration.cli.lanes import work_lanes
from queries_orchestration.cli.output import (
    json_option,
    local_text,
    print_json,
    print_table,
    print_wrapped,
)
from queries_orchestration.cli.recovery import Recovery
from queries_orchestration.cli.runs import runs_of
from queries_orchestration.cli.told import Told, tell
from queries_orchestration.cli.verb import pass_ready_settings
from queries_orchestration.cli.words import Instant
from queries_orchestration.deliveries.dispatch import run_pass
from queries_orchestration.deliveries.stop_dispatch import told
from queries_orchestration.model.clock import system_clock
from queries_orchestration.model.errors import QueriesError, Refused
from queries_orchestration.receives.backends import Backends, open_backends
from queries_orchestration.settings import Settings
from queries_orchestration.store import cross_workspace, dispatch_stops
from queries_orchestration.store.cross_workspace import Waiting
from queries_orchestration.store.dispatch_stops import DispatchStop


class PassHeld(QueriesError):
    """Another dispatcher pass is at work."""

    code = "pass_held"


@click.command()
@click.option(
    "--at",
    type=Instant(),
    help="Decide what is due as of this ISO 8601 instant with offset; default: now.",
)
@click.option("--work", is_flag=True, help="Also execute what may start now, until nothing may.")
@json_option
@pass_ready_settings
def tick(settings: Settings, at: datetime | None, work: bool, as_json: bool) -> None:
    """Run one dispatcher pass: admit what is due, find again what a lost worker held.

    Without --work, what waits is offered by the dispatcher of `dagster dev` or of the daemon.
    """
    now = system_clock()
    if at is not None and at > now and not settings.demo:
        raise Refused(
            "--at may not lie in the future: deliveries would go out early.", code="future_instant"
        )
    moment = at or now
    backends = open_backends(settings, os.environ, system_clock)
    worked: list[Told] = []
    with runs_of(settings) as runs:
        # Nothing is offered here: an offer needs somebody who launches its run at once.
        done = run_pass(backends, runs, at=moment, offer=False)
        held_by = done.held_by
        if held_by is not None and not work:
            raise PassHeld(f"Another dispatcher pass is at work: {held_by}. Try again.")
        totals = {"admitted": done.admitted, "missed": done.missed, "recovered": done.recovered}
        while work and _lanes_that_may_start(backends):
            if not as_json and not worked:
                click.echo("Working …", err=True)
            finished = [
                _look_up(backends, key)
                for key in work_lanes(
                    settings,
                    lambda: _lanes_that_may_start(backends),
                    Recovery(backends, runs),
                )
            ]
            worked += finished
            if not finished:
                break
            # Another command's pass may hold the lock, now or above; it does the same work.
            done = run_pass(backends, runs, at=moment, offer=False)
            for name in totals:
                totals[name] += getattr(done, name)
    with backends.database.across.read() as connection:
        stopped = dispatch_stops.current(connection)
        unfinished = cross_workspace.unfinished(connection, silence=settings.heartbeat_silence)
        waiting = [(tell(connection, one.key), one) for one in unfinished]
    if as_json:
        _print_json(moment, held_by, stopped, totals, worked, waiting)
    else:
        _print_text(moment, held_by, totals, worked, waiting)
    if stopped is not None:
        click.echo(f"\ndispatch_stopped: {told(stopped)}", err=True)


def _lanes_that_may_start(backends: Backends) -> list[str]:
    """Return the lanes that are worth a process: what waits for an instant cannot start."""
    with backends.database.across.read() as connection:
        return cross_workspace.lanes_that_may_start(connection)


def _look_up(backends: Backends, key: str) -> Told:
    with backends.database.across.read() as connection:
        return tell(connection, key)


def _print_json(
    moment: datetime,
    held_by: str | None,
    stopped: DispatchStop | None,
    totals: dict[str, int],
    worked: list[Told],
    waiting: list[tuple[Told, Waiting]],
) -> None:
    print_json(
        {
            "at": moment,
            "held_by": held_by,
            "stopped": stopped
            and {"at": stopped.stopped_at, "by": stopped.stopped_by, "reason": stopped.stop_reason},
            **totals,
            "worked": [
                {
                    "occurrence": one.key,
                    "workspace": one.workspace,
                    "schedule": one.name,
                    "state": one.state,
                    "outcome": one.outcome,
                    "code": one.code,
                }
                for one in worked
                if one.kind == "occurrence"
            ],
            "exports": [
                {
                    "export": one.key,
                    "workspace": one.workspace,
                    "source": one.name,
                    "state": one.state,
                    "code": one.code,
                }
                for one in worked
                if one.kind == "export"
            ],
            "waiting": [
                {
                    one.kind: one.key,
                    "schedule" if one.kind == "occurrence" else "source": one.name,
                    "why": wait.why,
                    "until": wait.until,
                }
                for one, wait in waiting
            ],
        }
    )


def _print_text(
    moment: datetime,
    held_by: str | None,
    totals: dict[str, int],
    worked: list[Told],
    waiting: list[tuple[Told, Waiting]],
) -> None:
    click.echo(
        f"As of {local_text(moment)}: {totals['admitted']} admitted,"
        f" {totals['missed']} missed, {totals['recovered']} recovered."
    )
    if held_by is not None:
        click.echo(f"Another dispatcher pass was at work, and admits what is due: {held_by}.")
    if worked:
        click.echo()
        print_table(
            ["SCHEDULE OR SOURCE", "SLOT", "ENDED", "CODE"],
            [[one.where, one.slot, one.outcome or one.state, one.code] for one in worked],
        )
    if waiting:
        click.echo("\nNot settled yet:")
    for one, wait in waiting:
        until = f", until {local_text(wait.until)}" if wait.until else ""
        print_wrapped(f"{one.where}  {one.slot}  waits for {wait.why}{until}", indent=2)
