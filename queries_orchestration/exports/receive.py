"""One receive of an interactive export from start to end, as plain functions.

The Dagster job runs the same steps as ops; tests call ``work``.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from queries_orchestration.exports.make_file import make_file
from queries_orchestration.exports.open_query import open_query
from queries_orchestration.exports.settle import fail
from queries_orchestration.model.errors import ReceiveLost, SourceGone
from queries_orchestration.receives.backends import Backends
from queries_orchestration.receives.boundary import failures_settled
from queries_orchestration.receives.heartbeat import Heartbeat, heartbeat_of
from queries_orchestration.receives.start import NothingToDo, start
from queries_orchestration.settings import EXPORT_LANE
from queries_orchestration.store import claims, exports, sources
from queries_orchestration.store.claims import Receive
from queries_orchestration.store.exports import Export

INTERACTIVE_FILE_LIFETIME: Final = timedelta(days=7)


def generate_export(backends: Backends, receive: Receive, heartbeat: Heartbeat) -> Export:
    """Make the file as the requester, under the access they have now, and end the work with it.

    Raises:
        ReceiveLost: a newer receive or a cancel took the work.
        PermanentError, TransientError: it cannot be made, or not now.
    """
    with backends.database.transaction() as connection:
        claims.hold(connection, receive)
        export = exports.get(connection, receive.workspace_id, receive.key)
        if export is None:
            raise ReceiveLost("The export is gone.")
        source = sources.get(connection, receive.workspace_id, export.source_id)
        if source is None or source.archived:
            raise SourceGone("The query was deleted or archived.")
        opened = open_query(
            connection,
            receive.workspace_id,
            source_id=export.source_id,
            version=export.version,
            actor_id=export.actor_id,
            given_values=export.runtime_values,
            moment=export.created_at,
            time_zone=export.time_zone,
            environment=backends.environment,
        )
    return make_file(
        backends,
        receive,
        heartbeat,
        export,
        opened,
        title=source.title,
        lifetime=INTERACTIVE_FILE_LIFETIME,
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
    receive = start(backends, export_id, offer_number=offer_number, run_id=run_id)
    if isinstance(receive, NothingToDo):
        return receive
    with (
        heartbeat_of(backends, receive, lane=EXPORT_LANE) as heartbeat,
        failures_settled(backends, receive, fail),
    ):
        return generate_export(backends, receive, heartbeat)
