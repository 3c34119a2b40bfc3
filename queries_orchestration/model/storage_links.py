"""Links to files in a storage that cannot make links itself: whoever holds one has the file.

They end after minutes, so nothing is kept of them and none can be made a second time.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from queries_orchestration.model.errors import LinkRefused
from queries_orchestration.model.file_names import LONGEST_FILE_NAME
from queries_orchestration.model.link_keys import LinkKeys
from queries_orchestration.model.signed_tokens import (
    TokenKind,
    is_whole_second,
    read_token,
    sign_token,
)

_TEXT_CLAIMS: Final = {"key": "key", "name": "file_name", "content": "content_type"}
_CLAIMS: Final = _TEXT_CLAIMS | {"exp": "expires_at"}
_KIND: Final = TokenKind(
    type="queries-storage-link+jwt",
    audience="queries/storage-link",
    texts=tuple(_TEXT_CLAIMS),
    moments=("exp",),
)


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


def sign(keys: LinkKeys, link: StorageLink) -> str:
    """The token of ``link``, signed with the first key."""
    claims = {claim: getattr(link, name) for claim, name in _CLAIMS.items()}
    return sign_token(keys, _KIND, key_id=keys.signing_key_id, claims=claims)


def verify(keys: LinkKeys, token: str, *, now: datetime) -> StorageLink:
    """The link that ``token`` stands for, at ``now`` (aware).

    Raises:
        LinkRefused: anything else than an unchanged, unexpired token of this kind; the same
            answer whatever is wrong.
    """
    _, claims = read_token(keys, _KIND, token, now=now)
    try:
        return StorageLink(**{name: claims[claim] for claim, name in _CLAIMS.items()})
    except ValueError:  # its name is no file's
        raise LinkRefused from None


def link_url(public_url: str, token: str) -> str:
    """The address of the file; ``public_url`` is the root of our public site."""
    return f"{public_url.rstrip('/')}/files/{token}"
