"""A process that does one thing after the other, each at the moment it is told, and answers.

Two of them do the same thing at the same moment, round by round; each starts once.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date, datetime
from typing import Any, Final

from queries_orchestration.deliveries.backfill import backfill
from queries_orchestration.deliveries.dispatch import run_pass
from queries_orchestration.deliveries.run_now import run_now
from queries_orchestration.deliveries.schedule_changes import delete_schedule, pause, resume
from queries_orchestration.model.audit import OPERATOR, By
from queries_orchestration.model.errors import QueriesError
from queries_orchestration.receives.backends import Backends, open_backends
from queries_orchestration.receives.publish import offer_lane
from queries_orchestration.receives.start import NothingToDo
from queries_orchestration.settings import load_settings
from queries_orchestration.store.offers import Offer
from queries_orchestration_tests.house import WORK, TestClock
from queries_orchestration_tests.no_runs import NoRuns


def main() -> None:
    """Do what each line says."""
    clock = TestClock(datetime.fromisoformat("2027-01-01T00:00+00:00"))
    backends = open_backends(load_settings(os.environ), os.environ, clock)
    for line in sys.stdin:
        task = json.loads(line)
        clock.at = datetime.fromisoformat(task["moment"])
        while time.monotonic() < task["begins"]:
            pass
        _tell(_done(replace(backends, reached=_hanging_at(task.get("hang"))), task))


def _done(backends: Backends, task: Mapping[str, Any]) -> object:
    try:
        return _DO[task["do"]](backends, task)
    except QueriesError as error:
        return error.code


def _hanging_at(wanted: str | None) -> Callable[[str], None]:
    """Return what stays at the step ``wanted``, the first time, until the next line comes."""
    is_still_to_hang = True

    def reached(step: str) -> None:
        nonlocal is_still_to_hang
        if step == wanted and is_still_to_hang:
            is_still_to_hang = False
            _tell("hanging")
            sys.stdin.readline()

    return reached


def _pass(backends: Backends, task: Mapping[str, Any]) -> object:
    done = run_pass(backends, NoRuns(), at=backends.clock(), offer=task["offer"])
    offers = [_told(offer) for offer in done.offers]
    return {"admitted": done.admitted, "recovered": done.recovered, "offers": offers}


def _offer(backends: Backends, task: Mapping[str, Any]) -> object:
    offers = offer_lane(backends.database, backends.settings, task["lane"])
    return {"offers": [_told(offer) for offer in offers]}


def _take(backends: Backends, task: Mapping[str, Any]) -> object:
    result = WORK[task["lane"]](
        backends, task["key"], offer_number=task["number"], run_id=f"process {os.getpid()}"
    )
    if isinstance(result, NothingToDo):
        return "nothing"
    return result if isinstance(result, str) else result.state


def _click(backends: Backends, task: Mapping[str, Any]) -> object:
    return run_now(
        backends,
        task["workspace"],
        schedule_id=task["schedule"],
        by=By(via="command", person_id=task["person"]),
        client_key=task["click"],
    )


def _backfill(backends: Backends, task: Mapping[str, Any]) -> object:
    done = backfill(
        backends,
        date.fromisoformat(task["day"]),
        by=OPERATOR,
        workspace_id=task.get("workspace"),
        schedule_id=task.get("schedule"),
    )
    return {"missed": done.missed, "missing": done.missing, "called_off": done.called_off}


def _pause(backends: Backends, task: Mapping[str, Any]) -> object:
    pause(backends, task["workspace"], schedule_id=task["schedule"], by=OPERATOR, reason="A race.")
    return True


def _resume(backends: Backends, task: Mapping[str, Any]) -> object:
    resume(backends, task["workspace"], schedule_id=task["schedule"], by=OPERATOR)
    return True


def _delete(backends: Backends, task: Mapping[str, Any]) -> object:
    delete_schedule(backends, task["workspace"], schedule_id=task["schedule"], by=OPERATOR)
    return True


def _told(offer: Offer) -> dict[str, object]:
    return {"lane": offer.lane, "key": offer.key, "number": offer.number}


def _tell(answer: object) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


_DO: Final[Mapping[str, Callable[[Backends, Mapping[str, Any]], object]]] = {
    "pass": _pass,
    "offer": _offer,
    "take": _take,
    "click": _click,
    "backfill": _backfill,
    "pause": _pause,
    "resume": _resume,
    "delete": _delete,
}


if __name__ == "__main__":
    main()
