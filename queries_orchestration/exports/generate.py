"""WF-PFM-QRY-006, hop 4: stream a file into multipart storage, whole or not at all."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeAlias

from queries_orchestration.exports.file_writer import Sink
from queries_orchestration.model.columns import Column
from queries_orchestration.storage.interface import Storage
from queries_orchestration.storage.multipart import MultipartWriter


class Patience(Protocol):
    """How long the work may go on: a deadline, a claim that can be lost, an interruption."""

    @property
    def statement_seconds(self) -> float | None:
        """The seconds that one statement may run; None: as long as the work may go on."""
        ...

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
class Written:
    """What went into a file: rows without headers, and what its format could not hold.

    ``snapshot_at`` is as of when its source was read; ``columns`` are those of a file of one query,
    ``cut_sections`` those of a report that show less than there is.
    """

    rows: int
    replaced_characters: int
    cut_cells: int
    cut_sections: int = 0
    columns: tuple[Column, ...] | None = None
    snapshot_at: datetime | None = None


Produce: TypeAlias = Callable[[Sink, Callable[[int], None]], Written]
"""Writes a file into the sink; calls its second argument with the rows done so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedFile:
    """What storage confirmed: ``size`` in bytes, and what was written."""

    size: int
    sha256: str
    written: Written


def generate(
    produce: Produce,
    *,
    storage: Storage,
    storage_key: str,
    upload_id: str,
    part_bytes: int,
    patience: Patience,
    progress: Callable[[int, int], None],
) -> GeneratedFile:
    """Write what ``produce`` makes under ``storage_key``.

    The object appears only when it is complete; any failure aborts the upload.

    Args:
        upload_id: the upload begun, and recorded, by the caller.
        progress: called with the rows and bytes done so far.

    Raises:
        StorageUnavailable: as it says; and what ``produce`` raises.
        ReceiveLost, ReceiveTimeout: from ``patience``.
    """
    with MultipartWriter(storage, storage_key, upload_id, part_bytes=part_bytes) as upload:
        written = produce(upload, lambda rows: progress(rows, upload.bytes_written))
        patience.check()
        stored = upload.complete()
    return GeneratedFile(size=stored.bytes, sha256=stored.sha256, written=written)
