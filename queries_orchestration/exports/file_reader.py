"""Reading a finished file of a query back: its header, and how many rows it has.

What a file says is read from the file alone, in flat memory: nothing that wrote it is asked.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import IO, Any, Final, Protocol, cast
from zipfile import ZipFile

CHUNK_BYTES: Final = 1024 * 1024

_SHEET: Final = re.compile(r"xl/worksheets/[^/]+\.xml")
# In XML a text or an attribute never holds a `<`: what looks like the tag is one.
_ROW: Final = re.compile(rb"<row[\s/>]")
_ROW_BYTES: Final = 5


@dataclass(frozen=True, slots=True)
class FileContent:
    """The texts of the header, and the rows below it; of a workbook those of all sheets."""

    header: tuple[str, ...]
    rows: int


class FileReader(Protocol):
    """Takes a file chunk by chunk, and tells at the end what is in it."""

    def take(self, chunk: bytes) -> object:
        """Take the next bytes."""
        ...

    def content(self) -> FileContent | None:
        """Return what is in the file; None of a format that does not tell."""
        ...


@contextmanager
def reading(file_format: str, copy: IO[bytes]) -> Iterator[FileReader]:
    """Open a reader of a format.

    Args:
        copy: an empty file, in which an Excel file is put down to be read.
    """
    if file_format == "csv":
        yield CsvReader()
    elif file_format == "xlsx":
        yield XlsxReader(copy)
    else:
        yield _Opaque()


class CsvReader:
    """Counts the records of RFC 4180.

    A line ends where it is outside quotes: where an even number of them came before, since a
    quote within a field is written twice.
    """

    def __init__(self) -> None:
        self._records = 0
        self._is_quoted = False
        self._has_rest = False
        self._head = b""

    def take(self, chunk: bytes) -> None:
        """Take the next bytes."""
        if self._records == 0:
            self._head += chunk
        pieces = chunk.split(b'"')
        self._records += sum(piece.count(b"\n") for piece in pieces[self._is_quoted :: 2])
        self._is_quoted ^= len(pieces) % 2 == 0
        self._has_rest = not chunk.endswith(b"\n") or self._is_quoted

    def content(self) -> FileContent:
        """Return what is in the file."""
        text = self._head.decode("utf-8-sig", errors="replace")
        header = next(csv.reader(io.StringIO(text, newline="")), [])
        return FileContent(tuple(header), max(0, self._records + self._has_rest - 1))


class XlsxReader:
    """Reads the header of each sheet, and counts the rows below."""

    def __init__(self, copy: IO[bytes]) -> None:
        self._copy = copy

    def take(self, chunk: bytes) -> None:
        """Take the next bytes."""
        self._copy.write(chunk)

    def content(self) -> FileContent:
        """Return what is in the workbook; sheets whose headers differ have none."""
        headers = _headers(self._copy)
        self._copy.seek(0)
        with ZipFile(self._copy) as archive:
            sheets = [name for name in archive.namelist() if _SHEET.fullmatch(name)]
            rows = sum(max(0, _rows_of(archive, name) - 1) for name in sheets)
        alike = len(set(headers)) == 1
        return FileContent(headers[0] if alike else (), rows)


class _Opaque:
    """Reads nothing of a file."""

    def take(self, chunk: bytes) -> None:
        """Let the bytes go."""

    def content(self) -> None:
        """Tell nothing."""


def _headers(file: IO[bytes]) -> list[tuple[str, ...]]:
    # Imported here: openpyxl is loaded for Excel files only.
    from openpyxl import load_workbook

    file.seek(0)
    with closing(load_workbook(file, read_only=True)) as book:
        headers = []
        for sheet in book.worksheets:
            with closing(cast(Any, sheet.iter_rows(max_row=1, values_only=True))) as rows:
                headers.append(tuple(str(text or "") for text in next(rows, ())))
        return headers


def _rows_of(archive: ZipFile, name: str) -> int:
    rows, rest = 0, b""
    with archive.open(name) as sheet:
        while chunk := sheet.read(CHUNK_BYTES):
            # The bytes before are looked at again: fewer than a tag has, so that none counts twice.
            chunk = rest + chunk
            rows += len(_ROW.findall(chunk))
            rest = chunk[1 - _ROW_BYTES :]
    return rows
