"""A started worker that makes one export, and tells how long it took and what it held."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from pathlib import Path

from queries_orchestration.exports import receive
from queries_orchestration.exports.file_writer import FileOptions, open_writer
from queries_orchestration.exports.settle import fail  # noqa: F401 - loaded before the clock runs
from queries_orchestration.model.clock import system_clock
from queries_orchestration.model.columns import Column
from queries_orchestration.receives.backends import open_backends
from queries_orchestration.settings import load_settings
from queries_orchestration_tests.exports.read_back import Sink


def main() -> None:
    """Work what the JSON argument says; print what it took as JSON."""
    task = json.loads(sys.argv[1])
    backends = open_backends(load_settings(os.environ), os.environ, system_clock)
    for file_format in ("csv", "xlsx"):  # what the formats load is loaded
        open_writer(file_format, Sink(), [Column("a", "text")], FileOptions(time_zone="UTC"))
    idle = _held("VmRSS")
    began = time.perf_counter()
    receive.work(backends, task["key"], offer_number=task["offer"], run_id="bench")
    seconds = time.perf_counter() - began
    told = {"seconds": seconds, "idle_mb": idle, "peak_mb": _held("VmHWM")}
    sys.stdout.write(json.dumps(told))


def _held(what: str) -> float:
    found = re.search(rf"{what}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return int(found[1]) * 1024 / 1e6 if found else 0.0


if __name__ == "__main__":
    main()
