"""The sink that files are written into: a part is uploaded while the next one is made."""

from __future__ import annotations

import hashlib
import io
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Self

from queries_orchestration.model.errors import QueriesError, StorageUnavailable
from queries_orchestration.storage.interface import PartReceipt, Storage

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

PART_BYTES = 8 * 1024 * 1024
"""S3 wants 5 MiB of every part but the last."""

PARTS_OF_ONE_SIZE = 900
"""After so many parts their size doubles: 10,000, as many as S3 takes, hold more than 5 TiB."""

LARGEST_PART_BYTES = 5 * 1024**3


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

    A part that fails ends the file: the next call raises what it was.

    Args:
        storage: where the file goes.
        key: its key.
        upload_id: from ``storage.begin_upload``; record it before the first byte is written.
        part_bytes: size of a part. Held in memory are those being uploaded, and one more.
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
        self._part = bytearray()
        self._parts_begun = 0
        self._in_flight: list[Future[PartReceipt]] = []
        self._receipts: list[PartReceipt] = []
        self._threads = ThreadPoolExecutor(storage.parts_at_once, thread_name_prefix="upload-part")
        self._sha256 = hashlib.sha256()
        self._ended = False
        self.bytes_written = 0

    def writable(self) -> bool:
        return True

    def write(self, data: ReadableBuffer, /) -> int:
        """Take all of ``data``; waits while as many parts are in flight as there may be.

        Raises:
            StorageUnavailable, UploadGone: from the storage, also of a part begun before.
            ValueError: the writer was closed, completed or aborted.
        """
        self._check_open()
        self._collect()
        with memoryview(data).cast("B") as taken:
            size, start = taken.nbytes, 0
            while start < size:
                end = start + self._next_part_bytes() - len(self._part)
                self._part += taken[start:end]
                start = end
                if end <= size:
                    self._begin_part()
        self.bytes_written += size
        return size

    def complete(self) -> StoredFile:
        """Upload what is left, make the file visible and return it once storage has confirmed it.

        Raises:
            StorageUnavailable: also when storage holds another size than was written.
            UploadGone: another receive aborted the upload.
            ValueError: the writer was completed or aborted before.
        """
        self._check_open(closed_is_fine=True)
        self._collect()
        if self._part or not self._parts_begun:
            self._begin_part()
        self._collect(leave=0)
        self._receipts.sort(key=lambda receipt: receipt.number)
        self._storage.complete_upload(self._key, self._upload_id, self._receipts)
        self._end()
        size = self._storage.size(self._key)
        if size != self.bytes_written:
            raise StorageUnavailable(
                f"storage has {size} bytes of {self._key}, {self.bytes_written} were written: "
                "make the file again"
            )
        return StoredFile(key=self._key, bytes=size, sha256=self._sha256.hexdigest())

    def abort(self) -> None:
        """Give up the file; nothing of it stays in storage. May be called again.

        Waits for the parts in flight, which would else arrive after the upload was aborted.
        """
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
        doublings = self._parts_begun // self._parts_of_one_size
        return min(self._part_bytes << doublings, LARGEST_PART_BYTES)

    def _begin_part(self) -> None:
        part, self._part = self._part, bytearray()
        self._sha256.update(part)  # a large piece, during which other threads run
        self._collect(leave=self._storage.parts_at_once - 1)
        self._parts_begun += 1
        self._in_flight.append(
            self._threads.submit(
                self._storage.upload_part, self._key, self._upload_id, self._parts_begun, part
            )
        )

    def _collect(self, *, leave: int | None = None) -> None:
        """Take the receipts that are there; with ``leave``, wait until so few are in flight.

        A part that failed stays, and is raised again each time.
        """
        while True:
            for future in [one for one in self._in_flight if one.done()]:
                self._receipts.append(future.result())
                self._in_flight.remove(future)
            if leave is None or len(self._in_flight) <= leave:
                return
            wait(self._in_flight, return_when=FIRST_COMPLETED)

    def _check_open(self, *, closed_is_fine: bool = False) -> None:
        if self._ended or (self.closed and not closed_is_fine):
            raise ValueError(f"the writer of {self._key} is closed, completed or aborted")

    def _end(self) -> None:
        self._ended = True
        self._part = bytearray()
        self._threads.shutdown(cancel_futures=True)
        self.close()
