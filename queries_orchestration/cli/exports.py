"""``queries exports``: what became of the files that a person asked for."""

from __future__ import annotations

import os
from pathlib import Path

import click

from queries_orchestration.cli.asker import person_named, workspace_named
from queries_orchestration.cli.output import (
    json_option,
    local_text,
    print_json,
    print_pairs,
    print_table,
    tell_failure,
)
from queries_orchestration.cli.save_file import STANDARD_OUTPUT, NotSaved, check_place, save
from queries_orchestration.cli.told_export import export_pairs, proof_text, size_of
from queries_orchestration.cli.verb import pass_ready_settings
from queries_orchestration.cli.words import person_option, workspace_option
from queries_orchestration.exports.cancel import cancel_export
from queries_orchestration.exports.download import download as give_link
from queries_orchestration.exports.export_file import ExportFile
from queries_orchestration.exports.look_up import look_up, own_exports
from queries_orchestration.exports.open_link import open_link
from queries_orchestration.exports.verify import verify_export
from queries_orchestration.model.audit import By, Subject
from queries_orchestration.model.clock import system_clock
from queries_orchestration.model.time_zones import zone
from queries_orchestration.receives.backends import Backends, open_backends
from queries_orchestration.settings import Settings
from queries_orchestration.store.people import Person
from queries_orchestration.store.refusals import refusals_recorded
from queries_orchestration.store.workspaces import Workspace
from queries_orchestration.telling.exports import export_json, proof_json


@click.group()
def exports() -> None:
    """Files that were asked for: what became of them, to fetch or to cancel."""


@exports.command("list")
@workspace_option
@person_option
@click.option(
    "--limit",
    type=click.IntRange(1, 10_000),
    default=50,
    show_default=True,
    help="At most so many.",
)
@json_option
@pass_ready_settings
def list_(
    settings: Settings, workspace: str | None, person: str, limit: int, as_json: bool
) -> None:
    """List the exports that a person asked for, the newest first."""
    backends, place, asker = _asked(settings, workspace, person)
    files = own_exports(backends.database, place.id, person_id=asker.id, limit=limit)
    if as_json:
        print_json({"exports": [export_json(place.name, file) for file in files]})
    elif not files:
        click.echo(f"{asker.name} has asked for no exports: `queries export` does.")
    else:
        print_table(
            ["EXPORT", "SOURCE", "FORMAT", "REQUESTED", "STATE", "SIZE"],
            [
                [
                    file.export.id,
                    file.source.name,
                    file.export.format,
                    local_text(file.export.created_at, zone(file.export.time_zone)),
                    file.export.state,
                    size_of(file),
                ]
                for file in files
            ],
        )


@exports.command()
@click.argument("export")
@workspace_option
@person_option
@json_option
@pass_ready_settings
def show(
    settings: Settings, export: str, workspace: str | None, person: str, as_json: bool
) -> None:
    """Show what became of EXPORT, an id, and how far it is."""
    backends, place, asker = _asked(settings, workspace, person)
    file = look_up(backends.database, place.id, person_id=asker.id, export_id=export)
    _tell(place, file, as_json=as_json)


@exports.command()
@click.argument("export")
@workspace_option
@person_option
@json_option
@pass_ready_settings
def cancel(
    settings: Settings, export: str, workspace: str | None, person: str, as_json: bool
) -> None:
    """Cancel EXPORT, an id, that is not finished: one's own, an administrator any."""
    backends, place, asker = _asked(settings, workspace, person)
    by = By(via="command", person_id=asker.id)
    with refusals_recorded(
        backends.database,
        place.id,
        by=by,
        attempted="export_cancelled",
        subject=Subject.asked("export", export),
        clock=backends.clock,
    ):
        cancel_export(backends, place.id, by=by, export_id=export)
    file = look_up(backends.database, place.id, person_id=asker.id, export_id=export)
    _tell(place, file, as_json=as_json)


