"""Hop 4: the occurrence's file; a later receive reuses what is finished.

The file of a query is made in the receive. A report is rendered in a lane of its own, and the
receive waits for it.
"""

from __future__ import annotations

from queries_orchestration.deliveries.await_render import await_render
from queries_orchestration.deliveries.kept_file import kept_file
from queries_orchestration.deliveries.resolve import (
    Assignment,
    assignment_of,
    export_of,
    open_for,
)
from queries_orchestration.exports import make_file as exports_make_file
from queries_orchestration.exports.open_query import OpenedQuery
from queries_orchestration.exports.open_source import OpenedSource
from queries_orchestration.exports.query_file import query_producer
from queries_orchestration.receives.backends import Backends
from queries_orchestration.receives.heartbeat import Heartbeat
from queries_orchestration.store.claims import Receive
from queries_orchestration.store.exports import Export


def make_file(backends: Backends, receive: Receive, heartbeat: Heartbeat) -> Export:
    """Return the occurrence's export, ready.

    Raises:
        ReceiveLost: a newer receive took the work.
        PermanentError, TransientError: see ``exports.make_file`` and ``await_render``.
    """
    assignment, export, opened = _open(backends, receive)
    if assignment.occurrence.purpose == "resend":
        return kept_file(backends, receive, assignment, export)
    if not isinstance(opened, OpenedQuery):
        await_render(backends, export, heartbeat)
        # Minutes have passed: who lost access meanwhile delivers nothing.
        return _open(backends, receive)[1]
    return exports_make_file.make_file(
        backends,
        receive,
        heartbeat,
        export,
        lambda patience: query_producer(
            opened,
            export,
            title=assignment.source.title,
            patience=patience,
            clock=backends.clock,
        ),
    )


def _open(backends: Backends, receive: Receive) -> tuple[Assignment, Export, OpenedSource]:
    with backends.database.transaction(receive.workspace_id) as connection:
        assignment = assignment_of(connection, receive)
        export = export_of(connection, assignment)
        return assignment, export, open_for(connection, assignment, export, backends.environment)
