"""``queries export``: ask for a file, follow it, fetch it."""

from __future__ import annotations

import os
from pathlib import Path

import click

from queries_orchestration.cli.asker import person_named, workspace_named
from queries_orchestration.cli.exports import fetch
from queries_orchestration.cli.follow import Followed, follow, publish_work
from queries_orchestration.cli.output import end_failed, json_option, print_json
from queries_orchestration.cli.save_file import STANDARD_OUTPUT, check_place
from queries_orchestration.cli.verb import pass_ready_settings
from queries_orchestration.cli.words import (
    check_work_options,
    key_option,
    person_option,
    set_option,
    work_options,
    workspace_option,
)
from queries_orchestration.exports.admit import admit_export
from queries_orchestration.exports.look_up import look_up
from queries_orchestration.exports.open_source import lane_of
from queries_orchestration.model.audit import By, Subject
from queries_orchestration.model.clock import system_clock
from queries_orchestration.model.errors import Refused
from queries_orchestration.model.formats import FORMATS
from queries_orchestration.receives.backends import open_backends
from queries_orchestration.settings import Settings
from queries_orchestration.store import sources
from queries_orchestration.store.refusals import refusals_recorded
from queries_orchestration.telling.exports import export_json


@click.command()
@click.argument("source")
@workspace_option
@person_option
@click.option(
    "--format",
    "file_format",
    type=click.Choice(FORMATS),
    required=True,
    help="Of the file: csv or xlsx of a query, pdf or xlsx of a report.",
)
@set_option
@click.option(
    "--time-zone", metavar="NAME", help="Of instants in the file; default: the workspace's."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Where the file goes; - prints it.",
)
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@key_option
@work_options
@json_option
@pass_ready_settings
def export(
    settings: Settings,
    source: str,
    workspace: str | None,
    person: str,
    file_format: str,
    values: dict[str, str],
    time_zone: str | None,
    out: Path | None,
    force: bool,
    client_key: str | None,
    work: bool,
    no_wait: bool,
    wait: float | None,
    as_json: bool,
) -> None:
    """Make a file of SOURCE, as a person: a query's whole result, or a report.

    Ctrl-C leaves the export running. With --no-wait take the file later with
    `queries exports download`.
    """
    check_work_options(work=work, no_wait=no_wait, wait=wait)
    if (out is None) != no_wait:
        raise click.UsageError("Give --out FILE, or --no-wait to take the file later.")
    if out == STANDARD_OUTPUT and as_json:
        raise click.UsageError("--json and --out - would both print.")
    if out is not None:
        check_place(out, force=force)
    backends = open_backends(settings, os.environ, system_clock)
    place = workspace_named(backends.database, workspace)
    with backends.database.read(place.id) as connection:
        asker = person_named(connection, place, person)
        found = sources.by_name(connection, place.id, source)
    by = By(via="command", person_id=asker.id)
    with refusals_recorded(
        backends.database,
        place.id,
        by=by,
        attempted="export_asked",
        subject=Subject("source", found.id if found else None),
        clock=backends.clock,
    ):
        export_id = admit_export(
            backends,
            place.id,
            by=by,
            source_name=source,
            file_format=file_format,
            given_values=values,
            time_zone=time_zone,
            client_key=client_key,
        )
    asked = look_up(backends.database, place.id, person_id=asker.id, export_id=export_id)
    options = f"{export_id} --workspace {place.name} --as {asker.name}"
    followed = Followed(
        workspace_id=place.id,
        key=export_id,
        export_id=export_id,
        lane=lane_of(asked.source.kind),
        label=f"Exporting {place.name}/{source}",
        later=(
            "The export does not end with this command. To take its file, see it or stop it:\n"
            f"  queries exports download {options} --out FILE\n"
            f"  queries exports show {options}\n"
            f"  queries exports cancel {options}"
        ),
    )
    if not work:
        publish_work(backends, followed)
    if out is not None:
        follow(backends, followed, work_here=work, wait=wait, quiet=as_json)
    file = look_up(backends.database, place.id, person_id=asker.id, export_id=export_id)
    told = export_json(place.name, file)
    if out is None:
        print_json(told) if as_json else click.echo(export_id)
    elif file.export.state == "expired":
        raise Refused(f"{file.expired().message} Ask with another --key.", code="file_expired")
    elif file.export.state != "ready":
        end_failed(told, as_json=as_json)
    else:
        fetch(backends, place, asker, export_id, out, force=force, as_json=as_json)
