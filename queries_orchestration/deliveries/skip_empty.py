"""Hop 5: suppress the delivery of an empty query result if the schedule says so."""

from __future__ import annotations

from queries_orchestration.deliveries.resolve import assignment_of
from queries_orchestration.receives.backends import Backends
from queries_orchestration.store.claims import Receive
from queries_orchestration.store.exports import Export


def is_to_be_skipped(backends: Backends, receive: Receive, export: Export) -> bool:
    """Tell whether the file has no rows and its schedule delivers none such.

    An aggregate's one row is a row. A report is never empty: its sections say so themselves. What
    was sent once is sent again.

    Raises:
        ReceiveLost: a newer receive took the work.
    """
    if export.rows != 0:
        return False
    with backends.database.transaction(receive.workspace_id) as connection:
        assignment = assignment_of(connection, receive)
    if assignment.occurrence.purpose == "resend":
        return False
    return assignment.source.kind == "query" and assignment.schedule.skip_empty
