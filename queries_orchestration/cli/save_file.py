"""Save a stream as a file: whole under its name, or not at all; ``-`` is standard output."""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from queries_orchestration.model.errors import QueriesError, Refused, StorageUnavailable

STANDARD_OUTPUT: Final = Path("-")
_CHUNK_BYTES: Final = 1024 * 1024


class NotSaved(QueriesError):
    """The file cannot be written there."""

    code = "disk_error"


class FileDiffers(QueriesError):
    """What came is not what was recorded."""

    code = "file_differs"


def check_place(out: Path, *, force: bool) -> None:
    """Make sure, before any work is asked for, that a file can be made at ``out``.

    Raises:
        Refused: something is there (``file_exists``), and ``force`` does not allow to replace it.
        NotSaved: its folder is not there or cannot be written.
    """
    if out == STANDARD_OUTPUT:
        return
    if out.is_dir():
        raise Refused(f"{out} is a folder: name a file in it.", code="file_exists")
    if os.path.lexists(out) and not out.is_file():
        # A rename would put a file in the place of a device, a pipe or a dangling link.
        raise Refused(
            f"{out} is no ordinary file: name another one, or use - for standard output.",
            code="not_a_file",
        )
    if not force and os.path.lexists(out):
        raise _exists(out)
    with _writing(out), _temporary(out):
        pass


def save(stream: BinaryIO, out: Path, *, force: bool, sha256: str | None = None) -> None:
    """Write what ``stream`` holds to ``out``, which appears when all of it is on the disk.

    Args:
        sha256: that of the bytes, in hexadecimal digits, where it is known.

    Raises:
        FileDiffers: the bytes have another ``sha256``; only standard output got them.
        Refused: something is there by now (``file_exists``), and ``force`` is not given.
        NotSaved: the disk is full, or the folder cannot be written; nothing is left there.
    """
    if out == STANDARD_OUTPUT:
        with _writing(out):
            _write_to_standard_output(_chunks(stream, sha256))
        return
    with _writing(out), _temporary(out) as path:
        with path.open("wb") as file:
            for chunk in _chunks(stream, sha256):
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
        if force:
            # Of a symbolic link the file that it names is replaced.
            path.replace(out.resolve())
        else:
            _rename_to_new(path, out)


def _write_to_standard_output(chunks: Iterator[bytes]) -> None:
    """Write all; where Python does not buffer, one write takes a part of it without a word."""
    if sys.stdout is None:
        raise OSError(errno.EBADF, os.strerror(errno.EBADF))
    for chunk in chunks:
        rest = memoryview(chunk)
        while rest:
            rest = rest[sys.stdout.buffer.write(rest) or 0 :]
    sys.stdout.buffer.flush()


def _chunks(stream: BinaryIO, sha256: str | None) -> Iterator[bytes]:
    digest = hashlib.sha256()
    while True:
        try:
            chunk = stream.read(_CHUNK_BYTES)
        except OSError as error:
            raise StorageUnavailable(
                f"The file cannot be read from the storage: {error.strerror}."
            ) from error
        if not chunk:
            break
        digest.update(chunk)
        yield chunk
    if sha256 is not None and digest.hexdigest() != sha256:
        raise FileDiffers(
            f"What the storage sent has the SHA-256 {digest.hexdigest()}, and {sha256} was recorded"
            " when the file was made: do not use it; `queries exports verify` looks again."
        )


@contextmanager
def _temporary(out: Path) -> Iterator[Path]:
    """Make an empty file of another name beside ``out``; it is gone at the end."""
    path = out.with_name(f".queries-{secrets.token_hex(8)}.part")
    path.open("xb").close()
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def _rename_to_new(path: Path, out: Path) -> None:
    """Give the file its name, unless somebody else has taken that meanwhile."""
    try:
        os.link(path, out)
    except FileExistsError:
        raise _exists(out) from None
    except OSError:
        # A file system without links: between this look and the rename somebody could be faster.
        if os.path.lexists(out):
            raise _exists(out) from None
        path.replace(out)


def _exists(out: Path) -> Refused:
    return Refused(f"{out} is there already: --force replaces it.", code="file_exists")


@contextmanager
def _writing(out: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise NotSaved(
            f"{out} cannot be written: {error.strerror}. Check the path, its rights and its disk."
        ) from error
