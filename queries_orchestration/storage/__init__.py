"""Where files are kept: a local folder or an object store, behind one interface."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

from queries_orchestration.model.errors import InvalidSettings
from queries_orchestration.model.link_keys import LinkKeys
from queries_orchestration.storage.interface import Storage
from queries_orchestration.storage.s3_client import Connect, connect

_FORMS = "use file:///path/to/folder or s3://bucket/prefix"


def open_storage(
    url: str, *, public_url: str, link_keys: LinkKeys, connect_s3: Connect = connect
) -> Storage:
    """Return the storage that a URL names: ``file:///absolute/path`` or ``s3://bucket/prefix``.

    Nothing is reached before it is used.

    Args:
        public_url: root of our public site, where a storage that cannot serve files has its links.
        link_keys: sign such links.
        connect_s3: builds the client of a bucket.

    Raises:
        InvalidSettings: the URL names no storage that we know.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        raise InvalidSettings(f"QUERIES_STORAGE_URL cannot be read as a URL, {_FORMS}") from None
    if parts.scheme == "file":
        folder = Path(unquote(parts.path))
        if parts.netloc or parts.query or parts.fragment or not folder.is_absolute():
            raise InvalidSettings(
                "QUERIES_STORAGE_URL must give an absolute path: file:///path/to/folder"
            )
        from queries_orchestration.storage.local import LocalStorage

        return LocalStorage(folder, public_url=public_url, link_keys=link_keys)
    if parts.scheme == "s3":
        from queries_orchestration.storage.s3 import S3Storage
        from queries_orchestration.storage.s3_client import prepare
        from queries_orchestration.storage.s3_url import read_s3_url

        place = read_s3_url(parts)
        return S3Storage(place, client=lambda: prepare(connect_s3(place), place))
    raise InvalidSettings(f"QUERIES_STORAGE_URL: scheme {parts.scheme!r} is not known, {_FORMS}")
