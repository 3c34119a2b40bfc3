"""Hop 4: generate the query's file in the receive; a later receive reuses what is finished."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Final, cast

from queries_orchestration.deliveries.backends import Backends
from queries_orchestration.deliveries.heartbeat import Heartbeat
from queries_orchestration.deliveries.resolve import assignment_of, open_for
from queries_orchestration.exports.file_writer import FileFormat, FileOptions
from queries_orchestration.exports.generate import generate
from queries_orchestration.model.errors import ReceiveLost
from queries_orchestration.model.file_names import CONTENT_TYPES
from queries_orchestration.store import exports, occurrences
from queries_orchestration.store.exports import Export
from queries_orchestration.store.occurrences import Receive

DELIVERY_FILE_LIFETIME: Final = timedelta(days=9)
PROGRESS_INTERVAL: Final = 1.0
"""Seconds between two writes of the progress."""


def make_file(backends: Backends, receive: Receive, heartbeat: Heartbeat) -> Export:
    """Return the occurrence's export, ready; made now unless an earlier receive finished it.

    Raises:
        ReceiveLost: a newer receive took the work.
        PermanentError, TransientError: see ``exports.generate``.
    """
    with backends.database.transaction() as connection:
        assignment = assignment_of(connection, receive)
        opened = open_for(connection, assignment, backends.environment)
        export = _export(
            exports.get(connection, receive.workspace_id, str(assignment.occurrence.export_id))
        )
    if export.state == "ready" and backends.storage.size(export.storage_key) == export.size:
        return export
    upload_id = _begin_upload(backends, receive, export)
    backends.reached("upload recorded")
    made = generate(
        opened,
        file_format=cast(FileFormat, export.format),  # checked by the database
        options=FileOptions(
            time_zone=assignment.schedule.time_zone, sheet_title=assignment.source.title
        ),
        storage=backends.storage,
        storage_key=export.storage_key,
        upload_id=upload_id,
        part_bytes=backends.settings.part_bytes,
        patience=heartbeat,
        progress=_Progress(backends, receive, export.id),
    )
    backends.reached("file complete, not recorded")
    completed_at = backends.clock()
    with backends.database.transaction() as connection:
        occurrences.hold(connection, receive)
        exports.change(
            connection,
            receive.workspace_id,
            export.id,
            state="ready",
            upload_id=None,
            upload_receive=None,
            rows_done=made.rows,
            bytes_done=made.size,
            size=made.size,
            rows=made.rows,
            sha256=made.sha256,
            replaced_characters=made.replaced_characters,
            cut_cells=made.cut_cells,
            completed_at=completed_at,
            expires_at=completed_at + DELIVERY_FILE_LIFETIME,
        )
        ready = exports.get(connection, receive.workspace_id, export.id)
    backends.reached("file recorded")
    return _export(ready)


def _begin_upload(backends: Backends, receive: Receive, export: Export) -> str:
    """Abort the upload recorded before this one, begin anew and record it before any part."""
    storage = backends.storage
    if export.upload_id is not None:
        storage.abort_upload(export.storage_key, export.upload_id)
    upload_id = storage.begin_upload(export.storage_key, CONTENT_TYPES[export.format])
    backends.reached("upload begun, not recorded")
    try:
        with backends.database.transaction() as connection:
            occurrences.hold(connection, receive)
            exports.take(connection, receive.workspace_id, export.id)
            exports.record_upload(
                connection,
                receive.workspace_id,
                export.id,
                upload_id=upload_id,
                receive=receive.number,
            )
    except ReceiveLost:
        storage.abort_upload(export.storage_key, upload_id)
        raise
    return upload_id


class _Progress:
    """Writes the rows and bytes done, at most once a second."""

    def __init__(self, backends: Backends, receive: Receive, export_id: str) -> None:
        self._backends = backends
        self._receive = receive
        self._export_id = export_id
        self._next = time.monotonic() + PROGRESS_INTERVAL

    def __call__(self, rows: int, size: int) -> None:
        self._backends.reached("page written")
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + PROGRESS_INTERVAL
        with self._backends.database.transaction() as connection:
            occurrences.hold(connection, self._receive)
            exports.change(
                connection,
                self._receive.workspace_id,
                self._export_id,
                rows_done=rows,
                bytes_done=size,
            )


def _export(export: Export | None) -> Export:
    if export is None:
        raise ReceiveLost("The export of the occurrence is gone.")
    return export
