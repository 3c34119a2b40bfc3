"""Hop 1: claim due recurrences, insert unique occurrences, advance, recover, tell, offer.

A pass asks "what is due since", never "what is due at this tick": whatever an earlier pass
missed, the next one finds.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from queries_orchestration.deliveries.admit_due import admit_due
from queries_orchestration.deliveries.notify import send_notices
from queries_orchestration.deliveries.passes import note_failure, passing
from queries_orchestration.deliveries.recover import recover_silent, tend_offers
from queries_orchestration.exports.expire import expire_files
from queries_orchestration.model.errors import QueriesError, StoreUnavailable
from queries_orchestration.receives.backends import Backends
from queries_orchestration.receives.boundary import unforeseen_told
from queries_orchestration.receives.publish import offer_lane
from queries_orchestration.receives.runs import Runs
from queries_orchestration.settings import DELIVERY_LANE
from queries_orchestration.store import dispatch_stops, dispatchers
from queries_orchestration.store.dispatch_stops import DispatchStop
from queries_orchestration.store.dispatchers import DELIVERY_DISPATCHER
from queries_orchestration.store.offers import Offer

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """What one dispatcher pass did; ``held_by`` names the other pass if this one ended at once.

    ``stopped`` is the stop of all dispatching under which it admitted and offered nothing.
    """

    held_by: str | None = None
    stopped: DispatchStop | None = None
    admitted: int = 0
    missed: int = 0
    recovered: int = 0
    offers: tuple[Offer, ...] = ()


def run_pass(backends: Backends, runs: Runs, *, at: datetime, offer: bool) -> Pass:
    """Run one dispatcher pass under the dispatcher's lock.

    While all dispatching is stopped it admits and offers nothing, and does the rest.

    Args:
        runs: what Dagster says of runs, for recovery.
        at: decides what is due, and nothing else (calendar clock).
        offer: whether somebody stands ready to take the offers to Dagster.
    """
    database = backends.database
    with dispatchers.only_pass(database) as alone:
        if not alone:
            with database.across.read() as connection:
                last = dispatchers.heartbeat(connection, DELIVERY_DISPATCHER)
            return Pass(held_by=(last and last.holder) or "another process")
        with passing(backends, DELIVERY_DISPATCHER):
            return _pass(backends, runs, at=at, offer=offer)


def _pass(backends: Backends, runs: Runs, *, at: datetime, offer: bool) -> Pass:
    database, settings = backends.database, backends.settings
    slots = admit_due(backends, at)
    recovered = recover_silent(backends, runs) + tend_offers(backends, runs, DELIVERY_LANE)
    _beside(backends, send_notices)
    _beside(backends, expire_files)
    backends.reached("before offering")
    offers = offer_lane(database, settings, DELIVERY_LANE) if offer else []
    backends.reached("offers made")
    with database.across.transaction() as connection:
        dispatchers.end_pass(
            connection,
            DELIVERY_DISPATCHER,
            admitted=slots.admitted,
            missed=slots.missed,
            recovered=recovered,
            offered=len(offers),
        )
        stopped = dispatch_stops.current(connection)
    return Pass(
        stopped=stopped,
        admitted=slots.admitted,
        missed=slots.missed,
        recovered=recovered,
        offers=tuple(offers),
    )


def _beside(backends: Backends, step: Callable[[Backends], int]) -> None:
    """Do what a pass does beside its own work: whatever is wrong there, the pass goes on."""
    try:
        with unforeseen_told(step.__name__):
            step(backends)
    except StoreUnavailable:
        raise
    except QueriesError as error:
        log.warning("pass_step_failed step=%s code=%s", step.__name__, error.code)
        note_failure(backends, DELIVERY_DISPATCHER, error.code)
