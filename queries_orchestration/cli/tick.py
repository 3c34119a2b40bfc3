"""``queries tick``: one dispatcher pass; with ``--work`` what waits is executed as well."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import click
from sqlalchemy import Connection

from queries_orchestration.cli.lane_process import run_lane_process
from queries_orchestration.cli.output import (
    json_option,
    local_text,
    print_json,
    print_table,
    print_wrapped,
    slot_text,
)
from queries_orchestration.cli.verb import pass_ready_settings
from queries_orchestration.deliveries.backends import Backends, open_backends
from queries_orchestration.deliveries.dispatch import run_pass
from queries_orchestration.model.clock import system_clock
from queries_orchestration.model.errors import QueriesError, Refused
from queries_orchestration.settings import DELIVERY_LANE, Settings
from queries_orchestration.store import cross_workspace, occurrences, schedules, workspaces
from queries_orchestration.store.cross_workspace import Waiting


class PassHeld(QueriesError):
    """Another dispatcher pass is at work."""

    code = "pass_held"


class Instant(click.ParamType[datetime]):
    """An ISO 8601 instant with offset."""

    name = "instant"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        try:
            instant = datetime.fromisoformat(str(value))
            if instant.tzinfo is None:
                self.fail(f"{value!r} needs an offset, as in 2027-01-04T08:00+01:00.", param, ctx)
            return instant.astimezone(UTC)
        except (ValueError, OverflowError):
            self.fail(f"{value!r} is not an ISO 8601 instant.", param, ctx)


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One occurrence, as both forms of the output tell it; ``slot`` is text for people."""

    occurrence: str
    workspace: str
    schedule: str
    slot: str
    state: str
    outcome: str | None
    code: str | None

    @property
    def where(self) -> str:
        """The schedule with its workspace: two workspaces may use one name."""
        return f"{self.workspace}/{self.schedule}"


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
    # Nothing is offered here: an offer needs somebody who launches its run at once.
    done = run_pass(backends, at=moment, offer=False)
    if done.held_by is not None:
        raise PassHeld(f"Another dispatcher pass is at work: {done.held_by}. Try again.")
    totals = {"admitted": done.admitted, "missed": done.missed, "recovered": done.recovered}
    worked: list[Told] = []
    while work and _something_may_start(backends):
        if not as_json and not worked:
            click.echo("Working …", err=True)
        finished = [_look_up(backends, key) for key in run_lane_process(settings, DELIVERY_LANE)]
        worked += finished
        if not finished:
            break
        # Another command's pass may hold the lock by now; it does the same work.
        done = run_pass(backends, at=moment, offer=False)
        for name in totals:
            totals[name] += getattr(done, name)
    with backends.database.read() as connection:
        unsettled = _unsettled(connection, settings)
        waiting = [(_told(connection, one.occurrence_key), one) for one in unsettled]
    if as_json:
        _print_json(moment, totals, worked, waiting)
    else:
        _print_text(moment, totals, worked, waiting)


def _unsettled(connection: Connection, settings: Settings) -> list[Waiting]:
    return cross_workspace.unsettled(connection, silence=settings.heartbeat_silence)


def _something_may_start(backends: Backends) -> bool:
    """Tell whether a lane is worth its start: what waits for an instant cannot start."""
    with backends.database.read() as connection:
        return any(one.until is None for one in _unsettled(connection, backends.settings))


def _look_up(backends: Backends, key: str) -> Told:
    with backends.database.read() as connection:
        return _told(connection, key)


def _told(connection: Connection, key: str) -> Told:
    workspace_id = cross_workspace.workspace_of(connection, key) or ""
    workspace = workspaces.get(connection, workspace_id)
    found = occurrences.get(connection, workspace_id, key)
    if workspace is None or found is None:
        raise QueriesError(f"The occurrence {key} is gone.")
    schedule = schedules.get(connection, workspace_id, found.schedule_id)
    if schedule is None:
        raise QueriesError(f"The schedule of the occurrence {key} is gone.")
    return Told(
        occurrence=key,
        workspace=workspace.name,
        schedule=schedule.name,
        slot=slot_text(schedule, found),
        state=found.state,
        outcome=found.outcome,
        code=found.code,
    )


def _print_json(
    moment: datetime,
    totals: dict[str, int],
    worked: list[Told],
    waiting: list[tuple[Told, Waiting]],
) -> None:
    print_json(
        {
            "at": moment,
            **totals,
            "worked": [
                {
                    "occurrence": one.occurrence,
                    "workspace": one.workspace,
                    "schedule": one.schedule,
                    "state": one.state,
                    "outcome": one.outcome,
                    "code": one.code,
                }
                for one in worked
            ],
            "waiting": [
                {
                    "occurrence": one.occurrence,
                    "schedule": one.schedule,
                    "why": wait.why,
                    "until": wait.until,
                }
                for one, wait in waiting
            ],
        }
    )


def _print_text(
    moment: datetime,
    totals: dict[str, int],
    worked: list[Told],
    waiting: list[tuple[Told, Waiting]],
) -> None:
    click.echo(
        f"As of {local_text(moment)}: {totals['admitted']} admitted,"
        f" {totals['missed']} missed, {totals['recovered']} recovered."
    )
    if worked:
        click.echo()
        print_table(
            ["SCHEDULE", "SLOT", "ENDED", "CODE"],
            [[one.where, one.slot, one.outcome or one.state, one.code] for one in worked],
        )
    if waiting:
        click.echo("\nNot settled yet:")
    for one, wait in waiting:
        until = f", until {local_text(wait.until)}" if wait.until else ""
        print_wrapped(f"{one.where}  {one.slot}  waits for {wait.why}{until}", indent=2)
