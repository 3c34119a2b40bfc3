"""A process that runs one pass or one receive, and kills itself with SIGKILL at a named step."""

from __future__ import annotations

import json
import os
import signal
import sys
from dataclasses import replace
from datetime import datetime

from queries_orchestration.deliveries.dispatch import run_pass
from queries_orchestration.deliveries.receive import work
from queries_orchestration.receives.backends import open_backends
from queries_orchestration.receives.runs import NoRuns
from queries_orchestration.settings import load_settings


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
    if task["run"] == "pass":
        run_pass(backends, NoRuns(), at=moment, offer=True)
    else:
        work(backends, task["key"], offer_number=task["offer"], run_id="child")


if __name__ == "__main__":
    main()