@exports.command()
@click.argument("export")
@workspace_option
@person_option
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="Where the file goes; - prints it.",
)
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@json_option
@pass_ready_settings
def download(
    settings: Settings,
    export: str,
    workspace: str | None,
    person: str,
    out: Path,
    force: bool,
    as_json: bool,
) -> None:
    """Fetch the file of EXPORT, an id; of a delivery, who governs its schedule may."""
    if out == STANDARD_OUTPUT and as_json:
        raise click.UsageError("--json and --out - would both print.")
    check_place(out, force=force)
    backends, place, asker = _asked(settings, workspace, person)
    fetch(backends, place, asker, export, out, force=force, as_json=as_json)


@exports.command()
@click.argument("export")
@workspace_option
@person_option
@json_option
@pass_ready_settings
def verify(
    settings: Settings, export: str, workspace: str | None, person: str, as_json: bool
) -> None:
    """Prove that the file of EXPORT, an id, is complete.

    Reads what storage holds, and compares size, SHA-256, rows and columns with what was recorded
    when the file was made. Ends with 1 at the first difference.
    """
    backends, place, asker = _asked(settings, workspace, person)
    proof = verify_export(
        backends.database,
        backends.storage,
        clock=backends.clock,
        workspace_id=place.id,
        person_id=asker.id,
        export_id=export,
    )
    told = proof_json(place.name, proof)
    if proof.difference is not None:
        advice = f"{proof.difference} Do not use the file; ask for it again."
        tell_failure("file_differs", advice, as_json=as_json, **told)
        raise click.exceptions.Exit(1)
    print_json(told) if as_json else click.echo(f"complete: {proof_text(proof)}")


def fetch(
    backends: Backends,
    place: Workspace,
    asker: Person,
    export_id: str,
    out: Path,
    *,
    force: bool,
    as_json: bool,
) -> None:
    """Download an export's file through a link of its own into ``out``, and tell so.

    Raises:
        NotFound, AccessLost, Refused: as ``exports.download``; or ``out`` is there already.
        NotSaved: ``out`` cannot be written; nothing is left there.
        FileDiffers: the file's bytes are not those that were recorded.
        SourceUnavailable, StorageUnavailable, StoreUnavailable: try again later.
    """
    by = By(via="command", person_id=asker.id)
    with refusals_recorded(
        backends.database,
        place.id,
        by=by,
        attempted="file_downloaded",
        subject=Subject.asked("export", export_id),
        clock=backends.clock,
    ):
        link = give_link(
            backends.database,
            backends.storage,
            clock=backends.clock,
            environment=backends.environment,
            workspace_id=place.id,
            by=by,
            export_id=export_id,
        )
    found = open_link(backends.storage, link, now=backends.clock())
    file = look_up(backends.database, place.id, person_id=asker.id, export_id=export_id)
    with found.stream as stream:
        try:
            save(stream, out, force=force, sha256=file.export.sha256)
        except NotSaved as error:
            raise NotSaved(
                f"{error.message} The export is ready: `queries exports download {export_id}"
                f" --workspace {place.name} --as {asker.name} --out FILE` fetches it."
            ) from error
    if as_json:
        print_json({**export_json(place.name, file), "out": str(out)})
    else:
        click.echo(f"{out}: {size_of(file)}", err=out == STANDARD_OUTPUT)


def _asked(
    settings: Settings, workspace: str | None, person: str
) -> tuple[Backends, Workspace, Person]:
    backends = open_backends(settings, os.environ, system_clock)
    place = workspace_named(backends.database, workspace)
    with backends.database.read(place.id) as connection:
        return backends, place, person_named(connection, place, person)


def _tell(place: Workspace, file: ExportFile, *, as_json: bool) -> None:
    if as_json:
        print_json(export_json(place.name, file))
    else:
        print_pairs(export_pairs(place.name, file))
