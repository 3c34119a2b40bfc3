"""Where files are kept: a local folder or an object store, behind one interface."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

from queries_orchestration.model.errors import InvalidSettings
from queries_orchestration.storage.interface import Storage


def open_storage(url: str) -> Storage:
    """Return the storage that a URL names: ``file:///absolute/path``.

    Raises:
        InvalidSettings: the URL names no storage that we know.
    """
    parts = urlsplit(url)
    if parts.scheme == "file":
        folder = Path(unquote(parts.path))
        if parts.netloc or parts.query or parts.fragment or not folder.is_absolute():
            raise InvalidSettings(
                "QUERIES_STORAGE_URL must give an absolute path: file:///path/to/folder"
            )
        from queries_orchestration.storage.local import LocalStorage

        return LocalStorage(folder)
    raise InvalidSettings(
        f"QUERIES_STORAGE_URL: scheme {parts.scheme!r} is not known, use file:///path/to/folder"
    )
