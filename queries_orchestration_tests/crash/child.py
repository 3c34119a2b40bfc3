"""A process that does one thing of the product, and kills itself with SIGKILL at a named step."""

from __future__ import annotations

import json
import os
import signal
import sys
from dataclasses import replace
from datetime import date, datetime
from typing import Any

from queries_orchestration.deliveries.backfill import backfill
from queries_orchestration.deliveries.dispatch import run_pass
from queries_orchestration.deliveries.resend import resend
from queries_orchestration.deliveries.run_now import run_now
from queries_orchestration.exports.admit import admit_export
from queries_orchestration.model.audit import OPERATOR, By
from queries_orchestration.receives.backends import Backends, open_backends
from queries_orchestration.receives.publish import publish
from queries_orchestration.retention.erase import erase
from queries_orchestration.retention.retain import retain
from queries_orchestration.settings import load_settings
from queries_orchestration_tests.house import WORK
from queries_orchestration_tests.no_runs import NoRuns
from queries_orchestration_tests.retention.retained import Runs


def main() -> None:
    """Do what the JSON argument says; an ``at`` step is where the process ends."""
    task = json.loads(sys.argv[1])
    moment = datetime.fromisoformat(task["moment"])
    left = task.get("times", 1)

    def reached(step: str) -> None:
        nonlocal left
        if step != task["at"]:
            return
        left -= 1
        if left > 0:
            return
        if task.get("hang"):
            sys.stdout.write("hanging\n")
            sys.stdout.flush()
            sys.stdin.read()
            return
        os.kill(os.getpid(), signal.SIGKILL)

    backends = replace(
        open_backends(load_settings(os.environ), os.environ, lambda: moment), reached=reached
    )
    _RUNS[task["run"]](backends, task)


def _pass(backends: Backends, task: dict[str, Any]) -> None:
    run_pass(backends, NoRuns(), at=datetime.fromisoformat(task["moment"]), offer=True)


def _receive(backends: Backends, task: dict[str, Any]) -> None:
    WORK[task["lane"]](backends, task["key"], offer_number=task["offer"], run_id="child")


def _run_now(backends: Backends, task: dict[str, Any]) -> None:
    key = run_now(
        backends,
        task["workspace"],
        schedule_id=task["schedule"],
        by=By(via="command", person_id=task["person"]),
        client_key="click",
    )
    publish(backends, task["workspace"], key, lambda _offer: "accepted")


def _export(backends: Backends, task: dict[str, Any]) -> None:
    key = admit_export(
        backends,
        task["workspace"],
        by=By(via="command", person_id=task["person"]),
        source_name="all-orders",
        file_format="csv",
        given_values={},
    )
    publish(backends, task["workspace"], key, lambda _offer: "accepted")


def _resend(backends: Backends, task: dict[str, Any]) -> None:
    key = resend(
        backends,
        task["workspace"],
        occurrence_key=task["occurrence"],
        by=By(via="command", person_id=task["person"]),
    )
    publish(backends, task["workspace"], key, lambda _offer: "accepted")


def _backfill(backends: Backends, task: dict[str, Any]) -> None:
    backfill(backends, date.fromisoformat(task["day"]), by=OPERATOR)


def _retention(backends: Backends, task: dict[str, Any]) -> None:
    retain(backends, Runs(), do=True)


def _erase(backends: Backends, task: dict[str, Any]) -> None:
    erase(backends, task["workspace"], task["person"], by=OPERATOR, do=True)


_RUNS = {
    "pass": _pass,
    "receive": _receive,
    "run-now": _run_now,
    "export": _export,
    "resend": _resend,
    "backfill": _backfill,
    "retention": _retention,
    "erase": _erase,
}


if __name__ == "__main__":
    main()
