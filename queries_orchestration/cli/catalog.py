"""``queries catalog apply FILE…``: the catalog as code."""

from __future__ import annotations

import os
from pathlib import Path

import click

from queries_orchestration.catalog.apply import apply_catalog
from queries_orchestration.cli.output import json_option, print_json
from queries_orchestration.cli.verb import pass_ready_settings
from queries_orchestration.model.audit import OPERATOR
from queries_orchestration.model.clock import system_clock
from queries_orchestration.settings import Settings
from queries_orchestration.store.database import Database


@click.group()
def catalog() -> None:
    """People, datasets, queries, reports and schedules, written as YAML files."""


@catalog.command("apply")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--prune", is_flag=True, help="Take away what the files of a workspace lack.")
@click.option("--take-over", is_flag=True, help="Overwrite also what somebody else wrote last.")
@json_option
@pass_ready_settings
def apply(
    settings: Settings, files: tuple[Path, ...], prune: bool, take_over: bool, as_json: bool
) -> None:
    """Check FILES as a whole, then write what is new or changed.

    Any fault is named with its file and line, and then nothing is written.
    """
    changes = apply_catalog(
        Database(settings.database_url),
        files,
        clock=system_clock,
        environment=os.environ,
        by=OPERATOR,
        prune=prune,
        take_over=take_over,
    )
    if as_json:
        print_json(changes.to_dict())
        return
    for line in changes.lines():
        click.echo(line)
