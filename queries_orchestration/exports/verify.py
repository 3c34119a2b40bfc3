"""Prove that a file is complete: what storage holds now against what was recorded when made."""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import cast

from queries_orchestration.exports.export_file import ExportFile
from queries_orchestration.exports.file_reader import CHUNK_BYTES, FileContent, reading
from queries_orchestration.exports.file_writer import FileFormat, FileOptions, open_writer
from queries_orchestration.exports.look_up import look_up
from queries_orchestration.model.clock import Clock
from queries_orchestration.model.columns import Column
from queries_orchestration.model.errors import NotFound
from queries_orchestration.storage.interface import Storage
from queries_orchestration.store.database import Database
from queries_orchestration.store.exports import Export


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """What storage holds of a file, as far as it was looked at: up to the first ``difference``.

    Rows and columns are read of files of queries; a PDF, and a report's workbook, are proven by
    size and SHA-256.
    """

    file: ExportFile
    size: int | None = None
    sha256: str | None = None
    rows: int | None = None
    columns: tuple[str, ...] | None = None
    difference: str | None = None


def verify_export(
    database: Database,
    storage: Storage,
    *,
    clock: Clock,
    workspace_id: str,
    person_id: str,
    export_id: str,
) -> Proof:
    """Compare the file of an export that the person asked for or governs with its record.

    The file is read once, in flat memory; an Excel file is put down in a temporary file.

    Args:
        export_id: any text.

    Raises:
        NotFound: there is no such export, or it is not this person's: always the same answer.
        Refused: there is no file: ``not_ready``, ``export_failed``, ``cancelled`` or
            ``file_expired``.
        StorageUnavailable, StoreUnavailable: try again later.
    """
    file = look_up(database, workspace_id, person_id=person_id, export_id=export_id)
    refusal = file.refusal(at=clock())
    if refusal is not None:
        raise refusal
    export = file.export
    digest, size = hashlib.sha256(), 0
    is_read = file.source.kind == "query"
    with TemporaryFile() as copy, reading(export.format if is_read else "", copy) as reader:
        try:
            stream = storage.open(export.storage_key)
        except NotFound:
            return Proof(file=file, difference="The storage holds no file of it.")
        with stream:
            while chunk := stream.read(CHUNK_BYTES):
                size += len(chunk)
                digest.update(chunk)
                reader.take(chunk)
        sha256 = digest.hexdigest()
        difference = _difference_of_bytes(export, size, sha256)
        # What is in a file of other bytes cannot be trusted to be readable.
        content = None if difference else reader.content()
    if content is None:
        return Proof(file=file, size=size, sha256=sha256, difference=difference)
    return Proof(
        file=file,
        size=size,
        sha256=sha256,
        rows=content.rows,
        columns=content.header,
        difference=_difference_of_content(export, content),
    )


def _difference_of_bytes(export: Export, size: int, sha256: str) -> str | None:
    if size != export.size:
        return f"The file has {size} bytes, {export.size} were recorded."
    if sha256 != export.sha256:
        return f"The file's SHA-256 is {sha256}, {export.sha256} was recorded."
    return None


def _difference_of_content(export: Export, content: FileContent) -> str | None:
    if content.rows != export.rows:
        return f"The file has {content.rows} rows, {export.rows} were recorded."
    recorded = header_of(export)
    if recorded is None or recorded == content.header:
        return None
    if len(recorded) != len(content.header):
        return f"The file has {len(content.header)} columns, {len(recorded)} were recorded."
    pairs = enumerate(zip(content.header, recorded, strict=True), start=1)
    number, found, wanted = next((n, one, other) for n, (one, other) in pairs if one != other)
    return f"Column {number} of the file is {found!r}, {wanted!r} was recorded."


def header_of(export: Export) -> tuple[str, ...] | None:
    """Return the header that a file of the recorded columns has; None if none were recorded.

    It is that of a file without rows: guarded, cleaned and cut as its format does it.
    """
    if export.columns is None:
        return None
    columns = [Column(**column) for column in export.columns]  # type: ignore[arg-type]
    empty = io.BytesIO()
    options = FileOptions(time_zone=export.time_zone)
    with open_writer(cast(FileFormat, export.format), empty, columns, options) as writer:
        writer.finish()
    with io.BytesIO() as copy, reading(export.format, copy) as reader:
        reader.take(empty.getvalue())
        content = reader.content()
    return None if content is None else content.header
