"""``queries history``: for every slot what happened, as whom, why not, and what each got."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import click
from sqlalchemy import Connection

from queries_orchestration.cli.output import (
    json_option,
    local_text,
    print_json,
    print_wrapped,
    slot_text,
    unreadable_text,
    zone_of,
)
from queries_orchestration.cli.told_occurrence import (
    notes_text,
    reason_text,
    result_text,
    runs_text,
)
from queries_orchestration.cli.verb import pass_ready_settings
from queries_orchestration.model.clock import system_clock
from queries_orchestration.model.errors import NotFound, UnreadableRow
from queries_orchestration.receives.backends import Backends, open_backends
from queries_orchestration.settings import Settings
from queries_orchestration.store import occurrences, schedules, workspaces
from queries_orchestration.store.occurrences import Occurrence
from queries_orchestration.store.schedules import Schedule
from queries_orchestration.store.workspaces import Workspace
from queries_orchestration.telling.months import months_json
from queries_orchestration.telling.occurrences import occurrences_json
from queries_orchestration.telling.schedules import transfers_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """One schedule with its occurrences, the newest first, each with the JSON that tells it.

    ``months`` are what stays of those that are past their age.
    """

    workspace: Workspace
    schedule: Schedule
    transfers: list[dict[str, Any]]
    months: list[dict[str, Any]]
    told: list[tuple[Occurrence, dict[str, Any]]]


@click.command()
@click.argument("schedule", required=False)
@click.option("--workspace", help="Only this workspace.")
@click.option(
    "--limit",
    type=click.IntRange(1, 10_000),
    default=100,
    show_default=True,
    help="At most so many occurrences of each schedule, the newest.",
)
@json_option
@pass_ready_settings
def history(
    settings: Settings, schedule: str | None, workspace: str | None, limit: int, as_json: bool
) -> None:
    """Show what became of every slot and run, of SCHEDULE or of all."""
    backends = open_backends(settings, os.environ, system_clock)
    with backends.database.across.read() as connection:
        chosen, unreadable = _chosen(connection, schedule, workspace)
        chapters: list[Chapter] = []
        for place, plan in chosen:
            try:
                chapters.append(_chapter(connection, backends, place, plan, limit=limit))
            except UnreadableRow:
                unreadable.append(f"{place.name}/{plan.name}")
    if as_json:
        print_json(
            {
                "occurrences": [one for chapter in chapters for _, one in chapter.told],
                "schedules": [_schedule(chapter) for chapter in chapters],
                "unreadable": unreadable,
            }
        )
        return
    for name in unreadable:
        click.echo(unreadable_text(name))
    if not chapters and not unreadable:
        click.echo("There are no schedules yet: `queries catalog apply` brings them in.")
    for number, chapter in enumerate(chapters):
        if number:
            click.echo()
        _print(chapter, settings.dagster_url)


def _chapter(
    connection: Connection, backends: Backends, place: Workspace, plan: Schedule, *, limit: int
) -> Chapter:
    found = occurrences.history(connection, place.id, plan.id, limit=limit)
    return Chapter(
        workspace=place,
        schedule=plan,
        transfers=transfers_json(connection, plan),
        months=months_json(connection, plan),
        told=list(
            zip(found, occurrences_json(connection, backends, place, plan, found), strict=True)
        ),
    )


def _chosen(
    connection: Connection, name: str | None, workspace_name: str | None
) -> tuple[list[tuple[Workspace, Schedule]], list[str]]:
    """Return the schedules to tell of, and the names of those whose row cannot be read."""
    places = workspaces.listing(connection)
    if workspace_name is not None:
        places = [place for place in places if place.name == workspace_name]
        if not places:
            raise NotFound(f"There is no workspace {workspace_name!r}.")
    chosen: list[tuple[Workspace, Schedule]] = []
    unreadable: list[str] = []
    for place in places:
        found = schedules.readable_listing(connection, place.id)
        chosen += [(place, plan) for plan in found.records if name in (None, plan.name)]
        unreadable += [
            f"{place.name}/{other}" for _, other in found.unreadable if name in (None, other)
        ]
    if name is not None and not chosen and not unreadable:
        raise NotFound(f"There is no schedule {name!r}; `queries history` lists them all.")
    return chosen, unreadable


def _schedule(chapter: Chapter) -> dict[str, Any]:
    plan = chapter.schedule
    return {
        "workspace": chapter.workspace.name,
        "schedule": plan.name,
        "state": plan.state,
        "pause_code": plan.pause_code,
        "pause_reason": plan.pause_reason,
        "next_slot": plan.next_slot,
        "failure_streak": plan.failure_streak,
        "transfers": chapter.transfers,
        "months": chapter.months,
    }


def _print(chapter: Chapter, dagster_url: str) -> None:
    schedule = chapter.schedule
    click.echo(f"{chapter.workspace.name}/{schedule.name}: {schedule.title}")
    if schedule.next_slot is not None:
        click.echo(f"  {local_text(schedule.next_slot, zone_of(schedule))}  next")
    if schedule.state == "paused":
        print_wrapped(f"paused with {schedule.pause_code}: {schedule.pause_reason}", indent=2)
    for one in chapter.transfers:
        why = f": {one['reason']}" if one["reason"] else ""
        when = local_text(one["at"], zone_of(schedule))
        print_wrapped(
            f"transferred from {one['from']} to {one['to']} by {one['by']} at {when}{why}", indent=2
        )
    for occurrence, told in chapter.told:
        slot = slot_text(schedule, occurrence)
        ended = occurrence.outcome or occurrence.state
        click.echo(f"  {slot:<20}  {ended:<16}  {occurrence.key}")
        for line in (result_text(told), reason_text(told), *notes_text(told)):
            if line:
                print_wrapped(line, indent=6)
        for line in runs_text(told, dagster_url):
            click.echo(f"      {line}")  # an address is not to be wrapped
    for month in reversed(chapter.months):
        print_wrapped(_month_text(month), indent=2)


def _month_text(month: dict[str, Any]) -> str:
    """Return what stays of a month: how many ended so, and what recipients got."""
    ended = " ".join(word for word in (month["outcome"], month["code"]) if word)
    kind = "" if month["purpose"] == "delivery" else f" ({month['purpose']})"
    got = [
        f"{month[state]} {state}"
        for state in ("sent", "skipped", "refused", "uncertain", "unsent", "sending")
        if month[state]
    ]
    told = ", ".join([f"{month['occurrences']} {ended}{kind}", *got])
    return f"{month['month']}, past its age: {told}"
