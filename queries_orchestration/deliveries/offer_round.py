"""What a lane's sensor does every few seconds: find again what was lost, offer what waits."""

from __future__ import annotations

from dataclasses import dataclass

from queries_orchestration.deliveries.passes import passing
from queries_orchestration.deliveries.recover import recover_silent, tend_offers
from queries_orchestration.receives.backends import Backends
from queries_orchestration.receives.publish import offer_lane
from queries_orchestration.receives.runs import Runs
from queries_orchestration.store import dispatchers
from queries_orchestration.store.dispatchers import OFFERING_DISPATCHERS
from queries_orchestration.store.offers import Offer


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """What was offered, how many receives were ended and how many offers taken back."""

    offers: tuple[Offer, ...]
    recovered: int
    released: int


def offer_round(backends: Backends, runs: Runs, lane: str) -> Round:
    """Run one pass of the dispatcher that offers what waits in ``lane``.

    Raises:
        StoreUnavailable: the database cannot be reached.
    """
    dispatcher = OFFERING_DISPATCHERS[lane]
    with passing(backends, dispatcher):
        recovered = recover_silent(backends, runs)
        released = tend_offers(backends, runs, lane)
        offers = offer_lane(backends.database, backends.settings, lane)
        with backends.database.across.transaction() as connection:
            dispatchers.end_pass(
                connection, dispatcher, recovered=recovered + released, offered=len(offers)
            )
    return Round(offers=tuple(offers), recovered=recovered, released=released)
