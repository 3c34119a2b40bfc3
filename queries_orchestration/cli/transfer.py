"""``queries schedules transfer``: give a schedule to another owner."""

from __future__ import annotations

import os

import click

from queries_orchestration.cli.asker import person_named, schedule_named, workspace_named
from queries_orchestration.cli.output import json_option, print_json
from queries_orchestration.cli.verb import pass_ready_settings
from queries_orchestration.cli.words import person_option, workspace_option
from queries_orchestration.deliveries import schedule_changes
from queries_orchestration.model.audit import By, Subject
from queries_orchestration.model.clock import system_clock
from queries_orchestration.receives.backends import open_backends
from queries_orchestration.settings import Settings
from queries_orchestration.store.refusals import refusals_recorded


@click.command()
@click.argument("schedule")
@workspace_option
@person_option
@click.option("--to", "to", required=True, metavar="PERSON", help="The new owner's name.")
@click.option("--reason", help="Why, for the history.")
@json_option
@pass_ready_settings
def transfer(
    settings: Settings,
    schedule: str,
    workspace: str | None,
    person: str,
    to: str,
    reason: str | None,
    as_json: bool,
) -> None:
    """Give SCHEDULE to another owner, who must be able to open its source now.

    Asked for by its present owner or an administrator. A paused schedule stays paused.
    """
    backends = open_backends(settings, os.environ, system_clock)
    place = workspace_named(backends.database, workspace)
    with backends.database.read(place.id) as connection:
        asker = person_named(connection, place, person)
        owner = person_named(connection, place, to)
        plan = schedule_named(connection, place, schedule)
    by = By(via="command", person_id=asker.id)
    with refusals_recorded(
        backends.database,
        place.id,
        by=by,
        attempted="schedule_transferred",
        subject=Subject("schedule", plan.id),
        clock=backends.clock,
    ):
        changed = schedule_changes.transfer(
            backends,
            place.id,
            schedule_id=plan.id,
            to_person_id=owner.id,
            by=by,
            reason=reason,
        )
    if as_json:
        print_json(
            {
                "workspace": place.name,
                "schedule": changed.name,
                "owner": owner.name,
                "state": changed.state,
            }
        )
        return
    click.echo(f"{place.name}/{changed.name} is owned by {owner.name} now.")
    if changed.state == "paused":
        click.echo(f"It is still paused: `queries schedules resume {changed.name}`.")
