"""``queries dispatch``: stop all dispatching, over all workspaces, and start it again."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict
from typing import Any, TypeVar

import click

from queries_orchestration.cli.output import json_option, local_text, print_json, print_wrapped
from queries_orchestration.cli.verb import pass_ready_settings
from queries_orchestration.deliveries.stop_dispatch import start_dispatch, stop_dispatch, told
from queries_orchestration.model.audit import OPERATOR
from queries_orchestration.model.clock import system_clock
from queries_orchestration.receives.backends import open_backends
from queries_orchestration.settings import Settings
from queries_orchestration.store import dispatch_stops
from queries_orchestration.store.database import Database

Command = TypeVar("Command", bound=Callable[..., Any])

STOPS_SHOWN = 20


def _who_and_why(command: Command) -> Command:
    for option in (
        click.option("--reason", required=True, help="Why, for others to read."),
        click.option(
            "--by", required=True, metavar="NAME", help="Who does it, for others to read."
        ),
    ):
        command = option(command)
    return command


@click.group()
def dispatch() -> None:
    """The switch that stops all dispatching of an installation."""


@dispatch.command()
@_who_and_why
@json_option
@pass_ready_settings
def stop(settings: Settings, by: str, reason: str, as_json: bool) -> None:
    """Stop admitting slots and offering work, in all workspaces.

    What a run has goes on. Nothing due is lost: after `queries dispatch start` each schedule's
    missed-slots policy says what becomes of what came due meanwhile.
    """
    backends = open_backends(settings, os.environ, system_clock)
    stop_dispatch(backends, by=OPERATOR, name=by, reason=reason)
    _tell(settings, as_json=as_json)


@dispatch.command()
@_who_and_why
@json_option
@pass_ready_settings
def start(settings: Settings, by: str, reason: str, as_json: bool) -> None:
    """Start all dispatching again."""
    backends = open_backends(settings, os.environ, system_clock)
    start_dispatch(backends, by=OPERATOR, name=by, reason=reason)
    _tell(settings, as_json=as_json)


@dispatch.command()
@json_option
@pass_ready_settings
def show(settings: Settings, as_json: bool) -> None:
    """Show whether dispatching goes on, and who stopped and started it when and why."""
    _tell(settings, as_json=as_json)


def _tell(settings: Settings, *, as_json: bool) -> None:
    with Database(settings.database_url).across.read() as connection:
        current = dispatch_stops.current(connection)
        stops = dispatch_stops.listing(connection, limit=STOPS_SHOWN)
    if as_json:
        print_json({"stopped": current is not None, "stops": [asdict(stop) for stop in stops]})
        return
    click.echo(told(current) if current else "Dispatching goes on.")
    for one in stops:
        print_wrapped(
            f"stopped {local_text(one.stopped_at)} by {one.stopped_by}: {one.stop_reason}", indent=2
        )
        if one.started_at is not None:
            print_wrapped(
                f"started {local_text(one.started_at)} by {one.started_by}: {one.start_reason}",
                indent=4,
            )
