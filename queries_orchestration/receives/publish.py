"""Publish committed work at once: the same offer that a sensor would make, and a nudge."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Literal

from queries_orchestration.receives.backends import Backends
from queries_orchestration.store import claims, cross_workspace
from queries_orchestration.store.offers import Offer, release

Answer = Literal["accepted", "refused", "unknown"]
Launch = Callable[[Offer], Answer]
"""Asks for the run of an offer; ``unknown`` when no answer came, so that a run may follow."""

log = logging.getLogger(__name__)


def publish(backends: Backends, workspace_id: str, key: str, launch: Launch) -> bool:
    """Offer work that was just committed and ask for its run; False if the sensor must find it.

    Best effort. A launch that is refused releases the offer; one that is not answered keeps it
    until its lease ends, since its run may still come.
    """
    with backends.database.transaction() as connection:
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
    backends.reached("offered, not launched")
    answer = launch(offer)
    if answer == "refused":
        with backends.database.transaction() as connection:
            release(connection, offer)
        log.warning("launch_refused work=%s offer=%d", offer.key, offer.number)
    return answer == "accepted"
