"""``queries erase-person``: take somebody out of every row, at their wish and for good."""

from __future__ import annotations

import os
from dataclasses import asdict

import click

from queries_orchestration.cli.asker import workspace_named
from queries_orchestration.cli.output import json_option, print_json, print_wrapped
from queries_orchestration.cli.recipient_named import recipient_named
from queries_orchestration.cli.verb import pass_ready_settings
from queries_orchestration.cli.words import workspace_option
from queries_orchestration.model.audit import OPERATOR
from queries_orchestration.model.clock import system_clock
from queries_orchestration.receives.backends import open_backends
from queries_orchestration.retention.erase import erase
from queries_orchestration.settings import Settings


@click.command("erase-person")
@click.argument("person")
@workspace_option
@click.option("--do", is_flag=True, help="Erase them; else it is only checked.")
@json_option
@pass_ready_settings
def erase_person(
    settings: Settings, person: str, workspace: str | None, do: bool, as_json: bool
) -> None:
    """Take PERSON's name, addresses, roles and subscriptions away, for good.

    PERSON is a name in the catalog, or an outside address or its id. History keeps an id
    and its counts. Take them out of the catalog files, too: applied again, these make
    somebody new of the same name.
    """
    backends = open_backends(settings, os.environ, system_clock)
    place = workspace_named(backends.database, workspace)
    with backends.database.read(place.id) as connection:
        recipient_id = recipient_named(connection, place, person)
    erased = erase(backends, place.id, recipient_id, by=OPERATOR, do=do)
    also = ", ".join(erased.also)
    if as_json:
        print_json({"erased": do, **asdict(erased)})
    elif do:
        print_wrapped(
            f"Erased: history knows them as {erased.id}. Take them out of the catalog files, too:"
            " applied again, these make somebody new of the same name, with another id.",
            indent=0,
        )
    else:
        print_wrapped(
            f"Nothing was changed: with --do {erased.id} is erased, for good; history has"
            f" {erased.messages} messages to them, which are counted still.",
            indent=0,
        )
    if also and not as_json:
        print_wrapped(
            f"The same mailbox is that of {also}, too: if it is theirs alone, erase that as well.",
            indent=0,
        )
