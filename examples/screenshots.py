"""``python -m examples.screenshots FOLDER``: what every page looks like, to be looked at.

Each in light and dark, on a desk and on a phone; Debian's ``chromium`` takes them.
"""

from __future__ import annotations

import argparse
import shutil
import sqlite3
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Final

import click
import uvicorn
from playwright.sync_api import Browser, sync_playwright

from examples.dev import free_port
from examples.flights_data import NEW_YORK, are_current, make_flights_database
from examples.place import ROOT, Place
from examples.quarter import EVERY_MORNING, Quarter, live_a_quarter, open_quarter
from queries_orchestration.communications.mailbox import Mailbox
from queries_orchestration.exports.look_up import own_exports
from queries_orchestration.store import occurrences
from queries_orchestration.web.app import create_app
from queries_orchestration.web.bearer_tokens import Named
from queries_orchestration.web.development_tokens import development_key, development_token
from queries_orchestration.web.open_verifier import expected_of, open_verifier

CHROMIUM: Final = "/usr/bin/chromium"
ARGUMENTS: Final = ("--no-sandbox", "--disable-gpu", "--hide-scrollbars")
SIZES: Final = {"desk": (1280, 800), "phone": (390, 844)}


def main(arguments: list[str] | None = None) -> int:
    """Take them all."""
    parser = argparse.ArgumentParser(prog="python -m examples.screenshots", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--keep", action="store_true", help="the data of the last time")
    parser.add_argument("--only", default="", help="the pages whose names begin so")
    asked = parser.parse_args(arguments)
    port = free_port()
    place, address = Place(ROOT / "build" / "screenshots"), f"http://127.0.0.1:{port}"
    quarter = open_quarter(place, public_url=address) if asked.keep else _lived(place, address)
    asked.folder.mkdir(parents=True, exist_ok=True)
    with _served(quarter, port), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        for name, path in _pages(quarter).items():
            if name.startswith(asked.only):
                _take(browser, address, _token(quarter), name, path, asked.folder)
        browser.close()
    return 0


def _lived(place: Place, address: str) -> Quarter:
    flights = place.flights
    if not are_current(flights):
        place.folder.mkdir(parents=True, exist_ok=True)
        click.echo("Making the database of flights …")
        make_flights_database(flights, today=datetime.now(NEW_YORK).date())
        _thin(flights)
    for left in place.folder.iterdir():
        if left != flights:
            shutil.rmtree(left) if left.is_dir() else left.unlink()
    place.queries("init")
    click.echo("Living a quarter …")
    return live_a_quarter(place, public_url=address)


def _thin(flights: Path) -> None:
    """Leave one flight in thirty, so that a quarter is soon over."""
    with closing(sqlite3.connect(flights)) as connection:
        connection.execute("DELETE FROM flights WHERE id % 30")
        connection.commit()
        connection.execute("VACUUM")


@contextmanager
def _served(quarter: Quarter, port: int) -> Iterator[None]:
    backends = quarter.backends
    app = create_app(backends, open_verifier(backends.settings, backends.clock))
    server = uvicorn.Server(
        uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning", access_log=False)
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    try:
        yield
    finally:
        server.should_exit = True
        thread.join()


def _token(quarter: Quarter) -> str:
    backends = quarter.backends
    return development_token(
        development_key(backends.settings),
        expected_of(backends.settings, backends.clock),
        Named(workspace="new-york", person="ada"),
    )


def _pages(quarter: Quarter) -> dict[str, str]:
    """Return the address of each page by what its picture is called."""
    backends, workspace_id = quarter.backends, quarter.workspace_id
    own = own_exports(backends.database, workspace_id, person_id=quarter.person("ada"), limit=10)
    states = {file.export.state: file.export.id for file in own}
    with backends.database.across.read() as connection:
        ended = occurrences.history(
            connection, workspace_id, quarter.schedule(EVERY_MORNING).id, limit=100
        )
    keys = {one.outcome: one.key for one in ended}
    morning = f"/schedules/{EVERY_MORNING}"
    mailbox = backends.communications
    messages = mailbox.messages() if isinstance(mailbox, Mailbox) else []
    return {
        "sign-in": "/sign-in",
        "exports": "/exports",
        "export-ready": f"/exports/{states['ready']}",
        "export-running": f"/exports/{states['running']}",
        "sources": "/export",
        "start-export": "/export/late-departures",
        "schedules": "/schedules",
        "schedule": morning,
        "schedule-paused": "/schedules/destinations",
        "schedule-newer": "/schedules/airlines",
        "occurrence-partly": f"{morning}/occurrences/{keys['delivered_partly']}",
        "occurrence-failed": f"{morning}/occurrences/{keys['failed']}",
        "mailbox": "/mailbox",
        "message": f"/mailbox/{messages[-1].file.stem}",
        "not-found": "/schedules/no-such-schedule",
    }


def _take(browser: Browser, address: str, token: str, name: str, path: str, folder: Path) -> None:
    for size, (width, height) in SIZES.items():
        for colours in ("light", "dark"):
            context = browser.new_context(
                viewport={"width": width, "height": height},
                color_scheme="dark" if colours == "dark" else "light",
                reduced_motion="reduce",
            )
            if name != "sign-in":
                context.add_cookies([{"name": "session", "value": token, "url": address}])
            shown = context.new_page()
            shown.goto(address + path)
            shown.screenshot(path=folder / f"{name}-{size}-{colours}.png", full_page=True)
            context.close()
    click.echo(f"   {name}")


if __name__ == "__main__":
    sys.exit(main())
