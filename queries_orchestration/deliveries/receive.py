"""One receive from start to settlement, as a plain function.

The Dagster job runs the same steps as ops; tests and simulations call this one.
"""

from __future__ import annotations

from queries_orchestration.deliveries.deliver import deliver
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
from queries_orchestration.receives.boundary import failures_settled
from queries_orchestration.receives.heartbeat import heartbeat_of
from queries_orchestration.receives.start import NothingToDo, start
from queries_orchestration.settings import DELIVERY_LANE


def work(
    backends: Backends, occurrence_key: str, *, offer_number: int | None, run_id: str
) -> Outcome | NothingToDo:
    """Work one receive of an occurrence to its end.

    Raises:
        PermanentError, TransientError: the receive failed; the store says what follows.
        ReceiveLost: a newer receive took the work.
    """
    receive = start(
        backends, occurrence_key, lane=DELIVERY_LANE, offer_number=offer_number, run_id=run_id
    )
    if isinstance(receive, NothingToDo):
        return receive
    with (
        heartbeat_of(backends, receive, lane=DELIVERY_LANE) as heartbeat,
        failures_settled(backends, receive, fail),
    ):
        resolve(backends, receive)
        export = make_file(backends, receive, heartbeat)
        if is_to_be_skipped(backends, receive, export):
            return settle_skipped_empty(backends, receive)
        deliver(backends, receive, heartbeat)
        return settle_delivered(backends, receive)
