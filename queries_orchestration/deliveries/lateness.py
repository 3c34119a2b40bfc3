"""Hop 3, before anything is looked up: what is later than its schedule allows is missed.

A slot is in time when it is admitted; how long it then waits for a worker, for the slot before it
or for another receive counts as well.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from queries_orchestration.deliveries import events
from queries_orchestration.deliveries.settle import settle
from queries_orchestration.deliveries.streaks import Settlement
from queries_orchestration.model.missed_slots import BEYOND_THE_LIMIT, is_too_late
from queries_orchestration.receives.backends import Backends
from queries_orchestration.store import claims, deliveries, occurrences, schedules
from queries_orchestration.store.claims import Receive

TOO_LATE: Final = "too_late"


def miss_if_too_late(backends: Backends, receive: Receive) -> bool:
    """Settle an occurrence as missed that is beyond its schedule's lateness limit; False if not.

    Once anything may have been sent it is too late for that: the others get theirs, too. What a
    person asks for has no limit, nor has what a backfill admits.

    Raises:
        ReceiveLost: a newer receive took the work.
    """
    at = backends.clock()
    with backends.database.transaction(receive.workspace_id) as connection:
        claims.hold(connection, receive)
        workspace_id = receive.workspace_id
        occurrence = occurrences.get(connection, workspace_id, receive.key)
        if occurrence is None or occurrence.slot is None or occurrence.is_backfilled:
            return False
        schedule = schedules.get(connection, workspace_id, occurrence.schedule_id)
        if schedule is None or schedule.lateness_limit is None:
            return False
        limit = timedelta(seconds=schedule.lateness_limit)
        rows = deliveries.of_occurrence(connection, workspace_id, receive.key)
        if not is_too_late(occurrence.slot, at, limit) or any(
            row.state != "skipped" for row in rows
        ):
            return False
        missed = Settlement(outcome="missed", code=TOO_LATE, message=BEYOND_THE_LIMIT)
        settled = settle(connection, receive, missed, at=at)
    events.announce(settled)
    return True
