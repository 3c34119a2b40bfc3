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
    zone_of,
)
from queries_orchestration.cli.verb import pass_ready_settings
from queries_orchestration.model.clock import system_clock
from queries_orchestration.model.errors import NotFound
from queries_orchestration.receives.backends import Backends, open_backends
from queries_orchestration.settings import Settings
from queries_orchestration.store import (
    deliveries,
    exports,
    occurrences,
    people,
    schedules,
    workspaces,
)
from queries_orchestration.store.occurrences import Occurrence
from queries_orchestration.store.schedules import Schedule
from queries_orchestration.store.workspaces import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """One schedule with its occurrences, the newest first, each with the JSON that tells it."""

    workspace: Workspace
    schedule: Schedule
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
    with backends.database.read() as connection:
        chapters = [
            Chapter(
                workspace=place,
                schedule=plan,
                told=[
                    (occurrence, _occurrence(connection, backends, place, plan, occurrence))
                    for occurrence in occurrences.history(
                        connection, place.id, plan.id, limit=limit
                    )
                ],
            )
            for place, plan in _chosen(connection, schedule, workspace)
        ]
    if as_json:
        print_json(
            {
                "occurrences": [one for chapter in chapters for _, one in chapter.told],
                "schedules": [
                    _schedule(chapter.workspace, chapter.schedule) for chapter in chapters
                ],
            }
        )
        return
    if not chapters:
        click.echo("There are no schedules yet: `queries catalog apply` brings them in.")
    for number, chapter in enumerate(chapters):
        if number:
            click.echo()
        _print(chapter)


def _chosen(
    connection: Connection, name: str | None, workspace_name: str | None
) -> list[tuple[Workspace, Schedule]]:
    places = workspaces.listing(connection)
    if workspace_name is not None:
        places = [place for place in places if place.name == workspace_name]
        if not places:
            raise NotFound(f"There is no workspace {workspace_name!r}.")
    chosen = [
        (place, plan)
        for place in places
        for plan in schedules.listing(connection, place.id)
        if name is None or plan.name == name
    ]
    if name is not None and not chosen:
        raise NotFound(f"There is no schedule {name!r}; `queries history` lists them all.")
    return chosen


def _schedule(place: Workspace, plan: Schedule) -> dict[str, Any]:
    return {
        "workspace": place.name,
        "schedule": plan.name,
        "state": plan.state,
        "pause_code": plan.pause_code,
        "pause_reason": plan.pause_reason,
        "next_slot": plan.next_slot,
        "failure_streak": plan.failure_streak,
    }


def _occurrence(
    connection: Connection,
    backends: Backends,
    place: Workspace,
    plan: Schedule,
    occurrence: Occurrence,
) -> dict[str, Any]:
    actor = occurrence.actor_id and people.get(connection, place.id, occurrence.actor_id)
    return {
        "occurrence": occurrence.key,
        "workspace": place.name,
        "schedule": plan.name,
        "slot": occurrence.slot,
        "via": occurrence.via,
        "state": occurrence.state,
        "outcome": occurrence.outcome,
        "code": occurrence.code,
        "message": occurrence.message,
        "actor": actor.name if actor else None,
        "receives": occurrence.receive_number,
        "source_changed": occurrence.source_changed,
        "settled_at": occurrence.settled_at,
        "file": _file(connection, backends, occurrence),
        "deliveries": _deliveries(connection, occurrence),
    }


def _file(
    connection: Connection, backends: Backends, occurrence: Occurrence
) -> dict[str, Any] | None:
    if occurrence.export_id is None:
        return None
    export = exports.get(connection, occurrence.workspace_id, occurrence.export_id)
    if export is None or export.state != "ready":
        return None
    return {
        "format": export.format,
        "rows": export.rows,
        "size": export.size,
        "sha256": export.sha256,
        "location": backends.storage.location(export.storage_key),
        "expires_at": export.expires_at,
    }


def _deliveries(connection: Connection, occurrence: Occurrence) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = []
    for delivery in deliveries.of_occurrence(connection, occurrence.workspace_id, occurrence.key):
        person = people.get(connection, occurrence.workspace_id, delivery.person_id)
        told.append(
            {
                "person": person.name if person else None,
                "state": delivery.state,
                "code": delivery.code,
                "message_id": delivery.message_id,
            }
        )
    return sorted(told, key=lambda delivery: delivery["person"] or "")


def _print(chapter: Chapter) -> None:
    schedule = chapter.schedule
    click.echo(f"{chapter.workspace.name}/{schedule.name}: {schedule.title}")
    if schedule.next_slot is not None:
        click.echo(f"  {local_text(schedule.next_slot, zone_of(schedule))}  next")
    if schedule.state == "paused":
        print_wrapped(f"paused with {schedule.pause_code}: {schedule.pause_reason}", indent=2)
    for occurrence, told in chapter.told:
        slot = slot_text(schedule, occurrence)
        ended = occurrence.outcome or occurrence.state
        click.echo(f"  {slot:<20}  {ended:<16}  {occurrence.key}")
        for line in (_result(told), _reason(occurrence)):
            if line:
                print_wrapped(line, indent=6)


def _result(told: dict[str, Any]) -> str:
    """Return what there is of: rows and format, as whom, who got what."""
    file, parts = told["file"], []
    if file:
        parts.append(f"{file['rows']:,} rows as {file['format']}")
    if told["actor"]:
        parts.append(f"for {told['actor']}")
    if told["receives"] > 1:
        parts.append(f"in {told['receives']} receives")
    got = ", ".join(
        f"{delivery['person']} {delivery['state']}"
        + (f" ({delivery['code']})" if delivery["code"] else "")
        for delivery in told["deliveries"]
    )
    return ": ".join(filter(None, (" ".join(parts), got)))


def _reason(occurrence: Occurrence) -> str:
    return ": ".join(filter(None, (occurrence.code, occurrence.message)))
