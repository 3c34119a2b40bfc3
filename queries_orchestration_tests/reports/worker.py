"""A process that works one receive and nothing else, as a worker does, and tells what it took."""

from __future__ import annotations

import json
import os
import re
import resource
import sys
import time
from pathlib import Path

from queries_orchestration.exports import receive as exports_receive
from queries_orchestration.model.clock import system_clock
from queries_orchestration.receives.backends import open_backends
from queries_orchestration.reports import receive as reports_receive
from queries_orchestration.settings import EXPORT_LANE, REPORT_LANE, load_settings

_WORK = {EXPORT_LANE: exports_receive.work, REPORT_LANE: reports_receive.work}


def main() -> None:
    """Work what the JSON argument says; print seconds and megabytes as JSON."""
    task = json.loads(sys.argv[1])
    if task["dagster"]:
        import queries_orchestration.definitions  # noqa: F401
    backends = open_backends(load_settings(os.environ), os.environ, system_clock)
    began = time.perf_counter()
    _WORK[task["lane"]](backends, task["key"], offer_number=task["offer"], run_id="child")
    seconds = time.perf_counter() - began
    sys.stdout.write(json.dumps({"seconds": seconds, "megabytes": _peak_megabytes()}))


def _peak_megabytes() -> float:
    """Return the most memory that this process has held.

    Linux counts that of the process which started it into ``ru_maxrss``, but not into ``VmHWM``.
    """
    status = Path("/proc/self/status")
    if status.exists() and (found := re.search(r"VmHWM:\s+(\d+) kB", status.read_text())):
        return int(found[1]) * 1024 / 1e6
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6


if __name__ == "__main__":
    main()
