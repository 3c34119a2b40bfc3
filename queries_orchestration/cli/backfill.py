"""``queries backfill``: deliver what nobody delivered on some days, each slot once."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import date

import click

from queries_orchestration.cli.asker import person_named, schedule_named, workspace_named
from queries_orchestration.cli.output import json_option, print_json, print_table
from queries_orchestration.cli.verb import pass_ready_settings
from queries_orchestration.cli.words import Day, workspace_option
from queries_orchestration.deliveries.backfill import Backfilled, backfill_range
from queries_orchestration.model.audit import OPERATOR, By, Subject
from queries_orchestration.model.clock import system_clock
from queries_orchestration.model.errors import QueriesError
from queries_orchestration.receives.backends import open_backends
from queries_orchestration.settings import Settings
from queries_orchestration.store.refusals import refusals_recorded


@click.command()
@click.argument("first", type=Day())
@click.argument("last", type=Day(), required=False)
@workspace_option
@click.option("--schedule", metavar="NAME", help="Of this schedule alone; default: of all.")
@click.option("--as", "person", metavar="PERSON", help="Who asks; default: the operator.")
@json_option
@pass_ready_settings
def backfill(
    settings: Settings,
    first: date,
    last: date | None,
    workspace: str | None,
    schedule: str | None,
    person: str | None,
    as_json: bool,
) -> None:
    """Deliver what was missed on a day, or on each from FIRST to LAST, by UTC.

    Slots recorded as missed, such without a record, and such that a backfill failed or
    called off, of active schedules: after their creation, in no pause, in the last 365
    days. Asked twice, each is admitted once. A running Dagster delivers them after all
    other work, or `queries tick --work`.
    """
    backends = open_backends(settings, os.environ, system_clock)
    place = workspace_named(backends.database, workspace)
    with backends.database.read(place.id) as connection:
        asker = person_named(connection, place, person) if person else None
        plan = schedule_named(connection, place, schedule) if schedule else None
    by = By(via="command", person_id=asker.id) if asker else OPERATOR
    with refusals_recorded(
        backends.database,
        place.id,
        by=by,
        attempted="backfill_launched",
        subject=Subject("schedule", plan.id) if plan else Subject("workspace", place.id),
        clock=backends.clock,
    ):
        asked = backfill_range(
            backends,
            first,
            last or first,
            by=by,
            workspace_id=place.id,
            schedule_id=plan.id if plan else None,
        )
        done: list[tuple[date, Backfilled]] = []
        try:
            for day, one in asked:
                done.append((day, one))
        except QueriesError:
            admitted = sum(one.admitted for _, one in done)
            if admitted:
                click.echo(
                    f"Up to {done[-1][0]}, {admitted} slots were admitted; ask for the days again"
                    " when this is mended, and none is admitted twice:",
                    err=True,
                )
            raise
    if as_json:
        days = [
            {
                "day": day.isoformat(),
                "missed": one.missed,
                "missing": one.missing,
                "called_off": one.called_off,
                "failed": one.failed,
                "passed_over": [{"schedule": id_, "code": code} for id_, code in one.passed_over],
            }
            for day, one in done
        ]
        print_json({"admitted": sum(one.admitted for _, one in done), "days": days})
    else:
        _tell(done)
    if any(one.passed_over for _, one in done):
        raise click.exceptions.Exit(1)


def _tell(done: Sequence[tuple[date, Backfilled]]) -> None:
    print_table(
        ["DAY", "MISSED", "MISSING", "CALLED OFF", "FAILED"],
        [
            [
                str(day),
                *(str(number) for number in (one.missed, one.missing, one.called_off, one.failed)),
            ]
            for day, one in done
        ],
    )
    for day, one in done:
        for schedule_id, code in one.passed_over:
            click.echo(f"{day}: passed over the schedule {schedule_id}: {code}.", err=True)
