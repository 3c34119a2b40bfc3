"""``queries token``: a token of the development mode, to try the API and the pages with."""

from __future__ import annotations

import click

from queries_orchestration.cli.asker import person_named, workspace_named
from queries_orchestration.cli.output import json_option, print_json
from queries_orchestration.cli.verb import pass_ready_settings
from queries_orchestration.cli.words import person_option, workspace_option
from queries_orchestration.model.clock import system_clock
from queries_orchestration.settings import Settings
from queries_orchestration.store.database import Database


@click.command()
@workspace_option
@person_option
@json_option
@pass_ready_settings
def token(settings: Settings, workspace: str | None, person: str, as_json: bool) -> None:
    """Print a token that speaks for a person for twelve hours; in development mode only."""
    # Imported here: no other verb needs a web framework.
    from queries_orchestration.web.bearer_tokens import Named
    from queries_orchestration.web.development_tokens import development_key, development_token
    from queries_orchestration.web.open_verifier import expected_of

    key = development_key(settings)
    database = Database(settings.database_url)
    place = workspace_named(database, workspace)
    with database.read(place.id) as connection:
        asker = person_named(connection, place, person)
    made = development_token(
        key,
        expected_of(settings, system_clock),
        Named(workspace=place.name, person=asker.name),
    )
    print_json({"token": made}) if as_json else click.echo(made)
