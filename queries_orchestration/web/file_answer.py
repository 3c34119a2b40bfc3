"""A file as an answer: whole, or one range of it, read as it is sent."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator
from typing import Final

from fastapi import Response
from fastapi.responses import StreamingResponse
from starlette.concurrency import run_in_threadpool
from starlette.types import Receive, Scope, Send

from queries_orchestration.model.file_names import content_disposition
from queries_orchestration.storage.interface import RedeemedFile

CHUNK_BYTES: Final = 256 * 1024
_RANGE: Final = re.compile(r"bytes[ \t]*=[ \t]*([0-9]{0,18})-([0-9]{0,18})[ \t]*", re.IGNORECASE)
_POLICY: Final = "default-src 'none'; sandbox"
"""What a file would be shown under, were it not saved: it can run nothing."""


class FileAnswer(StreamingResponse):
    """Sends a file, and closes it however the sending ends."""

    def __init__(self, file: RedeemedFile, *, asked_range: str | None, if_range: str | None):
        self._file = file
        etag = _etag(file)
        # What was begun with another file is not gone on with.
        wanted = asked_range if if_range in (None, etag) else None
        span = read_range(wanted, file.size)
        status, first, end = 200, 0, file.size
        headers = {
            "Accept-Ranges": "bytes",
            "Content-Disposition": content_disposition(file.file_name),
            "Content-Security-Policy": _POLICY,
            "ETag": etag,
        }
        if span is not None:
            status, (first, end) = 206, span
            headers["Content-Range"] = f"bytes {first}-{end - 1}/{file.size}"
            if first >= end:
                status, headers["Content-Range"] = 416, f"bytes */{file.size}"
                end = first
        headers["Content-Length"] = str(end - first)
        super().__init__(
            self._chunks(first, end), status, headers=headers, media_type=file.content_type
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it; a HEAD has the headers alone."""
        try:
            if scope["method"] == "HEAD":
                headers = dict(self.headers)
                await Response(status_code=self.status_code, headers=headers)(scope, receive, send)
            else:
                await super().__call__(scope, receive, send)
        finally:
            self._file.stream.close()

    async def _chunks(self, first: int, end: int) -> AsyncIterator[bytes]:
        stream = self._file.stream
        stream.seek(first)
        left = end - first
        while left:
            chunk = await run_in_threadpool(stream.read, min(CHUNK_BYTES, left))
            if not chunk:
                return  # it became shorter: the receiver sees that its end is missing
            left -= len(chunk)
            yield chunk


def read_range(header: str | None, size: int) -> tuple[int, int] | None:
    """Return the first byte and the end of a range that is asked for, an empty one if none is left.

    None: all of it, as where several ranges are asked for or the header cannot be read
    (RFC 9110, 14.2).
    """
    match = None if header is None else _RANGE.fullmatch(header)
    if match is None or match[1] == match[2] == "":
        return None
    if match[1] == "":  # the last so many bytes
        return max(0, size - int(match[2])), size
    first = int(match[1])
    end = size if match[2] == "" else min(size, int(match[2]) + 1)
    if match[2] != "" and int(match[2]) < first:
        return None
    return first, max(first, end)


def _etag(file: RedeemedFile) -> str:
    """Name the bytes of a file, so that an interrupted download goes on with the same ones."""
    return f'"{os.fstat(file.stream.fileno()).st_mtime_ns:x}-{file.size:x}"'
