"""Settle an export of its own that did not become ready: failed for good, or cancelled."""

from __future__ import annotations

import logging

from sqlalchemy import Connection

from queries_orchestration.model.errors import QueriesError
from queries_orchestration.receives.backends import Backends
from queries_orchestration.store import claims, exports
from queries_orchestration.store.claims import Receive

log = logging.getLogger(__name__)


def fail(backends: Backends, receive: Receive, error: QueriesError) -> None:
    """Settle the export that ``receive`` holds as failed, with the code and message of ``error``.

    Raises:
        ReceiveLost: a newer receive, a cancel or a settlement took the work.
    """
    with backends.database.transaction(receive.workspace_id) as connection:
        fail_within(connection, receive, code=error.code, message=error.message)
    announce_failed(receive, error.code)


def fail_within(connection: Connection, receive: Receive, *, code: str, message: str) -> None:
    """Settle the export that ``receive`` holds as failed, in the caller's transaction."""
    claims.end(connection, receive, failed_with=code)
    exports.settle_unfinished(
        connection, receive.workspace_id, receive.key, state="failed", code=code, message=message
    )


def announce_failed(receive: Receive, code: str) -> None:
    """Log what operators count."""
    log.warning("export_failed export=%s code=%s", receive.key, code)


def cancel_within(
    connection: Connection, workspace_id: str, export_id: str, *, message: str
) -> bool:
    """End an export that is not finished, whoever holds it; False if it is settled.

    Args:
        message: a sentence for the record that says who cancelled it.
    """
    ended = claims.end_held_or_not(connection, workspace_id, export_id)
    if ended:
        exports.settle_unfinished(
            connection, workspace_id, export_id, state="cancelled", code=None, message=message
        )
    return ended
