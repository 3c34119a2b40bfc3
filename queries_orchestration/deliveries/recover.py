"""Recovery: find what a lost worker held or a lost launch left, and let it be offered again.

An offer that no run took needs no step here when Dagster knows nothing of it: its lease ends.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Final

from queries_orchestration.deliveries import settle as occurrence_settle
from queries_orchestration.exports import settle as export_settle
from queries_orchestration.model.errors import (
    QueriesError,
    ReceiveLost,
    StoreUnavailable,
    TransientError,
)
from queries_orchestration.receives.backends import Backends
from queries_orchestration.receives.boundary import try_again, unforeseen_told
from queries_orchestration.receives.runs import Runs
from queries_orchestration.settings import DELIVERY_LANE, MAX_RECEIVES
from queries_orchestration.store import claims, cross_workspace
from queries_orchestration.store.cross_workspace import Silent
from queries_orchestration.store.offers import Offer, release, renew

RECEIVES_A_PASS: Final = 200
OFFERS_A_PASS: Final = 100
WORKER_LOST: Final = "worker_lost"
TERMINATED: Final = "An operator terminated its run in Dagster."

log = logging.getLogger(__name__)


class WorkerLost(TransientError):
    """The heartbeat of a receive fell silent."""

    code = WORKER_LOST


def recover_silent(backends: Backends, runs: Runs) -> int:
    """End the receives whose worker is gone: offered again, failed after the third, or cancelled.

    Returns:
        How many receives were ended.
    """
    with backends.database.across.read() as connection:
        silent = cross_workspace.silent_receives(
            connection, silence=backends.settings.heartbeat_silence, limit=RECEIVES_A_PASS
        )
    return sum(_alone(partial(_recover, backends, runs, one), one.receive.key) for one in silent)


def _recover(backends: Backends, runs: Runs, silent: Silent) -> bool:
    """End one silent receive; False if it has a heartbeat again, or somebody else ended it."""
    state = runs.of_receive(silent.run_id)
    receive = silent.receive
    with backends.database.transaction(silent.receive.workspace_id) as connection:
        if not claims.take_silent(connection, receive, silence=backends.settings.heartbeat_silence):
            return False
    backends.reached("silent receive taken, not ended")
    if state == "working":
        # First: once the receive is ended nobody would find the run again.
        runs.report_lost(silent.run_id)
    backends.reached("lost run reported, receive not ended")
    if state == "cancelled":
        cancel(backends, silent.lane, receive.workspace_id, receive.key)
    else:
        log.warning("worker_lost work=%s receive=%d", receive.key, receive.number)
        lost = WorkerLost(f"The worker was lost {MAX_RECEIVES} times; see its runs in Dagster.")
        fail = occurrence_settle.fail if silent.lane == DELIVERY_LANE else export_settle.fail
        try:
            try_again(backends, receive, lost, fail)
        except ReceiveLost:
            return False  # The worker woke up just now and ended its receive itself.
    return True


def tend_offers(backends: Backends, runs: Runs, lane: str) -> int:
    """Renew the offers whose run waits in Dagster, take back those whose run ended unstarted.

    A run that an operator cancelled before it started settles its work as cancelled.

    Returns:
        How many offers were taken back.
    """
    with backends.database.across.read() as connection:
        live = cross_workspace.live_offers(connection, lane, limit=OFFERS_A_PASS)
    return sum(_alone(partial(_tend, backends, runs, offer), offer.key) for offer in live)


def _alone(end: Callable[[], bool], key: str) -> bool:
    """End one piece of work; an error that nobody foresaw stops no other, and is logged.

    The next pass finds that piece again.
    """
    try:
        with unforeseen_told(key):
            return end()
    except StoreUnavailable:
        raise
    except QueriesError as error:
        log.warning("recovery_failed work=%s code=%s", key, error.code)
        return False


def _tend(backends: Backends, runs: Runs, offer: Offer) -> bool:
    state = runs.of_offer(offer)
    if state == "cancelled":
        return cancel(backends, offer.lane, offer.workspace_id, offer.key)
    with backends.database.transaction(offer.workspace_id) as connection:
        if state == "pending":
            renew(connection, offer, lease=backends.settings.offer_lease)
            return False
        if state != "ended":
            return False
        delay = backends.settings.retry_after(min(offer.number, MAX_RECEIVES))
        return release(connection, offer, delay=delay)


def cancel(backends: Backends, lane: str, workspace_id: str, key: str) -> bool:
    """Settle work as cancelled because its run was terminated; False if it is settled already."""
    with backends.database.transaction(workspace_id) as connection:
        if lane != DELIVERY_LANE:
            return export_settle.cancel_within(connection, workspace_id, key, message=TERMINATED)
        return occurrence_settle.cancel_within(
            connection, workspace_id, key, message=TERMINATED, at=backends.clock()
        )
