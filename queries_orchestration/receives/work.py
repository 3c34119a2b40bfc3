"""One receive of any work from start to end: taken, heartbeat beating, failures settled."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from queries_orchestration.receives.backends import Backends
from queries_orchestration.receives.boundary import Fail, failures_settled
from queries_orchestration.receives.heartbeat import Heartbeat, heartbeat_of
from queries_orchestration.receives.observed import observed
from queries_orchestration.receives.start import NothingToDo, start
from queries_orchestration.store.claims import Receive

Done = TypeVar("Done")


def work_receive(
    backends: Backends,
    key: str,
    steps: Callable[[Backends, Receive, Heartbeat], Done],
    *,
    lane: str,
    fail: Fail,
    offer_number: int | None,
    run_id: str,
) -> Done | NothingToDo:
    """Take the work ``key`` and do its ``steps``; returns what they return.

    Args:
        fail: how this kind of work is settled as failed.

    Raises:
        PermanentError, TransientError: the receive failed; the store says what follows.
        ReceiveLost: a newer receive or a cancel took the work.
    """
    receive = start(backends, key, lane=lane, offer_number=offer_number, run_id=run_id)
    if isinstance(receive, NothingToDo):
        return receive
    with (
        observed(receive, lane=lane, run_id=run_id),
        heartbeat_of(backends, receive, lane=lane) as heartbeat,
        failures_settled(backends, receive, fail),
    ):
        return steps(backends, receive, heartbeat)
