"""``make dev``: the examples in the Dagster UI, where the schedules deliver by themselves.

What is in ``build/dev`` stays between two runs; remove the folder to begin anew.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import sys
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Final

import click

from examples.flights_data import NEW_YORK, DataMissing, are_current, make_flights_database
from examples.place import CATALOG, EVERY_FIVE_MINUTES, ROOT, CommandFailed, Place, shown

HOST: Final = "127.0.0.1"
USUAL_PORT: Final = 3000


def main(arguments: list[str] | None = None) -> int:
    """Prepare the folder and become ``dagster dev``; returns a status only if that fails."""
    parser = argparse.ArgumentParser(prog="python -m examples.dev", description=__doc__)
    parser.add_argument(
        "--into",
        type=Path,
        default=ROOT / "build" / "dev",
        help="folder of the workspace, kept between two runs (default: build/dev)",
    )
    parser.add_argument("--port", type=int, help="of the UI (default: 3000, or a free one)")
    asked = parser.parse_args(arguments)
    place = Place(asked.into.resolve())
    try:
        prepare(place)
    except (CommandFailed, DataMissing) as error:
        click.secho(f"The workspace could not be made. {error}", fg="red", err=True)
        return 1
    port = asked.port or free_port()
    tell(place, port)
    become_dagster(place, port)
    return 1


def prepare(place: Place) -> None:
    """Make what is missing, and bring the catalog up to date.

    Raises:
        CommandFailed: a command refused or failed.
        DataMissing: the package with the flights is not installed.
    """
    place.folder.mkdir(parents=True, exist_ok=True)
    if not are_current(place.flights):
        click.echo("Making the database of flights …")
        make_flights_database(place.flights, today=datetime.now(NEW_YORK).date())
    place.queries("init")
    place.queries("catalog", "apply", *CATALOG, EVERY_FIVE_MINUTES)


def free_port() -> int:
    """Return the usual port, or another one if that is taken."""
    for port in (USUAL_PORT, 0):
        with closing(socket.socket()) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise CommandFailed("There is no free port for the UI.")


def tell(place: Place, port: int) -> None:
    """Say where everything will be seen."""
    home = f"QUERIES_HOME={shown(place.folder)} .venv/bin/queries"
    click.secho("\nQueries, on a schedule: the development workspace", bold=True)
    for what, where in (
        ("The UI", f"http://{HOST}:{port}, ready in some seconds; Ctrl-C stops it"),
        ("Deliveries", f"http://{HOST}:{port}/runs, one every five minutes"),
        ("Messages", f"{shown(place.folder / 'mailbox')}/*.eml, or: {home} mailbox"),
        ("Files", shown(place.folder / "files")),
        ("History", f"{home} history every-five-minutes"),
        (
            "Run now",
            f"FLIGHTS_DATABASE_URL=sqlite:///{place.flights} {home}"
            " run-now all-departures-jfk --workspace new-york --as ada",
        ),
    ):
        click.echo(f"   {what:<12}{where}")
    click.echo()


def become_dagster(place: Place, port: int) -> None:
    """Replace this process by ``dagster dev``, so that it gets every signal itself."""
    # A shell that starts us in the background may have made us ignore Ctrl-C.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # At the top lies a dagster.yaml, of which Dagster would warn that it is not the one in use.
    os.chdir(place.folder)
    workspace = str(ROOT / "workspace.yaml")
    words = ["-m", "dagster", "dev", "-w", workspace, "-h", HOST, "-p", str(port)]
    os.execve(sys.executable, [sys.executable, *words], place.environment())  # noqa: S606


if __name__ == "__main__":
    sys.exit(main())
