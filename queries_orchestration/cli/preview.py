"""``queries schedules preview``: the next slots of a schedule, or of a rule not yet in one."""

from __future__ import annotations

from datetime import datetime
from itertools import islice
from typing import Final

import click

from queries_orchestration.cli.asker import schedule_named, workspace_named
from queries_orchestration.cli.output import json_option, local_text, print_json, print_table
from queries_orchestration.cli.verb import check_ready, pass_settings
from queries_orchestration.cli.words import Instant, workspace_option
from queries_orchestration.model.clock import system_clock
from queries_orchestration.model.recurrences import Recurrence
from queries_orchestration.model.slot_readings import Reading, ReadSlot, preview as find
from queries_orchestration.settings import Settings
from queries_orchestration.store.database import Database
from queries_orchestration.telling.slots import slots_json

_NOTES: Final[dict[Reading, str]] = {
    "plain": "",
    "gap": "{:%H:%M} does not exist on that day",
    "first_of_two": "{:%H:%M} comes twice on that day: the first",
    "second_of_two": "{:%H:%M} comes twice on that day: the second",
}


@click.command()
@click.argument("schedule", required=False)
@workspace_option
@click.option("--cron", help="Instead of SCHEDULE: a rule of five fields.")
@click.option("--time-zone", metavar="NAME", help="With --cron: its IANA time zone.")
@click.option("--last-day", is_flag=True, help="With --cron: on the last day of the month.")
@click.option("--after", type=Instant(), help="ISO 8601 with offset; default: now.")
@click.option(
    "--count",
    type=click.IntRange(1, 1_000),
    default=10,
    show_default=True,
    help="How many slots.",
)
@json_option
@pass_settings
def preview(
    settings: Settings,
    schedule: str | None,
    workspace: str | None,
    cron: str | None,
    time_zone: str | None,
    last_day: bool,
    after: datetime | None,
    count: int,
    as_json: bool,
) -> None:
    """Show the next slots of SCHEDULE or of a rule, also on days when the clocks change."""
    if schedule is not None and cron is None and time_zone is None and not last_day:
        recurrence = _of_schedule(settings, schedule, workspace)
    elif schedule is None and cron is not None and time_zone is not None:
        recurrence = Recurrence.parse(cron, time_zone, last_day=last_day)
    else:
        raise click.UsageError("Give SCHEDULE, or --cron and --time-zone.")
    slots = list(islice(find(recurrence, after=after or system_clock()), count))
    if as_json:
        print_json(slots_json(recurrence, slots))
    elif not slots:
        click.echo("It comes no more.")
    else:
        print_table(
            ["LOCAL TIME", "UTC", ""],
            [[_local(one), local_text(one.slot), _note(one)] for one in slots],
        )


def _of_schedule(settings: Settings, name: str, workspace: str | None) -> Recurrence:
    check_ready(settings.database_url)
    database = Database(settings.database_url)
    place = workspace_named(database, workspace)
    with database.read(place.id) as connection:
        plan = schedule_named(connection, place, name)
    return plan.recurrence()


def _local(one: ReadSlot) -> str:
    return f"{one.local:%a %Y-%m-%d %H:%M %Z}"


def _note(one: ReadSlot) -> str:
    return _NOTES[one.reading].format(one.named)
