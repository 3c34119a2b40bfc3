"""``queries check``: is all well? For people, and for what watches over them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import click
import yaml

from queries_orchestration.cli.dagster_home import dagster_home_of
from queries_orchestration.cli.output import json_option, print_json
from queries_orchestration.cli.verb import is_ready, pass_settings
from queries_orchestration.deliveries.check import STUCK_AFTER, check as find
from queries_orchestration.model.clock import system_clock
from queries_orchestration.model.errors import InvalidSettings, StoreUnavailable
from queries_orchestration.orchestration.tags import LANE
from queries_orchestration.receives.backends import communications_of
from queries_orchestration.settings import Settings
from queries_orchestration.store import wall
from queries_orchestration.store.database import Database

_MINUTES: Final = int(STUCK_AFTER / timedelta(minutes=1))


@click.command()
@click.option(
    "--stuck-after",
    type=click.IntRange(1, 10_000),
    default=_MINUTES,
    show_default=True,
    metavar="MINUTES",
    help="How long work may wait for a run.",
)
@json_option
@pass_settings
def check(settings: Settings, stuck_after: int, as_json: bool) -> None:
    """Tell what is not well, and what to do; ends with 1 if there is anything."""
    url = settings.database_url
    wall_faults = wall.faults(url)
    findings = find(
        settings,
        Database(url) if _is_ready(url, wall_faults) else None,
        lane_limits=lane_limits(dagster_home_of(settings) / "dagster.yaml"),
        communications=communications_of(settings, system_clock),
        at=system_clock(),
        wall_faults=wall_faults,
        stuck_after=timedelta(minutes=stuck_after),
    )
    if as_json:
        print_json({"findings": [asdict(finding) for finding in findings]})
    else:
        for finding in findings:
            click.echo(f"{finding.code}: {finding.message}")
    if findings:
        raise click.exceptions.Exit(1)
    if not as_json:
        click.echo("All is well.")
        if not settings.database_url.startswith("sqlite") and not wall.is_asked_for(url):
            click.echo("No wall between workspaces: QUERIES_DATABASE_URL names no roles.")


def _is_ready(url: str, wall_faults: Sequence[str]) -> bool:
    """Tell whether there is a database to look into; not without the roles, or their rights."""
    try:
        return is_ready(url)
    except (StoreUnavailable, InvalidSettings):
        if not wall_faults:
            raise
        return False


def lane_limits(dagster_yaml: Path) -> Mapping[str, object] | None:
    """Return how many runs of each lane ``dagster.yaml`` lets go at once; None if unreadable."""
    try:
        content: Any = yaml.safe_load(dagster_yaml.read_text(encoding="utf-8"))
        limits = content["concurrency"]["runs"]["tag_concurrency_limits"]
        return {limit["value"]: limit["limit"] for limit in limits if limit["key"] == LANE}
    except FileNotFoundError:
        return None
    except (UnicodeDecodeError, yaml.YAMLError, KeyError, TypeError):
        return {}
