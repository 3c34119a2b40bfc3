"""One receive of an export that is worked on its own, from start to end, as plain functions.

The Dagster job runs the same steps as ops; tests call ``work``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from queries_orchestration.exports.export_file import ExportFile, find_file
from queries_orchestration.exports.generate import Patience, Produce
from queries_orchestration.exports.make_file import make_file
from queries_orchestration.exports.open_query import OpenedQuery
from queries_orchestration.exports.open_source import OpenedSource, open_file_source
from queries_orchestration.exports.query_file import query_producer
from queries_orchestration.exports.settle import fail
from queries_orchestration.model.errors import ReceiveLost
from queries_orchestration.receives.backends import Backends
from queries_orchestration.receives.heartbeat import Heartbeat
from queries_orchestration.receives.start import NothingToDo
from queries_orchestration.receives.work import work_receive
from queries_orchestration.settings import EXPORT_LANE
from queries_orchestration.store import claims
from queries_orchestration.store.claims import Receive
from queries_orchestration.store.exports import Export

SourceProducer: TypeAlias = Callable[[ExportFile, OpenedSource, Patience], Produce]
"""Returns what writes the file of an opened source."""


def generate_export(backends: Backends, receive: Receive, heartbeat: Heartbeat) -> Export:
    """Make the file of a query as the requester, and end the work with it.

    Raises:
        As :func:`make_own_file`.
    """

    def producer(file: ExportFile, opened: OpenedSource, patience: Patience) -> Produce:
        if not isinstance(opened, OpenedQuery):
            raise TypeError("the export lane makes files of queries")
        return query_producer(
            opened,
            file.export,
            title=file.source.title,
            patience=patience,
            clock=backends.clock,
        )

    return make_own_file(backends, receive, heartbeat, producer)


def make_own_file(
    backends: Backends, receive: Receive, heartbeat: Heartbeat, producer: SourceProducer
) -> Export:
    """Make the file as its actor, under the access they have now, and end the work with it.

    Raises:
        ReceiveLost: a newer receive or a cancel took the work.
        PermanentError, TransientError: it cannot be made, or not now.
    """
    with backends.database.transaction(receive.workspace_id) as connection:
        claims.hold(connection, receive)
        file = find_file(connection, receive.workspace_id, receive.key)
        if file is None:
            raise ReceiveLost("The export is gone.")
        opened = open_file_source(
            connection, file, actor_id=file.export.actor_id, environment=backends.environment
        )
    return make_file(
        backends,
        receive,
        heartbeat,
        file.export,
        lambda patience: producer(file, opened, patience),
        with_completion=lambda connection: claims.end(connection, receive),
    )


def work(
    backends: Backends, export_id: str, *, offer_number: int | None, run_id: str
) -> Export | NothingToDo:
    """Work one receive of an export to its end.

    Raises:
        PermanentError, TransientError: the receive failed; the store says what follows.
        ReceiveLost: a newer receive or a cancel took the work.
    """
    return work_receive(
        backends,
        export_id,
        generate_export,
        lane=EXPORT_LANE,
        fail=fail,
        offer_number=offer_number,
        run_id=run_id,
    )
