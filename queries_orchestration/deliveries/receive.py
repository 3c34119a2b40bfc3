"""One receive from start to settlement, as a plain function.

The Dagster job runs the same steps as ops; tests and simulations call this one.
"""

from __future__ import annotations

from queries_orchestration.deliveries.deliver import deliver
from queries_orchestration.deliveries.lateness import miss_if_too_late
from queries_orchestration.deliveries.make_file import make_file
from queries_orchestration.deliveries.resolve import resolve
from queries_orchestration.deliveries.settle import (
    fail,
    settle_delivered,
    settle_skipped_empty,
)
from queries_orchestration.deliveries.skip_empty import is_to_be_skipped
from queries_orchestration.model.outcomes import Outcome
from queries_orchestration.receives.backends import Backends
from queries_orchestration.receives.heartbeat import Heartbeat
from queries_orchestration.receives.start import NothingToDo
from queries_orchestration.receives.work import work_receive
from queries_orchestration.settings import DELIVERY_LANE
from queries_orchestration.store.claims import Receive


def work(
    backends: Backends, occurrence_key: str, *, offer_number: int | None, run_id: str
) -> Outcome | NothingToDo:
    """Work one receive of an occurrence to its end.

    Raises:
        PermanentError, TransientError: the receive failed; the store says what follows.
        ReceiveLost: a newer receive took the work.
    """
    return work_receive(
        backends,
        occurrence_key,
        _deliver_one,
        lane=DELIVERY_LANE,
        fail=fail,
        offer_number=offer_number,
        run_id=run_id,
    )


def _deliver_one(backends: Backends, receive: Receive, heartbeat: Heartbeat) -> Outcome:
    if miss_if_too_late(backends, receive):
        return "missed"
    resolve(backends, receive)
    export = make_file(backends, receive, heartbeat)
    if is_to_be_skipped(backends, receive, export):
        return settle_skipped_empty(backends, receive)
    deliver(backends, receive, heartbeat)
    return settle_delivered(backends, receive)
