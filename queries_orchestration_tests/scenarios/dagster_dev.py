"""`dagster dev`, started as a person would, on a house of its own."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from urllib.error import URLError

import dagster as dg

from queries_orchestration.cli.dagster_home import make_storage
from queries_orchestration_tests.house import House

ROOT = Path(__file__).parents[2]
PATIENCE = 180.0

Found = TypeVar("Found")


@dataclass(frozen=True, kw_only=True)
class DagsterDev:
    """A running `dagster dev` and the house that it works for."""

    house: House
    url: str
    log: Path
    instance: dg.DagsterInstance

    def wait_for(self, look: Callable[[], Found]) -> Found:
        """Look until something is found; says what Dagster printed if nothing comes."""
        end = time.monotonic() + PATIENCE
        while not (found := look()):
            if time.monotonic() > end:
                raise AssertionError(f"nothing came in time\n{self.log.read_text()[-6_000:]}")
            time.sleep(0.3)
        return found

    def runs_of(self, tag: str, value: str) -> list[dg.DagsterRun]:
        """The runs that carry a tag, the newest first."""
        return list(self.instance.get_runs(filters=dg.RunsFilter(tags={tag: value})))

    def run(self, run_id: str) -> dg.DagsterRun:
        """A run as it is now."""
        found = self.instance.get_run_by_id(run_id)
        assert found is not None
        return found


@contextmanager
def dagster_dev(house: House, port: int) -> Iterator[DagsterDev]:
    """Run `dagster dev` on ``port`` until the block ends; nothing is left running."""
    home = house.folder / "dagster"
    home.mkdir()
    shutil.copy(ROOT / "dagster.yaml", home)
    make_storage(home)
    log = house.folder / "dagster-dev.log"
    environment = {
        **house.environment,
        "DAGSTER_HOME": str(home),
        "HOME": os.environ.get("HOME", str(house.folder)),
    }
    with (
        log.open("wb") as output,
        subprocess.Popen(
            [sys.executable, "-m", "dagster", "dev", "-w", "workspace.yaml", "-p", str(port)],
            cwd=ROOT,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process,
    ):
        try:
            with dg.DagsterInstance.from_config(str(home)) as instance:
                dev = DagsterDev(
                    house=house, url=f"http://127.0.0.1:{port}", log=log, instance=instance
                )
                dev.wait_for(lambda: _answers(dev.url))
                yield dev
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(90)
            finally:
                _end_what_is_left(process.pid)


def free_port() -> int:
    """A port of this machine that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/server_info", timeout=2):
            return True
    except (URLError, OSError):
        return False


def _end_what_is_left(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return
