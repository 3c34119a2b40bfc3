"""The child process that works a lane for ``tick --work``, seen from the command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator

from queries_orchestration.cli.init import make_dagster_home
from queries_orchestration.model.errors import QueriesError
from queries_orchestration.settings import Settings


class LaneFailed(QueriesError):
    """The process that works a lane ended badly."""

    code = "lane_failed"


def run_lane_process(settings: Settings, lane: str) -> Iterator[str]:
    """Work ``lane`` in a child process; yields the key of each piece of work it did.

    A process of its own, since only it needs Dagster, which takes seconds to load.

    Raises:
        LaneFailed: it was killed or failed; what it held is found by a later pass.
    """
    environment = {**os.environ, "DAGSTER_HOME": str(make_dagster_home(settings))}
    log = settings.home / f"{lane}.log"
    with (
        log.open("ab") as log_file,
        subprocess.Popen(  # noqa: S603 - our own module, no shell
            [sys.executable, "-m", "queries_orchestration.cli.lane", lane],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=log_file,
            text=True,
        ) as child,
    ):
        for line in child.stdout or ():
            yield json.loads(line)["work"]
    if child.returncode != 0:
        raise LaneFailed(
            f"The process of the {lane} lane ended with status {child.returncode}; see {log}."
            " What it worked on is offered again: run `queries tick` to see when."
        )
