"""``queries retention``: what is past its age, counted, or removed."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import Final

import click

from queries_orchestration.cli.dagster_home import make_dagster_home
from queries_orchestration.cli.output import json_option, print_json, print_table
from queries_orchestration.cli.verb import pass_ready_settings
from queries_orchestration.model.clock import system_clock
from queries_orchestration.receives.backends import open_backends
from queries_orchestration.retention.found import Found
from queries_orchestration.retention.retain import retain
from queries_orchestration.settings import Settings

ONLY_TOLD: Final = ("rows_without_file",)
SHOWN: Final = ("files_without_row", "rows_without_file")
"""Kinds of which somebody wants to know which they are."""


@click.command()
@click.option("--do", is_flag=True, help="Remove it; else it is counted, and nothing goes.")
@json_option
@pass_ready_settings
def retention(settings: Settings, do: bool, as_json: bool) -> None:
    """Count what is past its age, of all workspaces; with --do remove it.

    Expired files, stale uploads, files without a row and rows without a file, history
    and audit events past their days, finished runs of Dagster. Of history a count by
    month stays. `QUERIES_HISTORY_DAYS`, `…_AUDIT_DAYS` and `…_RUN_DAYS` say how long.
    """
    import dagster as dg

    from queries_orchestration.orchestration.dagster_run_log import DagsterRunLog

    os.environ["DAGSTER_HOME"] = str(make_dagster_home(settings))
    backends = open_backends(settings, os.environ, system_clock)
    with dg.DagsterInstance.get() as instance:
        found = retain(backends, DagsterRunLog(instance), do=do)
    if as_json:
        print_json({"removed": do, "found": [asdict(one) for one in found]})
    else:
        _tell(found, do=do)
    if any(one.code is not None for one in found):
        raise click.exceptions.Exit(1)


def _tell(found: list[Found], *, do: bool) -> None:
    print_table(
        ["KIND", "REMOVED" if do else "FOUND"],
        [[one.kind, "told below" if _only_told(one) else str(one.count)] for one in found],
    )
    for one in found:
        if one.kind in SHOWN and one.count:
            more = f" and {one.count - len(one.shown)} more" if one.count > len(one.shown) else ""
            click.echo(f"{one.kind}: {', '.join(one.shown)}{more}")
        if one.code is not None:
            click.echo(f"{one.kind}: {one.code}: {one.message}", err=True)
    if not do:
        click.echo("Nothing was removed: `queries retention --do` removes it.")


def _only_told(one: Found) -> bool:
    return one.kind in ONLY_TOLD and one.count > 0
