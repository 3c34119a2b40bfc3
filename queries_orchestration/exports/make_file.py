"""WF-PFM-QRY-006, hops 4 and 5: make an export's file within a receive, and record it.

The receive is the export's own, or that of the occurrence whose file it is. A later receive
reuses what is finished, and aborts the upload that an earlier one left.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import timedelta
from typing import Final, TypeAlias

from sqlalchemy import Connection

from queries_orchestration.exports.file_writer import Sink
from queries_orchestration.exports.generate import Patience, Produce, Written, generate
from queries_orchestration.exports.limits import LimitedPatience, limited
from queries_orchestration.model.columns import Column
from queries_orchestration.model.errors import QueriesError, ReceiveLost, StorageUnavailable
from queries_orchestration.model.file_names import CONTENT_TYPES
from queries_orchestration.observing.traces import span
from queries_orchestration.receives.backends import Backends
from queries_orchestration.receives.heartbeat import Heartbeat
from queries_orchestration.store import claims, counters, exports, workspaces
from queries_orchestration.store.claims import Receive
from queries_orchestration.store.exports import Export
from queries_orchestration.store.workspaces import Workspace

Producer: TypeAlias = Callable[[Patience], Produce]
"""Returns what writes a file for as long as the patience lasts."""

LIFETIMES: Final[Mapping[str, timedelta]] = {
    "interactive": timedelta(days=7),
    "delivery": timedelta(days=9),
}
"""How long a file is kept by the purpose of its export, counted from its completion."""

PROGRESS_INTERVAL: Final = 1.0
"""Seconds between two writes of the progress."""


def _nothing_more(_connection: Connection) -> None:
    """Write nothing beside the completion."""


def make_file(
    backends: Backends,
    receive: Receive,
    heartbeat: Heartbeat,
    export: Export,
    producer: Producer,
    *,
    with_completion: Callable[[Connection], None] = _nothing_more,
) -> Export:
    """Return ``export``, ready; made now unless an earlier receive finished it.

    Args:
        producer: makes what writes the file.
        with_completion: writes more in the transaction that records the completion.

    Raises:
        ReceiveLost: a newer receive, a cancel or a settlement took the work.
        LimitExceeded: the file is larger, or takes longer, than the workspace allows.
        PermanentError, TransientError: see ``exports.generate``, and what is produced raises.
    """
    if export.state == "ready" and backends.storage.size(export.storage_key) == export.size:
        return export
    workspace = _workspace_of(backends, receive)
    progress = _Progress(backends, receive, export.id)
    patience = LimitedPatience(heartbeat, workspace, backends.waiting.now)
    upload_id = _begin_upload(backends, receive, export)
    backends.reached("upload recorded")
    produce = limited(producer(patience), workspace)

    def produce_whole(sink: Sink, told: Callable[[int], None]) -> Written:
        written = produce(sink, told)
        backends.reached("written, not complete")
        return written

    with span("make_file", work=receive.key, export=export.id):
        made = generate(
            produce_whole,
            storage=backends.storage,
            storage_key=export.storage_key,
            upload_id=upload_id,
            part_bytes=backends.settings.part_bytes,
            patience=patience,
            progress=progress,
        )
    backends.reached("file complete, not recorded")
    completed_at = backends.clock()
    with backends.database.transaction(receive.workspace_id) as connection:
        claims.hold(connection, receive)
        exports.change(
            connection,
            receive.workspace_id,
            export.id,
            state="ready",
            upload_id=None,
            upload_receive=None,
            duration_seconds=progress.seconds(),
            rows_done=made.written.rows,
            bytes_done=made.size,
            size=made.size,
            rows=made.written.rows,
            sha256=made.sha256,
            replaced_characters=made.written.replaced_characters,
            cut_cells=made.written.cut_cells,
            cut_sections=made.written.cut_sections,
            columns=_columns(made.written.columns),
            snapshot_at=made.written.snapshot_at,
            completed_at=completed_at,
            expires_at=completed_at + LIFETIMES[export.purpose],
        )
        if export.state != "ready":  # else it is made again, since the storage had lost it
            counters.count(connection, counters.EXPORTS_SETTLED, label="ready")
        with_completion(connection)
        ready = exports.get(connection, receive.workspace_id, export.id)
    backends.reached("file recorded")
    if ready is None:
        raise ReceiveLost("The export is gone.")
    return ready


def _columns(columns: Sequence[Column] | None) -> list[dict[str, str]] | None:
    """Return the columns as they are kept."""
    return None if columns is None else [asdict(column) for column in columns]


def _workspace_of(backends: Backends, receive: Receive) -> Workspace:
    with backends.database.read(receive.workspace_id) as connection:
        workspace = workspaces.get(connection, receive.workspace_id)
    if workspace is None:
        raise ReceiveLost("The workspace is gone.")
    return workspace


def _begin_upload(backends: Backends, receive: Receive, export: Export) -> str:
    """Abort the upload recorded before this one, begin anew and record it before any part."""
    storage = backends.storage
    if export.upload_id is not None:
        storage.abort_upload(export.storage_key, export.upload_id)
    upload_id = storage.begin_upload(export.storage_key, CONTENT_TYPES[export.format])
    backends.reached("upload begun, not recorded")
    try:
        with backends.database.transaction(receive.workspace_id) as connection:
            claims.hold(connection, receive)
            exports.take(connection, receive.workspace_id, export.id)
            exports.record_upload(
                connection,
                receive.workspace_id,
                export.id,
                upload_id=upload_id,
                receive=receive.number,
                at=backends.clock(),
            )
    except QueriesError as error:
        # Should it be recorded for all that, the next receive finds it gone and begins anew.
        try:
            storage.abort_upload(export.storage_key, upload_id)
        except StorageUnavailable as abort_error:
            error.add_note(f"the upload stays open: {abort_error.message}")
        raise
    return upload_id


class _Progress:
    """Writes the rows and bytes done and the seconds they took, at most once a second."""

    def __init__(self, backends: Backends, receive: Receive, export_id: str) -> None:
        self._backends = backends
        self._receive = receive
        self._export_id = export_id
        self._began = backends.waiting.now()
        self._next = PROGRESS_INTERVAL

    def seconds(self) -> float:
        """Return the seconds since the receive began with the file."""
        return self._backends.waiting.now() - self._began

    def __call__(self, rows: int, size: int) -> None:
        self._backends.reached("page written")
        seconds = self.seconds()
        if seconds < self._next:
            return
        self._next = seconds + PROGRESS_INTERVAL
        with self._backends.database.transaction(self._receive.workspace_id) as connection:
            claims.hold(connection, self._receive)
            exports.change(
                connection,
                self._receive.workspace_id,
                self._export_id,
                rows_done=rows,
                bytes_done=size,
                duration_seconds=seconds,
            )
