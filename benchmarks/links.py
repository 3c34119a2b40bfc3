"""Link checks, each with its download recorded, beside an empty route of the same process."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import yaml

from benchmarks.link_server import EMPTY
from benchmarks.measure import Measure, Run, take_all
from benchmarks.place import in_child
from queries_orchestration.deliveries.personal_link import link_of
from queries_orchestration.model.links import sign
from queries_orchestration.store.downloads import of_export
from queries_orchestration.store.migrate import upgrade
from queries_orchestration_tests.house import CATALOG, House, build_house
from queries_orchestration_tests.postgres import PostgresServer, free_port, running_postgres

BAR: Final = 0.12
RECIPIENTS: Final = 200
CONNECTIONS: Final = 16
SECONDS: Final = 5.0
_LIMITS: Final = {
    "QUERIES_LINK_REQUESTS_PER_ADDRESS": "1000000",
    "QUERIES_LINK_REQUESTS_PER_TOKEN": "1000000",
    "QUERIES_TOKEN_KEYS_URL": "https://login.example.org/keys",
    "QUERIES_TOKEN_ISSUER": "https://login.example.org",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkPlace:
    """A delivery to many, and a server that serves their links at ``port``."""

    house: House
    port: int
    paths: tuple[str, ...]

    def downloads(self) -> int:
        """How many are recorded."""
        occurrence = self.house.history()[-1]
        assert occurrence.export_id is not None  # noqa: S101 - it was delivered
        with self.house.backends.database.across.read() as connection:
            return len(of_export(connection, self.house.workspace_id, occurrence.export_id))


@contextmanager
def link_place(
    folder: Path, server: PostgresServer, *, recipients: int = RECIPIENTS
) -> Iterator[LinkPlace]:
    """Deliver a file to many and serve their links."""
    house = _delivered(folder, server, recipients)
    port = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.link_server", str(port)],
        env=dict(house.environment),
        cwd=Path(__file__).parents[1],
    )
    try:
        _wait(port, process)
        occurrence = house.history()[-1]  # the slots before it were missed
        links = [
            link_of(delivery, occurrence.export_id or "")
            for delivery in house.deliveries(occurrence.key).values()
        ]
        paths = tuple(f"/d/{sign(house.backends.link_keys, link)}" for link in links)
        yield LinkPlace(house=house, port=port, paths=paths)
    finally:
        process.terminate()
        process.wait(timeout=30)


def ask(place: LinkPlace, paths: tuple[str, ...], status: int, seconds: float = SECONDS) -> Run:
    """Ask for some seconds; returns how many answers came in each."""
    task = {
        "port": place.port,
        "paths": paths,
        "status": status,
        "connections": CONNECTIONS,
        "seconds": seconds,
    }
    told = in_child("asker", task)
    return Run(value=told["answered"] / told["seconds"])


def main() -> None:
    """Take the measure."""
    with (
        tempfile.TemporaryDirectory(prefix="queries-bench-") as made,
        running_postgres(is_durable=True) as server,
        link_place(Path(made), server) as place,
    ):
        ask(place, place.paths, 302, 1)  # what is loaded at the first request is loaded
        take_all(
            [
                Measure(
                    name="link checks / empty route, a second",
                    ours=lambda: ask(place, place.paths, 302),
                    baseline=lambda: ask(place, (EMPTY,), 200),
                    bar=BAR,
                )
            ]
        )


def _delivered(folder: Path, server: PostgresServer, recipients: int) -> House:
    catalog = yaml.safe_load(CATALOG)
    readers = {
        f"r{number}": {
            "title": f"Reader {number}",
            "address": f"r{number}@example.org",
            "roles": ["reader"],
        }
        for number in range(recipients)
    }
    catalog["people"] |= readers
    half = list(readers)[: recipients // 2]
    catalog["groups"] = {"half": {"people": half}}
    weekly = catalog["schedules"]["weekly"]
    weekly["recipients"] = [{"group": "half"}, *(name for name in readers if name not in half)]
    store, source = server.create_database(), server.create_database()
    upgrade(store)
    now = datetime.now(UTC).replace(microsecond=0)
    house = build_house(
        folder,
        store,
        source,
        catalog=yaml.safe_dump(catalog, sort_keys=False),
        at=now - timedelta(days=8),
        settings=_LIMITS,
    )
    if house.deliver(now) != ["delivered"]:
        raise RuntimeError("nothing was delivered")
    return house


def _wait(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(300):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5):
                return
        except OSError:
            if process.poll() is not None:
                raise RuntimeError("the server ended") from None
            time.sleep(0.1)
    raise RuntimeError("the server does not answer")


if __name__ == "__main__":
    main()
