"""Start a child at work on a house, and see it die."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime, timedelta

from queries_orchestration.settings import EXPORT_LANE, REPORT_LANE
from queries_orchestration.store import cross_workspace
from queries_orchestration.store.offers import Offer
from queries_orchestration_tests.house import MONDAY, House

PATIENCE = 30.0


def kill_pass_at(house: House, step: str, *, at: datetime = MONDAY) -> None:
    """Run a dispatcher pass in a child that is killed at ``step``."""
    _killed(house, {"run": "pass", "at": step, "moment": at.isoformat()})


def kill_click_at(house: House, run: str, step: str, *, person: str, occurrence: str = "") -> None:
    """Run now, export or resend, and publish it, in a child that is killed at ``step``."""
    _killed(
        house,
        {
            "run": run,
            "at": step,
            "moment": MONDAY.isoformat(),
            "workspace": house.workspace_id,
            "schedule": house.schedule().id,
            "occurrence": occurrence,
            "person": house.person(person),
        },
    )


def kill_backfill_at(house: House, day: date, step: str, *, times: int = 1) -> None:
    """Backfill a day in a child that is killed when it reaches ``step`` the given time."""
    _killed(
        house,
        {
            "run": "backfill",
            "at": step,
            "moment": house.clock.at.isoformat(),
            "day": day.isoformat(),
            "times": times,
        },
    )


def kill_retention_at(house: House, step: str) -> None:
    """Remove what is past its age in a child that is killed at ``step``."""
    _killed(house, {"run": "retention", "at": step, "moment": house.clock.at.isoformat()})


def kill_erasure_at(house: House, person: str, step: str) -> None:
    """Erase a person in a child that is killed at ``step``."""
    _killed(
        house,
        {
            "run": "erase",
            "at": step,
            "moment": house.clock.at.isoformat(),
            "workspace": house.workspace_id,
            "person": house.person(person),
        },
    )


def kill_receive_at(house: House, offer: Offer, step: str, *, times: int = 1) -> None:
    """Run a receive in a child that is killed when it reaches ``step`` the given time."""
    _killed(house, _receive(offer, step) | {"times": times})


@contextmanager
def hanging_receive(house: House, offer: Offer, step: str) -> Iterator[subprocess.Popen[str]]:
    """Run a receive in a child that stays at ``step`` until its standard input is closed."""
    with subprocess.Popen(
        _command(_receive(offer, step) | {"hang": True}),
        env=dict(house.environment),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "hanging\n"
        try:
            yield child
        finally:
            child.kill()


def finish(house: House, *, at: datetime = MONDAY + timedelta(minutes=1)) -> None:
    """Go on as the product does, pass by pass, until nothing is left to do at ``at``."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        house.deliver(at)
        house.work(EXPORT_LANE)
        house.work(REPORT_LANE)
        if not house.unsettled():
            return
        time.sleep(0.1)
    raise AssertionError("the work was not done in time")


def wait_until_silent(house: House) -> None:
    """Wait until recovery would find a killed receive."""
    silence, end = house.backends.settings.heartbeat_silence, time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with house.backends.database.across.read() as connection:
            if cross_workspace.silent_receives(connection, silence=silence, limit=1):
                return
        time.sleep(0.05)
    raise AssertionError("no receive fell silent")


def _receive(offer: Offer, step: str) -> dict[str, object]:
    return {
        "run": "receive",
        "at": step,
        "moment": MONDAY.isoformat(),
        "lane": offer.lane,
        "key": offer.key,
        "offer": offer.number,
    }


def _killed(house: House, task: dict[str, object]) -> None:
    done = subprocess.run(
        _command(task), env=dict(house.environment), capture_output=True, text=True, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr


def _command(task: dict[str, object]) -> list[str]:
    return [sys.executable, "-m", "queries_orchestration_tests.crash.child", json.dumps(task)]
