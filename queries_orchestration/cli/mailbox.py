"""``queries mailbox``: what the local mailbox holds."""

from __future__ import annotations

import click

from queries_orchestration.cli.output import json_option, local_text, print_json
from queries_orchestration.cli.verb import pass_ready_settings
from queries_orchestration.communications.mailbox import Mailbox
from queries_orchestration.model.clock import system_clock
from queries_orchestration.model.errors import Refused
from queries_orchestration.receives.backends import communications_of
from queries_orchestration.settings import Settings


@click.command()
@json_option
@pass_ready_settings
def mailbox(settings: Settings, as_json: bool) -> None:
    """List the messages of the local mailbox, oldest first."""
    backend = communications_of(settings, system_clock)
    if not isinstance(backend, Mailbox):
        raise Refused("Messages do not go to a local mailbox here.", code="no_mailbox")
    messages = backend.messages()
    if as_json:
        print_json(
            {
                "messages": [
                    {
                        "file": str(message.file),
                        "to": message.to,
                        "subject": message.subject,
                        "date": message.date,
                        "link": message.link,
                    }
                    for message in messages
                ]
            }
        )
        return
    for message in messages:
        date = local_text(message.date) if message.date else "no date"
        click.echo(f"{date}  {message.to}  {message.subject}")
        click.echo(f"  {message.file}")
    if not messages:
        click.echo("There are no messages yet.")
