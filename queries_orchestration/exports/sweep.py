"""The sweep: open uploads that nobody works on any more, left by killed processes, are aborted."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import timedelta
from typing import Final

from queries_orchestration.model.errors import StorageUnavailable
from queries_orchestration.receives.backends import Backends
from queries_orchestration.storage.interface import OpenUpload
from queries_orchestration.store import files_across

UPLOADS_A_SWEEP: Final = 200
FAULTS_A_SWEEP: Final = 3
"""Uploads that storage does not abort, after which a sweep leaves the rest to the next one."""

log = logging.getLogger(__name__)


def sweep_uploads(backends: Backends) -> int:
    """Abort uploads older than ``upload_age`` that no export records as its own.

    A recorded one is aborted by the next receive, or once its export has failed or was cancelled.
    One whose age the storage does not tell stays. One that the storage does not abort keeps no
    other.

    Returns:
        How many were aborted, the oldest first, at most a bounded number a sweep.

    Raises:
        StorageUnavailable: the storage does not list them.
    """
    return abort(backends, stale_uploads(backends)[:UPLOADS_A_SWEEP], faults=FAULTS_A_SWEEP)[0]


def abort(
    backends: Backends, uploads: Iterable[OpenUpload], *, faults: int
) -> tuple[int, list[str]]:
    """Abort uploads.

    Args:
        faults: uploads that storage does not abort, after which the rest is left.

    Returns:
        How many were aborted, and the keys of those that were not.
    """
    aborted, failed = 0, list[str]()
    for upload in uploads:
        try:
            backends.storage.abort_upload(upload.key, upload.upload_id)
        except StorageUnavailable as error:
            log.warning("upload_not_aborted key=%s reason=%s", upload.key, error.message)
            failed.append(upload.key)
            if len(failed) >= faults:
                break
        else:
            aborted += 1
    return aborted, failed


def stale_uploads(backends: Backends) -> list[OpenUpload]:
    """Return the uploads that a sweep would abort, the oldest first.

    Raises:
        StorageUnavailable: the storage does not list them.
    """
    old = _old_uploads(backends)
    with backends.database.across.read() as connection:
        recorded = files_across.recorded_uploads(connection, [upload.upload_id for upload in old])
    return [upload for upload in old if upload.upload_id not in recorded]


def _old_uploads(backends: Backends) -> list[OpenUpload]:
    until = backends.clock() - timedelta(seconds=backends.settings.upload_age)
    dated = [
        (upload.begun_at, upload)
        for upload in backends.storage.open_uploads("")
        if upload.begun_at is not None and upload.begun_at < until
    ]
    return [upload for _, upload in sorted(dated)]
