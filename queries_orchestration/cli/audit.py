"""``queries audit``: who launched, changed, downloaded, and who was refused."""

from __future__ import annotations

from typing import Any

import click

from queries_orchestration.cli.asker import workspace_named
from queries_orchestration.cli.output import json_option, local_text, print_json, print_table
from queries_orchestration.cli.verb import pass_ready_settings
from queries_orchestration.cli.words import workspace_option
from queries_orchestration.settings import Settings
from queries_orchestration.store import audit as events
from queries_orchestration.store.database import Database
from queries_orchestration.telling.audit import audit_json


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
    database = Database(settings.database_url)
    place = workspace_named(database, workspace)
    with database.read(place.id) as connection:
        told = [
            audit_json(connection, place, event)
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
