"""`dagster dev`, started as a person would, delivers a due schedule with nobody touching it."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest

from queries_orchestration_tests.house import House, build_house

ROOT = Path(__file__).parents[2]
PATIENCE = 180.0

pytestmark = pytest.mark.parametrize("database_kind", ["sqlite"])


def test_dagster_dev_delivers_a_due_schedule_by_itself(
    tmp_path: Path, store_url: str, source_url: str
) -> None:
    house = build_house(
        tmp_path,
        store_url,
        source_url,
        rows=10,
        at=datetime.now(UTC) - timedelta(days=8),
        # A run waits for its process: longer than the second that other tests allow.
        settings={
            "QUERIES_OFFER_LEASE": "120",
            "QUERIES_HEARTBEAT_INTERVAL": "2",
            "QUERIES_HEARTBEAT_SILENCE": "60",
        },
    )
    dagster_home = tmp_path / "dagster"
    dagster_home.mkdir()
    shutil.copy(ROOT / "dagster.yaml", dagster_home)

    with _dagster_dev(house, dagster_home):
        _wait_for_delivery(house)
        time.sleep(2)  # The run ends after the settlement.

    delivered = [one for one in house.history() if one.outcome == "delivered"]
    assert len(delivered) == 1
    assert house.addressees() == ["bob@example.org", "cyd@example.org"]
    with dg.DagsterInstance.from_config(str(dagster_home)) as instance:
        (run,) = instance.get_runs()
    assert run.status == dg.DagsterRunStatus.SUCCESS
    assert run.job_name == "deliver_occurrence"
    assert run.tags["queries/occurrence"] == delivered[0].key
    assert run.tags["queries/workspace"] == house.workspace_id
    assert run.tags["queries/schedule"] == house.schedule().id


def _wait_for_delivery(house: House) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if any(one.outcome == "delivered" for one in house.history()):
            return
        time.sleep(0.5)
    raise AssertionError("nothing was delivered in time")


@contextmanager
def _dagster_dev(house: House, dagster_home: Path) -> Iterator[None]:
    log = house.folder / "dagster-dev.log"
    environment = {
        **house.environment,
        "DAGSTER_HOME": str(dagster_home),
        "HOME": os.environ.get("HOME", str(house.folder)),
    }
    with (
        log.open("wb") as output,
        subprocess.Popen(
            [sys.executable, "-m", "dagster", "dev", "-w", "workspace.yaml", "-p", _free_port()],
            cwd=ROOT,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        ) as process,
    ):
        try:
            yield
        except AssertionError as error:
            raise AssertionError(f"{error}\n{log.read_text()[-4_000:]}") from error
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(30)
            finally:
                _end_what_is_left(process.pid)


def _end_what_is_left(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return


def _free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])
