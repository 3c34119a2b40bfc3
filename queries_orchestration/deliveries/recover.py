"""Recovery: find the receives whose worker has fallen silent, and offer their work again.

An offer that no run took needs no step here: its lease ends and it is offered again.
"""

from __future__ import annotations

import logging
from typing import Final

from queries_orchestration.deliveries.backends import Backends
from queries_orchestration.deliveries.settle import Settled, Settlement, announce, settle
from queries_orchestration.settings import MAX_RECEIVES
from queries_orchestration.store import cross_workspace, occurrences

RECEIVES_A_BATCH: Final = 50
WORKER_LOST: Final = "worker_lost"

log = logging.getLogger(__name__)


def recover_silent(backends: Backends) -> int:
    """Offer again what a silent worker held, or fail it after the third receive.

    Returns:
        How many receives were ended.
    """
    recovered = 0
    while True:
        settled: list[Settled] = []
        with backends.database.transaction() as connection:
            silent = cross_workspace.silent_receives(
                connection, silence=backends.settings.heartbeat_silence, limit=RECEIVES_A_BATCH
            )
            for receive in silent:
                if receive.number < MAX_RECEIVES:
                    occurrences.wait_again(
                        connection,
                        receive,
                        code=WORKER_LOST,
                        delay=backends.settings.retry_after(receive.number),
                    )
                    log.warning(
                        "worker_lost occurrence=%s receive=%d",
                        receive.occurrence_key,
                        receive.number,
                    )
                    continue
                lost = Settlement(
                    outcome="failed",
                    code=WORKER_LOST,
                    message=f"The worker was lost {MAX_RECEIVES} times; see its runs in Dagster.",
                )
                settled.append(settle(connection, receive, lost, at=backends.clock()))
        for one in settled:
            announce(one)
        recovered += len(silent)
        if len(silent) < RECEIVES_A_BATCH:
            return recovered
