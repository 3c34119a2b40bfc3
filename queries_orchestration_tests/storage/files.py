"""A local folder as storage, with keys for its links."""

from __future__ import annotations

from pathlib import Path

from queries_orchestration.model.link_keys import LinkKeys
from queries_orchestration.storage import open_storage
from queries_orchestration.storage.local import LocalStorage

PUBLIC_URL = "https://queries.example.org"
LINK_KEYS = LinkKeys.parse(f"k1:{'a' * 40},k2:{'b' * 40}")


class Folder(LocalStorage):
    """A local storage for tests to change in one way."""

    def __init__(self, root: Path) -> None:
        super().__init__(root, public_url=PUBLIC_URL, link_keys=LINK_KEYS)


def open_files(folder: Path, link_keys: LinkKeys = LINK_KEYS) -> LocalStorage:
    """Open ``folder`` as the product does."""
    storage = open_storage(folder.as_uri(), public_url=PUBLIC_URL, link_keys=link_keys)
    assert isinstance(storage, LocalStorage)
    return storage
