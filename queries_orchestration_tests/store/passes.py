"""A process that holds the dispatcher's lock, or runs a pass for each line that it is given."""

from __future__ import annotations

import json
import os
import sys
from datetime import datetime

from queries_orchestration.deliveries.dispatch import run_pass
from queries_orchestration.receives.backends import open_backends
from queries_orchestration.settings import load_settings
from queries_orchestration.store.dispatchers import only_pass
from queries_orchestration_tests.no_runs import NoRuns


def main() -> None:
    """Do ``hold`` or ``pass``; each answer is a JSON line."""
    settings = load_settings(os.environ)
    moment = datetime.fromisoformat("2027-01-04T07:00:00+00:00")
    backends = open_backends(settings, os.environ, lambda: moment)
    if sys.argv[1] == "hold":
        with only_pass(backends.database) as alone:
            _answer(alone)
            sys.stdin.read()
        return
    _answer("ready")
    for line in sys.stdin:
        done = run_pass(backends, NoRuns(), at=datetime.fromisoformat(line.strip()), offer=True)
        _answer({"admitted": done.admitted, "offers": [offer.run_key for offer in done.offers]})


def _answer(value: object) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
