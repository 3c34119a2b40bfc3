"""``queries schedules unsubscribe`` and ``resubscribe``: for those who ask an administrator."""

from __future__ import annotations

import os

import click

from queries_orchestration.cli.asker import schedule_named, workspace_named
from queries_orchestration.cli.output import json_option, print_json
from queries_orchestration.cli.recipient_named import recipient_named
from queries_orchestration.cli.verb import pass_ready_settings
from queries_orchestration.cli.words import workspace_option
from queries_orchestration.deliveries.unsubscribe import (
    forget_unsubscription,
    record_unsubscription,
)
from queries_orchestration.model.audit import OPERATOR
from queries_orchestration.model.clock import system_clock
from queries_orchestration.model.errors import Refused
from queries_orchestration.receives.backends import open_backends
from queries_orchestration.settings import Settings
from queries_orchestration.telling.recipients import recipient_json, recipient_text


@click.command()
@click.argument("schedule")
@click.argument("recipient")
@click.option(
    "--everywhere",
    is_flag=True,
    help="Of an outside address: from every schedule of the workspace.",
)
@workspace_option
@json_option
@pass_ready_settings
def unsubscribe(
    settings: Settings,
    schedule: str,
    recipient: str,
    everywhere: bool,
    workspace: str | None,
    as_json: bool,
) -> None:
    """Send RECIPIENT, a person's name or an outside address, no more messages of SCHEDULE."""
    backends = open_backends(settings, os.environ, system_clock)
    place = workspace_named(backends.database, workspace)
    with backends.database.transaction(place.id) as connection:
        plan = schedule_named(connection, place, schedule)
        recipient_id = recipient_named(connection, place, recipient)
        told = recipient_json(connection, place.id, recipient_id)
        if everywhere and told["person"]:
            raise Refused(
                "--everywhere is for outside addresses; to send a person nothing at all, let the"
                " catalog say `active: false`.",
                code="person_subscribes",
            )
        record_unsubscription(
            connection,
            place.id,
            schedule_id=plan.id,
            recipient_id=recipient_id,
            by=OPERATOR,
            everywhere=everywhere,
            at=backends.clock(),
        )
    if as_json:
        print_json({"schedule": plan.name, **told, "unsubscribed": True})
    else:
        click.echo(f"{recipient_text(told)} gets no more messages of {place.name}/{plan.name}.")


@click.command()
@click.argument("schedule")
@click.argument("recipient")
@workspace_option
@json_option
@pass_ready_settings
def resubscribe(
    settings: Settings, schedule: str, recipient: str, workspace: str | None, as_json: bool
) -> None:
    """Let RECIPIENT, a person's name or an outside address, have messages of SCHEDULE again.

    Only at their own wish: they had ended them.
    """
    backends = open_backends(settings, os.environ, system_clock)
    place = workspace_named(backends.database, workspace)
    with backends.database.transaction(place.id) as connection:
        plan = schedule_named(connection, place, schedule)
        recipient_id = recipient_named(connection, place, recipient)
        told = recipient_json(connection, place.id, recipient_id)
        if not forget_unsubscription(
            connection,
            place.id,
            schedule_id=plan.id,
            recipient_id=recipient_id,
            by=OPERATOR,
            at=backends.clock(),
        ):
            raise Refused(
                f"{recipient_text(told)} had not unsubscribed from {plan.name}.",
                code="not_unsubscribed",
            )
    if as_json:
        print_json({"schedule": plan.name, **told, "unsubscribed": False})
    else:
        click.echo(f"{recipient_text(told)} may get messages of {place.name}/{plan.name} again.")
