"""``make dev``: the examples on our pages and in Dagster's, where schedules deliver by themselves.

What is in ``build/dev`` stays between two runs; remove the folder to begin anew.
"""

from __future__ import annotations

import argparse
import signal
import socket
import subprocess
import sys
import threading
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Final

import click

from examples.flights_data import NEW_YORK, DataMissing, are_current, make_flights_database
from examples.place import CATALOG, EVERY_FIVE_MINUTES, ROOT, CommandFailed, Place, shown

HOST: Final = "127.0.0.1"
USUAL_PORT: Final = 3000
USUAL_PAGES_PORT: Final = 8080
ENDS_WITHIN: Final = 20
"""Seconds that a server has to end after it was asked to."""


def main(arguments: list[str] | None = None) -> int:
    """Prepare the folder, and serve until Ctrl-C or one of the servers ends; return a status."""
    parser = argparse.ArgumentParser(prog="python -m examples.dev", description=__doc__)
    parser.add_argument(
        "--into",
        type=Path,
        default=ROOT / "build" / "dev",
        help="folder of the workspace, kept between two runs (default: build/dev)",
    )
    parser.add_argument("--port", type=int, help="of Dagster's UI (default: 3000, or a free one)")
    parser.add_argument(
        "--pages", type=int, help="port of the pages (default: 8080, or a free one)"
    )
    asked = parser.parse_args(arguments)
    place = Place(asked.into.resolve())
    try:
        prepare(place)
    except (CommandFailed, DataMissing) as error:
        click.secho(f"The workspace could not be made. {error}", fg="red", err=True)
        return 1
    port = asked.port or free_port()
    pages = asked.pages or free_port(USUAL_PAGES_PORT)
    tell(place, port, pages)
    return serve(place, port, pages)


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


def free_port(usual: int = USUAL_PORT) -> int:
    """Return the usual port, or another one if that is taken."""
    for port in (usual, 0):
        with closing(socket.socket()) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise CommandFailed("There is no free port for the UI.")


def tell(place: Place, port: int, pages: int) -> None:
    """Say where everything will be seen."""
    token = place.queries("token", "--workspace", "new-york", "--as", "ada")["token"]
    home = f"QUERIES_HOME={shown(place.folder)} .venv/bin/queries"
    click.secho("\nQueries, on a schedule: the development workspace", bold=True)
    for what, where in (
        ("The pages", f"http://{HOST}:{pages}, ready in some seconds; Ctrl-C stops all"),
        ("Sign in", f"http://{HOST}:{pages}/sign-in#token={token}"),
        (
            "",
            "as Ada, for twelve hours; for others:"
            f" QUERIES_DEMO=1 {home} token --workspace new-york --as ben",
        ),
        ("Dagster", f"http://{HOST}:{port}"),
        ("Deliveries", f"http://{HOST}:{port}/runs, one every five minutes"),
        ("Messages", f"http://{HOST}:{pages}/mailbox, or: {home} mailbox"),
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


def serve(place: Place, port: int, pages: int) -> int:
    """Run ``dagster dev`` and ``queries serve`` until one of them ends or we are told to.

    Returns:
        0 if we were told to end; 1 if a server ended by itself.
    """
    environment = place.environment() | {
        "QUERIES_PUBLIC_URL": f"http://{HOST}:{pages}",
        "QUERIES_DAGSTER_URL": f"http://{HOST}:{port}",
    }
    ended = threading.Event()
    for told in (signal.SIGINT, signal.SIGTERM):
        signal.signal(told, lambda *_: ended.set())
    dagster = ["-m", "dagster", "dev", "-w", str(ROOT / "workspace.yaml"), "-h", HOST]
    ours = ["-m", "queries_orchestration", "serve", "--host", HOST, "--port", str(pages)]
    servers = [
        subprocess.Popen(
            [sys.executable, *words],
            env=environment,
            # At the top lies a dagster.yaml, of which Dagster would warn that it is not in use.
            cwd=place.folder,
            # Ctrl-C reaches us alone, so that both are ended in one way.
            start_new_session=True,
        )
        for words in ([*dagster, "-p", str(port)], ours)
    ]
    try:
        while not ended.wait(0.2) and all(server.poll() is None for server in servers):
            pass
    finally:
        for server in servers:
            server.terminate()
        for server in servers:
            _end(server)
    return 0 if ended.is_set() else 1


def _end(server: subprocess.Popen[bytes]) -> None:
    try:
        server.wait(ENDS_WITHIN)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


if __name__ == "__main__":
    sys.exit(main())
