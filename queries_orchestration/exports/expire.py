"""Expiry: a file whose time is over is marked expired, then its object is removed."""

from __future__ import annotations

from typing import Final

from queries_orchestration.receives.backends import Backends
from queries_orchestration.store import cross_workspace, exports

FILES_A_PASS: Final = 200


def expire_files(backends: Backends) -> int:
    """Expire what is due and remove its objects; a killed pass is finished by the next one.

    Returns:
        How many objects were removed, at most a bounded number a pass.
    """
    at = backends.clock()
    with backends.database.transaction() as connection:
        due = cross_workspace.files_to_expire(connection, at, limit=FILES_A_PASS)
        for export in due:
            exports.change(connection, export.workspace_id, export.id, state="expired")
    backends.reached("marked expired, not removed")
    for export in due:
        backends.storage.delete(export.storage_key)
        with backends.database.transaction() as connection:
            exports.change(connection, export.workspace_id, export.id, removed_at=at)
    return len(due)
