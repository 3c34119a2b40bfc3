"""Expiry: a file whose time is over is marked expired, then its object is removed.

What an export left in the storage that failed or was cancelled is removed here, too.
"""

from __future__ import annotations

import logging
from collections.abc import Collection
from datetime import datetime
from typing import Final

from queries_orchestration.model.errors import StorageUnavailable
from queries_orchestration.receives.backends import Backends
from queries_orchestration.store import exports, files_across
from queries_orchestration.store.exports import Export

FILES_A_PASS: Final = 200
FAULTS_A_PASS: Final = 3
"""Files that storage does not remove, after which a pass leaves the rest to the next one."""

log = logging.getLogger(__name__)


def expire_files(backends: Backends) -> int:
    """Expire what is due and remove its objects; a killed pass is finished by the next one.

    A file that storage does not remove now stops neither the others nor the caller.

    Returns:
        How many exports have nothing in the storage any more, at most a bounded number a pass.
    """
    return remove_files(backends, besides=(), faults=FAULTS_A_PASS)[0]


def remove_files(
    backends: Backends, *, besides: Collection[str], faults: int
) -> tuple[int, list[str]]:
    """Expire and remove some of what is due, as :func:`expire_files`.

    Args:
        besides: the ids of exports that are left out.
        faults: files that storage does not remove, after which the rest is left.

    Returns:
        How many exports have nothing in the storage any more, and the ids of those that should
        not, and have.
    """
    at = backends.clock()
    with backends.database.across.transaction() as connection:
        due = files_across.files_to_expire(connection, at, limit=FILES_A_PASS, besides=besides)
        for export in due.records:
            exports.change(connection, export.workspace_id, export.id, state="expired")
        left_behind = files_across.left_behind(connection, limit=FILES_A_PASS, besides=besides)
    if unreadable := len(due.unreadable) + len(left_behind.unreadable):
        # `queries check` tells which; they keep no other file.
        log.warning("unreadable_rows table=exports rows=%d", unreadable)
    backends.reached("marked expired, not removed")
    removed, failed = 0, list[str]()
    for export in [*due.records, *left_behind.records]:
        try:
            _remove(backends, export, at)
        except StorageUnavailable as error:
            log.warning("file_not_removed export=%s reason=%s", export.id, error.message)
            failed.append(export.id)
            if len(failed) >= faults:
                break
        else:
            removed += 1
    return removed, failed


def files_due(backends: Backends) -> int:
    """Count what :func:`expire_files` would remove, called until nothing is left."""
    with backends.database.across.read() as connection:
        return files_across.files_to_remove(connection, backends.clock())


def _remove(backends: Backends, export: Export, at: datetime) -> None:
    if export.upload_id is not None:
        # First, so that a late worker cannot complete it once the object is removed.
        backends.storage.abort_upload(export.storage_key, export.upload_id)
        backends.reached("upload aborted, not removed")
    backends.storage.delete(export.storage_key)
    backends.reached("removed, not recorded")
    with backends.database.transaction(export.workspace_id) as connection:
        exports.change(
            connection,
            export.workspace_id,
            export.id,
            upload_id=None,
            upload_receive=None,
            removed_at=at,
        )
