"""Hop 4: the occurrence's file, made in the receive; a later receive reuses what is finished."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from queries_orchestration.deliveries.resolve import assignment_of, export_of, open_for
from queries_orchestration.exports import make_file as exports_make_file
from queries_orchestration.receives.backends import Backends
from queries_orchestration.receives.heartbeat import Heartbeat
from queries_orchestration.store.claims import Receive
from queries_orchestration.store.exports import Export

DELIVERY_FILE_LIFETIME: Final = timedelta(days=9)


def make_file(backends: Backends, receive: Receive, heartbeat: Heartbeat) -> Export:
    """Return the occurrence's export, ready.

    Raises:
        ReceiveLost: a newer receive took the work.
        PermanentError, TransientError: see ``exports.make_file``.
    """
    with backends.database.transaction() as connection:
        assignment = assignment_of(connection, receive)
        export = export_of(connection, assignment)
        opened = open_for(connection, assignment, export, backends.environment)
    return exports_make_file.make_file(
        backends,
        receive,
        heartbeat,
        export,
        opened,
        title=assignment.source.title,
        lifetime=DELIVERY_FILE_LIFETIME,
    )
