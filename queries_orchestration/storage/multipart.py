"""The sink that files are written into: it cuts the stream into parts and uploads them."""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Self

from queries_orchestration.model.errors import QueriesError, StorageUnavailable
from queries_orchestration.storage.interface import PartReceipt, Storage

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

PART_BYTES = 8 * 1024 * 1024
"""S3 wants 5 MiB of every part but the last."""

PARTS_OF_ONE_SIZE = 1_000
"""After so many parts their size doubles: S3's 10,000 parts then hold more than it takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredFile:
    """A file that storage has confirmed; ``sha256`` is hexadecimal."""

    key: str
    bytes: int
    sha256: str


class MultipartWriter(io.RawIOBase):
    """A binary stream, not seekable, whose bytes become a file by :meth:`complete` alone.

    Closing it, losing it or leaving the ``with`` block never publishes anything; leaving the block
    without having completed aborts the upload.

    Args:
        storage: where the file goes.
        key: its key.
        upload_id: from ``storage.begin_upload``; record it before the first byte is written.
        part_bytes: size of a part. About twice as much is held in memory.
        parts_of_one_size: parts after which ``part_bytes`` doubles.
    """

    def __init__(
        self,
        storage: Storage,
        key: str,
        upload_id: str,
        part_bytes: int = PART_BYTES,
        *,
        parts_of_one_size: int = PARTS_OF_ONE_SIZE,
    ) -> None:
        self._storage = storage
        self._key = key
        self._upload_id = upload_id
        self._part_bytes = part_bytes
        self._parts_of_one_size = parts_of_one_size
        self._buffer = bytearray()
        self._parts: list[PartReceipt] = []
        self._sha256 = hashlib.sha256()
        self._ended = False
        self.bytes_written = 0

    def writable(self) -> bool:
        return True

    def write(self, data: ReadableBuffer, /) -> int:
        """Take all of ``data``; may upload parts.

        Raises:
            StorageUnavailable, UploadGone: from the storage.
            ValueError: the writer was closed, completed or aborted.
        """
        self._check_open()
        with memoryview(data).cast("B") as taken:
            self._buffer += taken
            self._sha256.update(taken)
            size = taken.nbytes
        self.bytes_written += size
        while len(self._buffer) >= (part_bytes := self._next_part_bytes()):
            self._upload_part(bytes(self._buffer[:part_bytes]))
            del self._buffer[:part_bytes]
        return size

    def complete(self) -> StoredFile:
        """Upload what is left, make the file visible and return it once storage has confirmed it.

        Raises:
            StorageUnavailable: also when storage holds another size than was written.
            UploadGone: another receive aborted the upload.
            ValueError: the writer was completed or aborted before.
        """
        self._check_open(closed_is_fine=True)
        if self._buffer or not self._parts:
            self._upload_part(bytes(self._buffer))
        self._storage.complete_upload(self._key, self._upload_id, self._parts)
        self._end()
        size = self._storage.size(self._key)
        if size != self.bytes_written:
            raise StorageUnavailable(
                f"storage has {size} bytes of {self._key}, {self.bytes_written} were written: "
                "make the file again"
            )
        return StoredFile(key=self._key, bytes=size, sha256=self._sha256.hexdigest())

    def abort(self) -> None:
        """Give up the file; nothing of it stays in storage. May be called again."""
        self._end()
        self._storage.abort_upload(self._key, self._upload_id)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._ended:
            return
        try:
            self.abort()
        except QueriesError as abort_error:
            if error is None:
                raise
            # What went wrong first is what matters; the sweep finds the open upload.
            error.add_note(f"the upload stays open: {abort_error.message}")

    def _next_part_bytes(self) -> int:
        return self._part_bytes << (len(self._parts) // self._parts_of_one_size)

    def _upload_part(self, data: bytes) -> None:
        number = len(self._parts) + 1
        self._parts.append(self._storage.upload_part(self._key, self._upload_id, number, data))

    def _check_open(self, *, closed_is_fine: bool = False) -> None:
        if self._ended or (self.closed and not closed_is_fine):
            raise ValueError(f"the writer of {self._key} is closed, completed or aborted")

    def _end(self) -> None:
        self._ended = True
        self._buffer.clear()
        self.close()
