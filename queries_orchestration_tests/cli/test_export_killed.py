"""``queries export --work`` whose worker is killed: another one goes on, three times at most."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path

import pytest

from queries_orchestration.cli import follow
from queries_orchestration.settings import EXPORT_LANE
from queries_orchestration.store import claims, cross_workspace
from queries_orchestration_tests.cli.conftest import Call, Place, answer_of
from queries_orchestration_tests.cli.watched import PATIENCE, children
from queries_orchestration_tests.house import House

ASKED = ("export", "all-orders", "--as", "ada", "--format", "csv")
IMPATIENT = {
    "QUERIES_HEARTBEAT_INTERVAL": "0.5",
    "QUERIES_HEARTBEAT_SILENCE": "2",
    "QUERIES_RETRY_DELAY": "0.001",
}


@pytest.fixture
def ready_place(place: Place, call: Call) -> Place:
    place.environment.update(IMPATIENT)
    assert call(place.environment, "init").status == 0
    assert call(place.environment, "catalog", "apply", place.catalog).status == 0
    return place


def test_killed_in_the_middle_of_a_file_another_one_makes_it(ready_place: Place) -> None:
    out = ready_place.folder / "orders.csv"
    with closing(_locked(ready_place)):
        command = ready_place.start(*ASKED, "--out", out, "--work")
        _kill_the_worker(ready_place, command, receive=1)
    told = answer_of(command)

    assert told.status == 0, told.err
    assert "The process of the export lane ended with status -9; see " in told.err
    assert len(out.read_bytes().splitlines()) == 2_501
    assert _claims(ready_place) == [("done", 2)]
    assert list((ready_place.home / "files" / ".uploads").iterdir()) == []


def test_killed_three_times_it_has_failed_and_says_so(ready_place: Place) -> None:
    out = ready_place.folder / "orders.csv"
    with closing(_locked(ready_place)):
        command = ready_place.start(*ASKED, "--out", out, "--work", "--json")
        for receive in (1, 2, 3):
            _kill_the_worker(ready_place, command, receive=receive)
        told = answer_of(command)

    assert told.status == 1
    assert '"code": "worker_lost"' in told.out
    assert _claims(ready_place) == [("done", 3)]
    assert not out.exists()


def test_what_another_worker_left_behind_is_worked_here(
    small_house: House, call: Call, tmp_path: Path
) -> None:
    keyed = (*ASKED, "--key", "click-1")
    export_id = call(small_house.environment, *keyed, "--no-wait").out.strip()
    _receive(small_house)

    out = tmp_path / "orders.csv"
    told = call({**small_house.environment, **IMPATIENT}, *keyed, "--out", out, "--work")

    assert told.status == 0, told.err
    assert len(out.read_bytes().splitlines()) == 2_501
    assert small_house.claim(export_id).receive_number == 2


def test_a_later_attempt_is_told_while_nothing_is_at_work(
    small_house: House, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow, "PATIENCE", 0.0)
    keyed = (*ASKED, "--key", "click-1")
    call(small_house.environment, *keyed, "--no-wait")
    receive = _receive(small_house)
    with small_house.backends.database.across.transaction() as connection:
        claims.wait_again(connection, receive, code="source_unavailable", delay=600)

    out = tmp_path / "orders.csv"
    told = call(small_house.environment, *keyed, "--out", out, "--work", "--wait", "0.3")

    assert told.err.count("It waits for its next receive, until ") == 1
    assert "UTC. Then it goes on.\n" in told.err
    assert (told.status, told.err.splitlines()[-1].split(":")[0]) == (1, "still_waiting")


def _receive(house: House) -> claims.Receive:
    """Begin what waits in the export lane, and never go on with it."""
    with house.backends.database.across.transaction() as connection:
        (offer,) = cross_workspace.offer_waiting(connection, EXPORT_LANE, live_limit=1, lease=600)
        receive = claims.start(
            connection,
            offer.workspace_id,
            offer.key,
            offer_number=offer.number,
            run_id="of a worker that is gone",
        )
    assert receive is not None
    return receive


def _locked(place: Place) -> sqlite3.Connection:
    """Lock the source, so that whoever reads it waits until this is closed."""
    shop = sqlite3.connect(place.folder / "shop.db", isolation_level=None)
    shop.execute("BEGIN EXCLUSIVE")
    return shop


def _claims(place: Place) -> list[tuple[str, int]]:
    with closing(sqlite3.connect(place.home / "queries.db")) as store:
        return store.execute("SELECT state, receive_number FROM claims").fetchall()


def _uploads(place: Place) -> list[int | None]:
    """Return the receives that recorded the uploads they had begun."""
    with closing(sqlite3.connect(place.home / "queries.db")) as store:
        return [number for (number,) in store.execute("SELECT upload_receive FROM exports")]


def _kill_the_worker(place: Place, command: subprocess.Popen[str], *, receive: int) -> None:
    """Kill it in the middle of the file; an upload that is not recorded is left to the sweep."""
    end = time.monotonic() + PATIENCE
    while (_claims(place), _uploads(place)) != ([("running", receive)], [receive]):
        assert time.monotonic() < end
        assert command.poll() is None, command.communicate()
        time.sleep(0.05)
    (worker,) = children(command.pid)
    os.kill(worker, signal.SIGKILL)
