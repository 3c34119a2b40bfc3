"""Open a link that a store serves itself, as whoever holds it would: one GET, nothing else."""

from __future__ import annotations

import http.client
import io
from typing import TYPE_CHECKING, Final
from urllib.error import HTTPError
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    UnknownHandler,
)

from queries_orchestration.model.errors import LinkRefused, StorageUnavailable
from queries_orchestration.storage.interface import RedeemedFile

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

SECONDS: Final = 60.0
"""The store may be silent for so long."""

_READ_BYTES: Final = 1024 * 1024
_ENDED_OR_GONE: Final = (400, 403, 404, 410)


def fetch(url: str, *, file_name: str, seconds: float = SECONDS) -> RedeemedFile:
    """Open a link; what is read is streamed and, if it ends early, an error.

    Args:
        url: of ``Storage.link``.
        file_name: that the link gives it.
        seconds: how long the store may be silent.

    Raises:
        LinkRefused: the store refuses it: it has ended, was changed, or the file is gone.
        StorageUnavailable: the store does not answer, or leads elsewhere.
    """
    try:
        answer = _opener().open(url, timeout=seconds)
    except HTTPError as error:
        error.close()
        if error.code in _ENDED_OR_GONE:
            raise LinkRefused from None
        raise _failed(f"HTTP {error.code}") from None
    except (OSError, http.client.HTTPException) as error:
        raise _failed(type(error).__name__) from error
    size = answer.headers.get("Content-Length", "")
    if not size.isdecimal():
        answer.close()
        raise _failed("no length")
    return RedeemedFile(
        stream=io.BufferedReader(_Answer(answer, int(size)), _READ_BYTES),
        file_name=file_name,
        content_type=answer.headers.get("Content-Type", ""),
        size=int(size),
    )


class _Answer(io.RawIOBase):
    """The content of an answer as it arrives."""

    def __init__(self, answer: http.client.HTTPResponse, size: int) -> None:
        self._answer = answer
        self._missing = size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        try:
            count = self._answer.readinto(buffer)
        except (OSError, http.client.HTTPException) as error:
            raise _failed(type(error).__name__) from error
        self._missing -= count
        if count == 0 and self._missing > 0:
            raise _failed("it ended early")
        return count

    def close(self) -> None:
        self._answer.close()
        super().close()


def _opener() -> OpenerDirector:
    """Without what follows redirects and opens files: our link leads to the store itself."""
    opener = OpenerDirector()
    for handler in (
        ProxyHandler(),
        HTTPHandler(),
        HTTPSHandler(),
        HTTPErrorProcessor(),
        HTTPDefaultErrorHandler(),
        UnknownHandler(),
    ):
        opener.add_handler(handler)
    return opener


def _failed(what: str) -> StorageUnavailable:
    return StorageUnavailable(
        f"downloading the file failed ({what}) at the store of QUERIES_STORAGE_URL: try again, and"
        " check that it can be reached from here"
    )
