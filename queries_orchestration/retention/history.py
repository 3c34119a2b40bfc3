"""Old history goes, and a count by month stays: both in one transaction, batch by batch.

A retention that is killed goes on where it was when it comes again. Two at once take different
batches: what one holds, the other leaves out.
"""

from __future__ import annotations

from typing import Final

from queries_orchestration.model.monthly import deliveries_by_month, exports_by_month
from queries_orchestration.receives.resting import resting
from queries_orchestration.retention.found import Retaining
from queries_orchestration.store import audit, database, monthly, old_exports, old_occurrences
from queries_orchestration.store.old_occurrences import Age

ROWS_A_BATCH: Final = 200
EVENTS_A_BATCH: Final = 1_000


def roll_up_occurrences(one: Retaining, workspace_id: str) -> None:
    """Count settled occurrences past ``history_days`` by month, and delete them and their files.

    What somebody may still ask about stays: one that is not settled, or a resend of it; whose file
    or link is still of use; or of whom somebody is still to be told. The setting is longer than a
    backfill looks back.
    """
    opened, backends = one.backends.database, one.backends
    age = Age(one.before(backends.settings.history_days), one.at)
    last = None
    while one.goes_on("occurrences"):
        with opened.read(workspace_id) as connection:
            found = old_occurrences.page(
                connection, workspace_id, age, after=last, limit=ROWS_A_BATCH
            )
            keys = [place.key for place, _ in found]
            messages = old_occurrences.message_keys(connection, workspace_id, keys)
        if not found:
            return
        last = found[-1][0]
        if not one.do:
            one.add("occurrences", len(found) + sum(again for _, again in found), keys)
            continue
        # First, since nothing tells of the messages once the rows have gone.
        backends.communications.forget(messages)
        backends.reached("old messages forgotten, not rolled up")
        with resting(backends), opened.transaction(workspace_id) as connection:
            going = old_occurrences.hold(connection, workspace_id, age, keys)
            past = old_occurrences.facts(connection, workspace_id, going)
            monthly.add_deliveries(connection, workspace_id, deliveries_by_month(past))
            old_occurrences.remove(connection, workspace_id, going)
            backends.reached("occurrences removed, not committed")
        one.add("occurrences", len(going), going)
        backends.reached("occurrences rolled up, not the next")


def roll_up_exports(one: Retaining, workspace_id: str) -> None:
    """Count the exports past ``history_days`` whose file is gone by month, and delete them."""
    opened, backends = one.backends.database, one.backends
    before = one.before(backends.settings.history_days)
    last = None
    while one.goes_on("exports"):
        with opened.read(workspace_id) as connection:
            found = old_exports.page(
                connection, workspace_id, before=before, after=last, limit=ROWS_A_BATCH
            )
        if not found:
            return
        last = found[-1]
        ids = [place.id for place in found]
        if one.do:
            with resting(backends), opened.transaction(workspace_id) as connection:
                ids = old_exports.hold(connection, workspace_id, before=before, ids=ids)
                past = old_exports.facts(connection, workspace_id, ids)
                monthly.add_exports(connection, workspace_id, exports_by_month(past))
                old_exports.remove(connection, workspace_id, ids)
                backends.reached("exports removed, not committed")
        one.add("exports", len(ids), ids)


def remove_events(one: Retaining, workspace_id: str) -> None:
    """Delete the events of the audit trail past ``audit_days``.

    The database refuses to delete younger ones than 365 days by its own clock, so that it is asked
    for none even if our clock is ahead.
    """
    opened, backends = one.backends.database, one.backends
    days = backends.settings.audit_days
    with opened.read(workspace_id) as connection:
        ahead = max(one.at - database.now(connection), one.at - one.at)
        before = one.before(days) - ahead
        if not one.do:
            one.add("audit_events", audit.old(connection, workspace_id, before=before))
            return
    while one.goes_on("audit_events"):
        with resting(backends), opened.transaction(workspace_id) as connection:
            removed = audit.remove_old(
                connection, workspace_id, before=before, limit=EVENTS_A_BATCH
            )
            backends.reached("audit events removed, not committed")
        one.add("audit_events", removed)
        if not removed:
            return
