"""A ZIP archive into a sink that is never sought, deflated by igzip.

zipfile cannot be given another compressor, and finishes an archive that was given up when it is
garbage collected: a broken file would look whole. Nothing here happens unasked.
"""

from __future__ import annotations

import struct

from isal import isal_zlib

from queries_orchestration.exports.file_writer import Sink
from queries_orchestration.model.errors import FormatLimit

MOST_BYTES = 2**32 - 2
"""Largest file and largest member, unpacked, of an archive whose sizes have 32 bits.

Excel repairs, or refuses, what has longer ones.
"""

_VERSION = 20  # deflate and data descriptors
_SIZES_FOLLOW = 1 << 3
_NAMES_ARE_UTF8 = 1 << 11
_DEFLATED = 8
_TIME, _DATE = 0, (1 << 5) | 1  # 1 January 1980, the first: the same rows are the same bytes
_FEATURES = (_SIZES_FOLLOW | _NAMES_ARE_UTF8, _DEFLATED, _TIME, _DATE)

_LOCAL_HEADER = struct.Struct("<4s5H3L2H")
_DATA_DESCRIPTOR = struct.Struct("<4s3L")
_CENTRAL_HEADER = struct.Struct("<4s6H3L5H2L")
_END = struct.Struct("<4s4H2LH")


class ZipStream:
    """An archive whose members are written one after the other.

    Args:
        most_bytes: size that the archive must not exceed.

    Attributes:
        member_bytes: bytes of the open member, unpacked.
    """

    def __init__(self, sink: Sink, *, most_bytes: int = MOST_BYTES) -> None:
        self.member_bytes = 0
        self._sink = sink
        self._most_bytes = most_bytes
        self._offset = 0
        self._directory: list[bytes] = []

    def add(self, name: str, data: bytes) -> None:
        """Write a whole member."""
        self.open(name)
        self.write(data)
        self.close_member()

    def open(self, name: str) -> None:
        """Begin a member; the one before it must be closed."""
        self._name = name.encode()
        self._at = self._offset
        self._checksum = 0
        self.member_bytes = 0
        self._compressor = isal_zlib.compressobj(1, isal_zlib.DEFLATED, -isal_zlib.MAX_WBITS)
        self._emit(
            _LOCAL_HEADER.pack(b"PK\3\4", _VERSION, *_FEATURES, 0, 0, 0, len(self._name), 0)
            + self._name
        )
        self._data_at = self._offset

    def write(self, data: bytes) -> None:
        """Write more of the open member.

        Raises:
            FormatLimit: the member or the archive would be too large.
        """
        self.member_bytes += len(data)
        if self.member_bytes > MOST_BYTES:
            raise _too_large(MOST_BYTES)
        self._checksum = isal_zlib.crc32(data, self._checksum)
        self._emit(self._compressor.compress(data))

    def close_member(self) -> None:
        """End the open member."""
        self._emit(self._compressor.flush())
        sizes = (self._checksum, self._offset - self._data_at, self.member_bytes)
        self._emit(_DATA_DESCRIPTOR.pack(b"PK\7\x08", *sizes))
        self._directory.append(
            _CENTRAL_HEADER.pack(
                b"PK\1\2",
                _VERSION,
                _VERSION,
                *_FEATURES,
                *sizes,
                len(self._name),
                *(0, 0, 0, 0, 0),  # no extra field, comment, further disk, attributes
                self._at,
            )
            + self._name
        )

    def finish(self) -> None:
        """Write the directory, without which the archive is not one."""
        start = self._offset
        directory = b"".join(self._directory)
        self._emit(directory)
        count = len(self._directory)
        self._emit(_END.pack(b"PK\5\6", 0, 0, count, count, len(directory), start, 0))

    def _emit(self, data: bytes) -> None:
        if self._offset + len(data) > self._most_bytes:
            raise _too_large(self._most_bytes)
        if data:
            self._sink.write(data)
            self._offset += len(data)


def _too_large(most_bytes: int) -> FormatLimit:
    return FormatLimit(
        f"the result makes an Excel file of more than {most_bytes:,} bytes, which Excel does not"
        " open: ask for CSV, or choose fewer fields or rows"
    )
