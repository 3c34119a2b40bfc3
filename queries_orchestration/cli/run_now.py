"""``queries run-now``: run a schedule now, as a person, and see who got what."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import click

from queries_orchestration.cli.asker import person_named, schedule_named, workspace_named
from queries_orchestration.cli.follow import Followed, follow, publish_now
from queries_orchestration.cli.output import end_failed, json_option, print_json, print_wrapped
from queries_orchestration.cli.told_occurrence import occurrence_json, result_text
from queries_orchestration.cli.verb import pass_ready_settings
from queries_orchestration.cli.words import (
    check_work_options,
    key_option,
    person_option,
    work_options,
    workspace_option,
)
from queries_orchestration.deliveries.run_now import run_now as admit
from queries_orchestration.model.clock import system_clock
from queries_orchestration.model.errors import NotFound
from queries_orchestration.receives.backends import Backends, open_backends
from queries_orchestration.settings import DELIVERY_LANE, REPORT_LANE, Settings
from queries_orchestration.store import claims, occurrences
from queries_orchestration.store.schedules import Schedule
from queries_orchestration.store.workspaces import Workspace


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
    with backends.database.read() as connection:
        place = workspace_named(connection, workspace)
        asker = person_named(connection, place, person)
        plan = schedule_named(connection, place, schedule)
    key = admit(
        backends,
        place.id,
        schedule_id=plan.id,
        person_id=asker.id,
        client_key=client_key,
        reason=reason,
    )
    followed = _followed(backends, place, plan, key)
    if not work:
        publish_now(backends, followed)
    if not no_wait:
        follow(backends, followed, work_here=work, wait=wait, quiet=as_json)
    with backends.database.read() as connection:
        occurrence = occurrences.get(connection, place.id, key)
        if occurrence is None:
            raise NotFound(f"The occurrence {key} is gone.")
        told = occurrence_json(connection, backends, place, plan, occurrence)
    if occurrence.outcome in ("failed", "cancelled"):
        if not as_json:
            _print(told)
        end_failed(told, as_json=as_json)
    if as_json:
        print_json(told)
    elif no_wait:
        click.echo(key)
    else:
        _print(told)


def _followed(backends: Backends, place: Workspace, plan: Schedule, key: str) -> Followed:
    with backends.database.read() as connection:
        occurrence = occurrences.get(connection, place.id, key)
        export_id = (occurrence and occurrence.export_id) or ""
        is_rendered = claims.get(connection, place.id, export_id) is not None
    work = Followed(
        workspace_id=place.id,
        key=key,
        export_id=export_id,
        lane=DELIVERY_LANE,
        label=f"Running {place.name}/{plan.name}",
        later=(
            f"{key} does not end with this command. To see it:\n"
            f"  queries history {plan.name} --workspace {place.name}"
        ),
    )
    if not is_rendered:
        return work
    label = f"Rendering {place.name}/{plan.name}"
    return replace(work, first=replace(work, key=export_id, lane=REPORT_LANE, label=label))


def _print(told: dict[str, Any]) -> None:
    click.echo(f"{told['workspace']}/{told['schedule']}  {told['outcome']}  {told['occurrence']}")
    if result := result_text(told):
        print_wrapped(result, indent=2)
