"""``queries schedules``: look at schedules, pause and resume them, move them to a version."""

from __future__ import annotations

import os
from typing import Any

import click

from queries_orchestration.cli.asker import schedule_named, workspace_named
from queries_orchestration.cli.output import (
    json_option,
    local_text,
    print_json,
    print_pairs,
    print_table,
    unreadable_text,
    values_text,
    zone_of,
)
from queries_orchestration.cli.preview import preview
from queries_orchestration.cli.transfer import transfer
from queries_orchestration.cli.try_delivery import try_delivery
from queries_orchestration.cli.unsubscriptions import resubscribe, unsubscribe
from queries_orchestration.cli.verb import pass_ready_settings
from queries_orchestration.cli.words import set_option, workspace_option
from queries_orchestration.deliveries import schedule_changes
from queries_orchestration.model.audit import OPERATOR
from queries_orchestration.model.clock import system_clock
from queries_orchestration.receives.backends import Backends, open_backends
from queries_orchestration.settings import Settings
from queries_orchestration.store import schedules as schedules_store
from queries_orchestration.store.database import Database
from queries_orchestration.store.schedules import Schedule
from queries_orchestration.store.workspaces import Workspace
from queries_orchestration.telling.recipients import recipient_text, recipients_text
from queries_orchestration.telling.schedules import schedule_json


@click.group()
def schedules() -> None:
    """Schedules: what there is, pause, resume, another version, what comes next."""


schedules.add_command(preview)
schedules.add_command(unsubscribe)
schedules.add_command(resubscribe)
schedules.add_command(try_delivery)
schedules.add_command(transfer)


@schedules.command("list")
@workspace_option
@json_option
@pass_ready_settings
def list_(settings: Settings, workspace: str | None, as_json: bool) -> None:
    """List the schedules of a workspace by name."""
    database = Database(settings.database_url)
    place = workspace_named(database, workspace)
    with database.read(place.id) as connection:
        found = schedules_store.readable_listing(connection, place.id)
        plans = found.records
        told = [schedule_json(connection, place, plan) for plan in plans]
    unreadable = [str(name) for _, name in found.unreadable]
    if as_json:
        print_json({"schedules": told, "unreadable": unreadable})
    elif not plans and not unreadable:
        click.echo("There are no schedules yet: `queries catalog apply` brings them in.")
    else:
        print_table(
            ["SCHEDULE", "STATE", "NEXT", "SOURCE", "VERSION", "OWNER"],
            [
                [plan.name, one["state"], _next(plan), one["source"], _version(one), one["owner"]]
                for plan, one in zip(plans, told, strict=True)
            ],
        )
        for name in unreadable:
            click.echo(unreadable_text(name))


@schedules.command()
@click.argument("schedule")
@workspace_option
@json_option
@pass_ready_settings
def show(settings: Settings, schedule: str, workspace: str | None, as_json: bool) -> None:
    """Show SCHEDULE: its rule, query or report, recipients, state."""
    database = Database(settings.database_url)
    place = workspace_named(database, workspace)
    with database.read(place.id) as connection:
        plan = schedule_named(connection, place, schedule)
    _tell(database, place, plan, as_json=as_json)


@schedules.command()
@click.argument("schedule")
@workspace_option
@click.option("--reason", default="By `queries schedules pause`.", help="Why, for others to read.")
@json_option
@pass_ready_settings
def pause(
    settings: Settings, schedule: str, workspace: str | None, reason: str, as_json: bool
) -> None:
    """Pause SCHEDULE until it is resumed; what was due already is still delivered."""
    backends, place, plan = _asked(settings, schedule, workspace)
    changed = schedule_changes.pause(
        backends, place.id, schedule_id=plan.id, by=OPERATOR, reason=reason
    )
    _tell(backends.database, place, changed, as_json=as_json)


@schedules.command()
@click.argument("schedule")
@workspace_option
@json_option
@pass_ready_settings
def resume(settings: Settings, schedule: str, workspace: str | None, as_json: bool) -> None:
    """Let the paused SCHEDULE go on with its next slot after now, never with a past one."""
    backends, place, plan = _asked(settings, schedule, workspace)
    changed = schedule_changes.resume(backends, place.id, schedule_id=plan.id, by=OPERATOR)
    _tell(backends.database, place, changed, as_json=as_json)


@schedules.command()
@click.argument("schedule")
@workspace_option
@click.option("--version", type=click.IntRange(1), help="Of its query; default: the current one.")
@set_option
@click.option("--no-values", is_flag=True, help="Take away the values it has.")
@json_option
@pass_ready_settings
def repin(
    settings: Settings,
    schedule: str,
    workspace: str | None,
    version: int | None,
    values: dict[str, str],
    no_values: bool,
    as_json: bool,
) -> None:
    """Move SCHEDULE to another version of its query, if its owner can open that.

    Of a report, which is always rendered as it is now, this takes its change as seen.

    The values of --set take the place of all the values it has.
    """
    if values and no_values:
        raise click.UsageError("Give --set or --no-values, not both.")
    backends, place, plan = _asked(settings, schedule, workspace)
    changed = schedule_changes.repin(
        backends,
        place.id,
        schedule_id=plan.id,
        by=OPERATOR,
        version=version,
        values=values if values or no_values else None,
    )
    _tell(backends.database, place, changed, as_json=as_json)


def _asked(
    settings: Settings, schedule: str, workspace: str | None
) -> tuple[Backends, Workspace, Schedule]:
    backends = open_backends(settings, os.environ, system_clock)
    place = workspace_named(backends.database, workspace)
    with backends.database.read(place.id) as connection:
        return backends, place, schedule_named(connection, place, schedule)


def _tell(database: Database, place: Workspace, plan: Schedule, *, as_json: bool) -> None:
    with database.read(plan.workspace_id) as connection:
        told = schedule_json(connection, place, plan)
    if as_json:
        print_json(told)
        return
    reason = f"{plan.pause_code}: {plan.pause_reason}" if plan.state == "paused" else None
    print_pairs(
        [
            ("schedule", f"{place.name}/{plan.name}"),
            ("title", plan.title),
            ("state", plan.state),
            ("reason", reason),
            ("next", _next(plan)),
            ("recurrence", _recurrence(plan)),
            ("starts on", plan.starts_on),
            ("ends on", plan.ends_on),
            (told["kind"], f"{told['source']}, version {_version(told)}"),
            ("values", values_text(told["values"])),
            ("format", plan.format),
            ("owner", told["owner"]),
            ("recipients", recipients_text(told["recipients"])),
            ("unsubscribed", ", ".join(map(recipient_text, told["unsubscribed"]))),
            ("missed slots", plan.missed_slots),
            ("late by at most", plan.lateness_limit and f"{plan.lateness_limit} s"),
            ("if empty", _if_empty(told)),
            ("failures in a row", plan.failure_streak or None),
        ]
    )


def _recurrence(plan: Schedule) -> str:
    days = "  on the last day of the month" if plan.last_day else ""
    return f"{plan.cron}{days}  {plan.time_zone}"


def _if_empty(told: dict[str, Any]) -> str | None:
    if told["kind"] == "report":
        return None  # its sections say so themselves
    return "is skipped" if told["skip_empty"] else "is delivered"


def _next(plan: Schedule) -> str:
    return local_text(plan.next_slot, zone_of(plan)) if plan.next_slot else ""


def _version(told: dict[str, Any]) -> str:
    newer = told["current_version"] != told["version"]
    return f"{told['version']}" + (f" of {told['current_version']}" if newer else "")
