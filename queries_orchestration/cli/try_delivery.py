"""``queries schedules test``: deliver a schedule to oneself alone, without any effect on it."""

from __future__ import annotations

import os

import click

from queries_orchestration.cli.asker import person_named, schedule_named, workspace_named
from queries_orchestration.cli.follow_occurrence import follow_occurrence
from queries_orchestration.cli.output import json_option
from queries_orchestration.cli.verb import pass_ready_settings
from queries_orchestration.cli.words import (
    check_work_options,
    person_option,
    work_options,
    workspace_option,
)
from queries_orchestration.deliveries.run_now import run_now
from queries_orchestration.model.audit import By, Subject
from queries_orchestration.model.clock import system_clock
from queries_orchestration.receives.backends import open_backends
from queries_orchestration.settings import Settings
from queries_orchestration.store.refusals import refusals_recorded


@click.command("test")
@click.argument("schedule")
@workspace_option
@person_option
@work_options
@json_option
@pass_ready_settings
def try_delivery(
    settings: Settings,
    schedule: str,
    workspace: str | None,
    person: str,
    work: bool,
    no_wait: bool,
    wait: float | None,
    as_json: bool,
) -> None:
    """Deliver SCHEDULE as a person, its owner or an administrator, to that person alone.

    The history shows it as a test. It counts for no streak and changes nothing of the schedule.
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
        attempted="test_launched",
        subject=Subject("schedule", plan.id),
        clock=backends.clock,
    ):
        key = run_now(backends, place.id, schedule_id=plan.id, by=by, purpose="test")
    follow_occurrence(
        backends, place, plan, key, work=work, no_wait=no_wait, wait=wait, as_json=as_json
    )
