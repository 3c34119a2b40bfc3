"""``queries audit``: who launched, changed, downloaded, and who was refused."""

from __future__ import annotations

from typing import Any

import click
from sqlalchemy import Connection

from queries_orchestration.cli.asker import workspace_named
from queries_orchestration.cli.output import json_option, local_text, print_json, print_table
from queries_orchestration.cli.verb import pass_ready_settings
from queries_orchestration.cli.words import workspace_option
from queries_orchestration.model.audit import AuditEvent
from queries_orchestration.settings import Settings
from queries_orchestration.store import audit as events, people, schedules, sources
from queries_orchestration.store.database import Database
from queries_orchestration.store.workspaces import Workspace


@click.command()
@workspace_option
@click.option(
    "--limit",
    type=click.IntRange(1, 10_000),
    default=50,
    show_default=True,
    help="At most so many, the newest.",
)
@json_option
@pass_ready_settings
def audit(settings: Settings, workspace: str | None, limit: int, as_json: bool) -> None:
    """Show who did what in a workspace and who was refused, the newest first."""
    with Database(settings.database_url).read() as connection:
        place = workspace_named(connection, workspace)
        told = [
            _json(connection, place, event)
            for event in events.listing(connection, place.id, limit=limit)
        ]
    if as_json:
        print_json({"events": told})
    elif not told:
        click.echo("Nobody has done anything yet.")
    else:
        print_table(
            ["AT", "WHO", "VIA", "WHAT", "OF", "WHOM", "CODE"],
            [
                [
                    local_text(one["at"]),
                    _who(one),
                    one["via"],
                    (one["attempted"] and f"refused {one['attempted']}") or one["action"],
                    f"{one['subject_kind']} {one['subject'] or one['subject_id'] or '?'}",
                    one["concerns"] or one["concerns_id"],
                    one["code"],
                ]
                for one in told
            ],
        )


def _who(told: dict[str, Any]) -> str:
    if told["outside_id"]:
        return f"outside {told['outside_id']}"
    nobody = "the system" if told["via"] == "system" else "the operator"
    return told["person"] or told["person_id"] or nobody


def _json(connection: Connection, place: Workspace, event: AuditEvent) -> dict[str, Any]:
    """Tell an event with the names of what is still there; what is gone has its id alone."""

    def person(person_id: str | None) -> str | None:
        found = person_id and people.get(connection, place.id, person_id)
        return found.name if found else None

    return {
        "workspace": place.name,
        "id": event.id,
        "at": event.at,
        "via": event.by.via,
        "person": person(event.by.person_id),
        "person_id": event.by.person_id,
        "outside_id": event.by.outside_id,
        "action": event.action,
        "attempted": event.attempted,
        "subject_kind": event.subject.kind,
        "subject": _name(connection, place, event),
        "subject_id": event.subject.id,
        "concerns": person(event.concerns_id),
        "concerns_id": event.concerns_id,
        "code": event.code,
    }


def _name(connection: Connection, place: Workspace, event: AuditEvent) -> str | None:
    """Return the name of what has one: exports and occurrences go by their ids."""
    kind, subject_id = event.subject.kind, event.subject.id
    if subject_id is None:
        return None
    if kind == "workspace":
        return place.name
    if kind == "schedule":
        label = schedules.label_of(connection, place.id, subject_id)
        return label.name if label else None
    if kind == "source":
        source = sources.get(connection, place.id, subject_id)
        return source.name if source else None
    return None
