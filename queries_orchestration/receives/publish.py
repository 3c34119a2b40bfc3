"""Offer what waits in a lane; publish committed work at once with the same offer and a nudge."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Literal

from queries_orchestration.observing.traces import note
from queries_orchestration.receives.backends import Backends
from queries_orchestration.settings import Settings
from queries_orchestration.store import claims, cross_workspace
from queries_orchestration.store.database import Database
from queries_orchestration.store.offers import Offer, release

Answer = Literal["accepted", "refused", "unknown"]
Launch = Callable[[Offer], Answer]
"""Asks for the run of an offer; ``unknown`` when no answer came, so that a run may follow."""

log = logging.getLogger(__name__)


def offer_lane(
    database: Database, settings: Settings, lane: str, *, at_most: int | None = None
) -> list[Offer]:
    """Offer what waits in ``lane`` and may start, within the lane's limits."""
    with database.across.transaction() as connection:
        offers = cross_workspace.offer_waiting(
            connection,
            lane,
            live_limit=settings.lane_offers(lane),
            lease=settings.offer_lease,
            at_most=at_most,
            backfill_limit=settings.backfill_places(lane),
        )
    for offer in offers:
        _note(offer)
    return offers


def _note(offer: Offer) -> None:
    note("offer", work=offer.key, offer=offer.number, lane=offer.lane)


def publish(backends: Backends, workspace_id: str, key: str, launch: Launch) -> bool:
    """Offer work that was just committed and ask for its run; False if the sensor must find it.

    Best effort. A launch that is refused releases the offer; one that is not answered keeps it
    until its lease ends, since its run may still come.
    """
    with backends.database.across.transaction() as connection:
        claim = claims.get(connection, workspace_id, key)
        if claim is None:
            return False
        offer = cross_workspace.offer_one(
            connection,
            workspace_id,
            key,
            live_limit=backends.settings.lane_offers(claim.lane),
            lease=backends.settings.offer_lease,
        )
    if offer is None:
        return False
    _note(offer)
    backends.reached("offered, not launched")
    answer = launch(offer)
    if answer == "refused":
        with backends.database.transaction(workspace_id) as connection:
            release(connection, offer)
        log.warning("launch_refused work=%s offer=%d", offer.key, offer.number)
    return answer == "accepted"
