"""Links to files in a storage that cannot make links itself: whoever holds one has the file.

They end after minutes, so nothing is kept of them and none can be made a second time.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from queries_orchestration.model.file_names import LONGEST_FILE_NAME
from queries_orchestration.model.signed_tokens import TokenKind, is_whole_second


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageLink:
    """The object under ``key``, to be downloaded under this name and type until ``expires_at``.

    The time is aware UTC in whole seconds; the name is one of ``model.file_names``.
    """

    key: str
    file_name: str
    content_type: str
    expires_at: datetime

    def __post_init__(self) -> None:
        if not is_whole_second(self.expires_at):
            raise ValueError("a link's times are UTC in whole seconds")
        if not 0 < len(self.file_name.encode()) <= LONGEST_FILE_NAME:
            raise ValueError("a link's file name is one of model.file_names")


_KIND: Final = TokenKind(
    typ="queries-storage-link+jwt",
    audience="queries/storage-link",
    link=StorageLink,
    texts={"key": "key", "name": "file_name", "content": "content_type"},
    moments={"exp": "expires_at"},
)
sign: Final = _KIND.sign
verify: Final = _KIND.verify


def link_url(public_url: str, token: str) -> str:
    """The address of the file; ``public_url`` is the root of our public site."""
    return f"{public_url.rstrip('/')}/files/{token}"
