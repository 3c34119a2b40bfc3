"""The file of a resend: that of the occurrence it sends again, kept for as long as its links."""

from __future__ import annotations

from queries_orchestration.deliveries.resolve import Assignment, file_of
from queries_orchestration.model.links import FILE_OUTLIVES_LINK, LINK_LIFETIME
from queries_orchestration.receives.backends import Backends
from queries_orchestration.store import claims, exports
from queries_orchestration.store.claims import Receive
from queries_orchestration.store.exports import Export


def kept_file(
    backends: Backends, receive: Receive, assignment: Assignment, export: Export
) -> Export:
    """Return the export whose file is there; it is not made again.

    Raises:
        Refused: there is no file any more (``file_expired``, ``file_gone``): run the schedule now.
        ReceiveLost: a newer receive took the work.
    """
    file, at = file_of(assignment, export), backends.clock()
    refusal = file.refusal(at=at)
    if refusal is not None:
        raise refusal
    if backends.storage.size(export.storage_key) != export.size:
        raise file.missing()
    with backends.database.transaction(receive.workspace_id) as connection:
        claims.hold(connection, receive)
        until = at + LINK_LIFETIME + FILE_OUTLIVES_LINK
        if not exports.keep_until(connection, receive.workspace_id, export.id, until=until):
            raise file.expired()  # just now
    backends.reached("file kept, not sent")
    return export
