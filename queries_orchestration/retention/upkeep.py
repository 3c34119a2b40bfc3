"""The heartbeat of the upkeep: what runs seldom leaves word when all of it has gone well."""

from __future__ import annotations

import logging

from queries_orchestration.exports.sweep import sweep_uploads
from queries_orchestration.model.errors import StorageUnavailable
from queries_orchestration.receives.backends import Backends
from queries_orchestration.store import dispatchers
from queries_orchestration.store.dispatchers import SWEEP

log = logging.getLogger(__name__)


def sweep(backends: Backends) -> int:
    """Abort stale uploads, as the hourly job does, and return how many.

    A storage that does not list them is told in the log, and asked again in an hour.
    """
    begin(backends, SWEEP)
    try:
        aborted = sweep_uploads(backends)
    except StorageUnavailable as error:
        log.warning("uploads_not_swept reason=%s", error.message)
        end(backends, SWEEP, failed_with=error.code)
        return 0
    end(backends, SWEEP, failed_with=None)
    return aborted


def begin(backends: Backends, job: str) -> None:
    """Record that a job has begun."""
    with backends.database.across.transaction() as connection:
        dispatchers.begin_pass(connection, job, dispatchers.this_process())


def end(backends: Backends, job: str, *, failed_with: str | None) -> None:
    """Record that a job has ended: well, or with the code of what has not."""
    with backends.database.across.transaction() as connection:
        if failed_with is None:
            dispatchers.end_pass(connection, job)
        else:
            dispatchers.note_failure(connection, job, code=failed_with)
