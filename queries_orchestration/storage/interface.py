"""What we ask of a storage: files come in as uploads of parts and appear whole or not at all."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import BinaryIO, NamedTuple, Protocol

from queries_orchestration.model.errors import Refused

KEY_LENGTH = 200

_KEY = re.compile(r"[a-z0-9_-][a-z0-9._-]*(/[a-z0-9_-][a-z0-9._-]*)*")
_PREFIX = re.compile(r"[a-z0-9/._-]*")


class OpenUpload(NamedTuple):
    """An upload that was begun, and neither completed nor aborted.

    ``begun_at`` is aware UTC, by the storage's clock; a folder gives when the upload last grew.
    None: the storage does not tell.
    """

    key: str
    upload_id: str
    begun_at: datetime | None


class StoredFile(NamedTuple):
    """A file that is there; ``changed_at`` is aware UTC, by the storage's clock."""

    key: str
    changed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class PartReceipt:
    """The storage's word for a part; ``tag`` is the storage's own and means nothing to others."""

    number: int
    size: int
    tag: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RedeemedFile:
    """What a link gives: the open file, to be closed by whoever redeemed it; ``size`` in bytes."""

    stream: BinaryIO
    file_name: str
    content_type: str
    size: int


class Storage(Protocol):
    """Files under opaque keys of ours, never of people's words: see :func:`check_key`.

    Every call may raise ``StorageUnavailable``, which is transient and says what to do.
    """

    @property
    def parts_at_once(self) -> int:
        """How many parts of one upload may be stored at once; one: in the order of the file."""
        ...

    def begin_upload(self, key: str, content_type: str) -> str:
        """Begin an upload and return its id; nothing is visible under ``key`` yet."""
        ...

    def upload_part(
        self, key: str, upload_id: str, number: int, data: bytes | bytearray
    ) -> PartReceipt:
        """Store part ``number``, counted from 1; from several threads if ``parts_at_once`` allows.

        Raises:
            UploadGone: the upload was aborted or completed.
        """
        ...

    def complete_upload(self, key: str, upload_id: str, parts: Sequence[PartReceipt]) -> None:
        """Make the parts, at least one, the file under ``key``, in place of any before it.

        Raises:
            UploadGone: the upload was aborted or completed; what ``key`` holds is unchanged.
        """
        ...

    def abort_upload(self, key: str, upload_id: str) -> None:
        """Forget an upload and its parts; one that is unknown or ended is no error."""
        ...

    def size(self, key: str) -> int | None:
        """Return the file's size in bytes, or None if there is none."""
        ...

    def open(self, key: str) -> BinaryIO:
        """Open the file for reading.

        Raises:
            NotFound: there is none.
        """
        ...

    def delete(self, key: str) -> None:
        """Remove the file; none is no error."""
        ...

    def files(self, prefix: str) -> Iterator[StoredFile]:
        """Yield the files whose key starts with ``prefix``, read a page at a time, in no order.

        One that comes or goes meanwhile may be among them or not; no other is left out.
        """
        ...

    def open_uploads(self, prefix: str) -> list[OpenUpload]:
        """Return the open uploads whose key starts with ``prefix``, sorted by key and id."""
        ...

    def link(self, key: str, *, file_name: str, content_type: str, expires_at: datetime) -> str:
        """Return a URL that gives the file to whoever holds it, until ``expires_at``.

        It is downloaded under this name, one of ``model.file_names``, and as this type. Whether
        there is such a file is not looked up.

        Args:
            expires_at: aware UTC in whole seconds; the link ends then, not after.
        """
        ...

    def location(self, key: str) -> str:
        """Return where the file is, for people to read."""
        ...


def is_key(text: str) -> bool:
    """Whether ``text`` is a key: a-z 0-9 . _ - in segments that ``/`` parts and no dot starts."""
    return _KEY.fullmatch(text) is not None and ".." not in text and len(text) <= KEY_LENGTH


def check_key(key: str) -> str:
    """Return ``key`` if it is one, see :func:`is_key`.

    Raises:
        Refused: it is not, or is longer than 200 characters.
    """
    if not is_key(key):
        raise Refused(
            f"{key[:KEY_LENGTH]!r} is not a storage key: up to {KEY_LENGTH} of a-z 0-9 . _ - and /",
            code="invalid_key",
        )
    return key


def check_prefix(prefix: str) -> str:
    """Return ``prefix`` if a key can start with it; the empty one means every key.

    Raises:
        Refused: no key starts with it.
    """
    if not _PREFIX.fullmatch(prefix) or ".." in prefix:
        raise Refused(f"no storage key starts with {prefix[:KEY_LENGTH]!r}", code="invalid_key")
    return prefix
