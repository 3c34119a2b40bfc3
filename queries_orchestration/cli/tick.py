"""``queries tick``: one dispatcher pass; with ``--work`` what waits is executed as well."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import click

from queries_orchestration.cli.init import make_dagster_home
from queries_orchestration.cli.output import json_option, local_text, print_json, print_table
from queries_orchestration.deliveries.backends import Backends, open_backends
from queries_orchestration.deliveries.dispatch import Pass, run_pass
from queries_orchestration.model.clock import system_clock
from queries_orchestration.model.errors import QueriesError, Refused
from queries_orchestration.settings import DELIVERY_LANE, Settings
from queries_orchestration.store import cross_workspace, occurrences, schedules, workspaces


class PassHeld(QueriesError):
    """Another dispatcher pass is at work."""

    code = "pass_held"


class LaneFailed(QueriesError):
    """The process that works a lane ended badly."""

    code = "lane_failed"


class Instant(click.ParamType[datetime]):
    """An ISO 8601 instant with offset."""

    name = "instant"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        try:
            instant = datetime.fromisoformat(str(value))
        except ValueError:
            self.fail(f"{value!r} is not an ISO 8601 instant.", param, ctx)
        if instant.tzinfo is None:
            self.fail(f"{value!r} needs an offset, as in 2027-01-04T08:00+01:00.", param, ctx)
        return instant.astimezone(UTC)


@click.command()
@click.option("--at", type=Instant(), help="Decide what is due as of this instant; default: now.")
@click.option("--work", is_flag=True, help="Execute what may start now, until nothing is left.")
@json_option
@click.pass_obj
def tick(settings: Settings, at: datetime | None, work: bool, as_json: bool) -> None:
    """Run one dispatcher pass: admit what is due, find again what a lost worker held.

    Without --work, what waits is offered by the dispatcher of `dagster dev` or of the daemon.
    """
    if at is not None and at > system_clock() and not settings.demo:
        raise Refused(
            "--at may not lie in the future: deliveries would go out early.", code="future_instant"
        )
    backends = open_backends(settings, os.environ, system_clock)
    moment = at or system_clock()
    done = _pass(backends, moment)
    totals = {"admitted": done.admitted, "missed": done.missed, "recovered": done.recovered}
    worked: list[dict[str, Any]] = []
    while work:
        if not as_json and not worked:
            click.echo("Working …", err=True)
        finished = [_finished(backends, key) for key in _work_lane(settings, DELIVERY_LANE)]
        worked += finished
        if not finished:
            break
        done = _pass(backends, moment)
        for name in totals:
            totals[name] += getattr(done, name)
    waiting = _waiting(backends)
    if as_json:
        print_json({"at": moment, **totals, "worked": worked, "waiting": waiting})
        return
    click.echo(
        f"As of {local_text(moment)}: {totals['admitted']} admitted,"
        f" {totals['missed']} missed, {totals['recovered']} recovered."
    )
    if worked:
        print_table(
            ["OCCURRENCE", "SCHEDULE", "ENDED", "CODE"],
            [
                [one["occurrence"], one["schedule"], one["outcome"] or one["state"], one["code"]]
                for one in worked
            ],
        )
    for one in waiting:
        until = f", until {local_text(one['until'])}" if one["until"] else ""
        click.echo(f"Waits: {one['occurrence']} ({one['schedule']}) for {one['why']}{until}")


def _pass(backends: Backends, at: datetime) -> Pass:
    # Nothing is offered here: an offer needs somebody who launches its run at once.
    done = run_pass(backends, at=at, offer=False)
    if done.held_by is not None:
        raise PassHeld(f"Another dispatcher pass is at work: {done.held_by}. Try again.")
    return done


def _work_lane(settings: Settings, lane: str) -> Iterator[str]:
    """Work a lane in a child process; yields the key of each occurrence it worked on."""
    environment = {**os.environ, "DAGSTER_HOME": str(make_dagster_home(settings))}
    log = settings.home / f"{lane}.log"
    with (
        log.open("ab") as log_file,
        subprocess.Popen(  # noqa: S603 - our own module, no shell
            [sys.executable, "-m", "queries_orchestration.cli.lane", lane],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=log_file,
            text=True,
        ) as child,
    ):
        for line in child.stdout or ():
            yield json.loads(line)["occurrence"]
    if child.returncode != 0:
        raise LaneFailed(f"The {lane} lane ended with status {child.returncode}; see {log}.")


def _finished(backends: Backends, key: str) -> dict[str, Any]:
    with backends.database.read() as connection:
        workspace_id = cross_workspace.workspace_of(connection, key) or ""
        found = occurrences.get(connection, workspace_id, key)
        workspace = workspaces.get(connection, workspace_id)
        schedule = found and schedules.get(connection, workspace_id, found.schedule_id)
    return {
        "occurrence": key,
        "workspace": workspace and workspace.name,
        "schedule": schedule and schedule.name,
        "state": found and found.state,
        "outcome": found and found.outcome,
        "code": found and found.code,
    }


def _waiting(backends: Backends) -> list[dict[str, Any]]:
    with backends.database.read() as connection:
        waiting = cross_workspace.unsettled(connection, silence=backends.settings.heartbeat_silence)
        named = []
        for one in waiting:
            schedule = schedules.get(connection, one.workspace_id, one.schedule_id)
            named.append(
                {
                    "occurrence": one.occurrence_key,
                    "schedule": schedule and schedule.name,
                    "why": one.why,
                    "until": one.until,
                }
            )
    return named
