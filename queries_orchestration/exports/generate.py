"""WF-PFM-QRY-006, hop 4: read keyset pages, stream them into multipart storage."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from queries_orchestration.exports.file_writer import FileFormat, FileOptions, open_writer
from queries_orchestration.exports.open_query import OpenedQuery
from queries_orchestration.exports.pages import read_pages
from queries_orchestration.exports.sources import interrupt, open_source, read_snapshot
from queries_orchestration.storage.interface import Storage
from queries_orchestration.storage.multipart import MultipartWriter


class Patience(Protocol):
    """How long the work may go on: a deadline, a claim that can be lost, an interruption."""

    def check(self) -> None:
        """Raise if the work must end."""
        ...

    def remaining(self) -> float:
        """Return the seconds that are left."""
        ...

    def interrupting(self, interrupt: Callable[[], object]) -> AbstractContextManager[None]:
        """Call ``interrupt`` if the work must end while a statement runs."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedFile:
    """What storage confirmed: ``size`` in bytes, the rows without the header."""

    size: int
    rows: int
    sha256: str
    replaced_characters: int
    cut_cells: int


def generate(
    opened: OpenedQuery,
    *,
    file_format: FileFormat,
    options: FileOptions,
    storage: Storage,
    storage_key: str,
    upload_id: str,
    part_bytes: int,
    patience: Patience,
    progress: Callable[[int, int], None],
) -> GeneratedFile:
    """Write the query's complete result, as of one moment, under ``storage_key``.

    The object appears only when it is complete; any failure aborts the upload.

    Args:
        upload_id: the upload begun, and recorded, by the caller.
        progress: called after each page with the rows and bytes done so far.

    Raises:
        SourceUnavailable, SourceBroken, StorageUnavailable, FormatLimit: as they say.
        ReceiveLost, ReceiveTimeout: from ``patience``.
    """
    engine = open_source(opened.database_url)
    columns = opened.compiled.columns
    with (
        MultipartWriter(storage, storage_key, upload_id, part_bytes=part_bytes) as upload,
        open_writer(file_format, upload, columns, options) as writer,
    ):
        with (
            read_snapshot(engine, timeout_seconds=patience.remaining()) as connection,
            patience.interrupting(lambda: interrupt(connection)),
        ):
            for page in read_pages(connection, opened.compiled):
                patience.check()
                writer.write_page(page)
                progress(writer.rows, upload.bytes_written)
        writer.finish()
        patience.check()
        stored = upload.complete()
    return GeneratedFile(
        size=stored.bytes,
        rows=writer.rows,
        sha256=stored.sha256,
        replaced_characters=writer.replaced_characters,
        cut_cells=writer.cut_cells,
    )
