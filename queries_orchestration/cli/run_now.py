"""``queries run-now``: run a schedule now, as a person, and see who got what."""

from __future__ import annotations

import os

import click

from queries_orchestration.cli.asker import person_named, schedule_named, workspace_named
from queries_orchestration.cli.follow_occurrence import follow_occurrence
from queries_orchestration.cli.output import json_option
from queries_orchestration.cli.verb import pass_ready_settings
from queries_orchestration.cli.words import (
    check_work_options,
    key_option,
    person_option,
    work_options,
    workspace_option,
)
from queries_orchestration.deliveries.run_now import run_now as admit
from queries_orchestration.model.audit import By, Subject
from queries_orchestration.model.clock import system_clock
from queries_orchestration.receives.backends import open_backends
from queries_orchestration.settings import Settings
from queries_orchestration.store.refusals import refusals_recorded


@click.command("run-now")
@click.argument("schedule")
@workspace_option
@person_option
@click.option("--reason", help="Why, for the history.")
@key_option
@work_options
@json_option
@pass_ready_settings
def run_now(
    settings: Settings,
    schedule: str,
    workspace: str | None,
    person: str,
    reason: str | None,
    client_key: str | None,
    work: bool,
    no_wait: bool,
    wait: float | None,
    as_json: bool,
) -> None:
    """Run SCHEDULE now with the access of a person: its owner or an administrator.

    Follows it until it is settled and tells who got what. Ctrl-C leaves it running.
    """
    check_work_options(work=work, no_wait=no_wait, wait=wait)
    backends = open_backends(settings, os.environ, system_clock)
    place = workspace_named(backends.database, workspace)
    with backends.database.read(place.id) as connection:
        asker = person_named(connection, place, person)
        plan = schedule_named(connection, place, schedule)
    by = By(via="command", person_id=asker.id)
    with refusals_recorded(
        backends.database,
        place.id,
        by=by,
        attempted="run_launched",
        subject=Subject("schedule", plan.id),
        clock=backends.clock,
    ):
        key = admit(
            backends,
            place.id,
            schedule_id=plan.id,
            by=by,
            client_key=client_key,
            reason=reason,
        )
    follow_occurrence(
        backends, place, plan, key, work=work, no_wait=no_wait, wait=wait, as_json=as_json
    )
