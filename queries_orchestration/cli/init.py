"""``queries init``: make the home, the tables, the link keys and the Dagster home."""

from __future__ import annotations

import os
import secrets
import tempfile

import click
from alembic.util import CommandError

from queries_orchestration.cli.dagster_home import make_dagster_home
from queries_orchestration.cli.output import json_option, print_json
from queries_orchestration.cli.verb import database_faults, pass_settings
from queries_orchestration.model.errors import InvalidSettings, Refused
from queries_orchestration.settings import Settings
from queries_orchestration.store import dispatchers
from queries_orchestration.store.database import Database
from queries_orchestration.store.dispatchers import DELIVERY_DISPATCHER, UPKEEP
from queries_orchestration.store.migrate import upgrade
from queries_orchestration.store.roles import without_roles
from queries_orchestration.store.wall import raise_wall


@click.command()
@json_option
@pass_settings
def init(settings: Settings, as_json: bool) -> None:
    """Make or upgrade the application database, the link keys and the Dagster home.

    On PostgreSQL also the roles that QUERIES_DATABASE_URL names, and their rights.

    Safe to repeat: what is there stays.
    """
    try:
        settings.home.mkdir(parents=True, exist_ok=True, mode=0o700)
        made_keys = _make_link_keys(settings)
        dagster_home = make_dagster_home(settings)
    except OSError as error:
        raise InvalidSettings(
            f"QUERIES_HOME cannot be written: {error.strerror}. Choose another folder."
        ) from error
    try:
        with database_faults():
            owner_url = settings.migration_url or settings.database_url
            upgrade(owner_url)
            raise_wall(settings.database_url, owner_url=owner_url)
            with Database(without_roles(owner_url)).across.transaction() as connection:
                dispatchers.expect(connection, DELIVERY_DISPATCHER, *UPKEEP)
    except CommandError as error:
        raise Refused(
            "The application database was made by a later version of `queries`: use that one.",
            code="later_database",
        ) from error
    if as_json:
        print_json(
            {
                "home": str(settings.home),
                "dagster_home": str(dagster_home),
                "made_link_keys": made_keys,
            }
        )
        return
    click.echo(f"Ready in {settings.home}.")
    click.echo(f"For `dagster dev`: DAGSTER_HOME={dagster_home}")
    if made_keys:
        click.echo(f"New keys that sign links: {settings.link_keys_file} (keep them secret).")


def _make_link_keys(settings: Settings) -> bool:
    if settings.link_keys or settings.link_keys_file.exists():
        return False
    with tempfile.NamedTemporaryFile("w", dir=settings.home, prefix=".link-keys-") as file:
        file.write(f"k1:{secrets.token_urlsafe(48)}\n")
        file.flush()
        os.fsync(file.fileno())
        try:
            # A link, unlike a rename, leaves the keys of an `init` that was faster.
            os.link(file.name, settings.link_keys_file)
        except FileExistsError:
            return False
    return True
