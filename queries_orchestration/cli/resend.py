"""``queries resend``: send an occurrence's file again to those whom it did not reach."""

from __future__ import annotations

import os

import click

from queries_orchestration.cli.asker import person_named
from queries_orchestration.cli.follow_occurrence import follow_occurrence
from queries_orchestration.cli.output import json_option
from queries_orchestration.cli.verb import pass_ready_settings
from queries_orchestration.cli.words import check_work_options, person_option, work_options
from queries_orchestration.deliveries.resend import resend as admit
from queries_orchestration.model.audit import By, Subject
from queries_orchestration.model.clock import system_clock
from queries_orchestration.model.errors import NotFound
from queries_orchestration.receives.backends import open_backends
from queries_orchestration.settings import Settings
from queries_orchestration.store import cross_workspace, occurrences, schedules, workspaces
from queries_orchestration.store.refusals import refusals_recorded


@click.command()
@click.argument("occurrence")
@person_option
@click.option("--reason", help="Why, for the history.")
@work_options
@json_option
@pass_ready_settings
def resend(
    settings: Settings,
    occurrence: str,
    person: str,
    reason: str | None,
    work: bool,
    no_wait: bool,
    wait: float | None,
    as_json: bool,
) -> None:
    """Send the file of OCCURRENCE again, to the refused and uncertain recipients alone.

    OCCURRENCE is a key that `queries history` shows. Needs authority over the schedule.
    """
    check_work_options(work=work, no_wait=no_wait, wait=wait)
    backends = open_backends(settings, os.environ, system_clock)
    with backends.database.across.read() as connection:
        workspace_id = cross_workspace.workspace_of_occurrence(connection, occurrence) or ""
        place = workspaces.get(connection, workspace_id)
        found = occurrences.get(connection, workspace_id, occurrence)
        plan = found and schedules.get(connection, workspace_id, found.schedule_id)
        if place is None or not plan:
            raise NotFound(f"There is no occurrence {occurrence!r}; see `queries history`.")
        asker = person_named(connection, place, person)
    by = By(via="command", person_id=asker.id)
    with refusals_recorded(
        backends.database,
        place.id,
        by=by,
        attempted="resend_launched",
        subject=Subject("occurrence", occurrence),
        clock=backends.clock,
    ):
        key = admit(backends, place.id, occurrence_key=occurrence, by=by, reason=reason)
    follow_occurrence(
        backends, place, plan, key, work=work, no_wait=no_wait, wait=wait, as_json=as_json
    )
