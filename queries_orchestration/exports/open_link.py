"""Open a download link in this process, as whoever holds it would in a browser."""

from __future__ import annotations

from datetime import datetime

from queries_orchestration.exports.download_link import DownloadLink
from queries_orchestration.model.errors import LinkRefused
from queries_orchestration.storage.interface import RedeemedFile, Storage
from queries_orchestration.storage.local import LocalStorage
from queries_orchestration.storage.presigned import fetch


def open_link(storage: Storage, link: DownloadLink, *, now: datetime) -> RedeemedFile:
    """Open the file of a link, to be closed by the caller.

    Args:
        now: aware; decides where the link is served by us. A store that serves its links itself
            goes by its own clock.

    Raises:
        LinkRefused: it has ended, or the file is gone.
        StorageUnavailable: the file cannot be read now; reading it can raise this, too.
    """
    if isinstance(storage, LocalStorage):
        return redeem(storage, link.url.rpartition("/")[2], now=now)
    return fetch(link.url, file_name=link.file_name)


def redeem(storage: Storage, token: str, *, now: datetime) -> RedeemedFile:
    """Open the file of a link that we serve ourselves, to be closed by the caller.

    Args:
        token: any text.
        now: aware.

    Raises:
        LinkRefused: it is none, was changed or has ended, or the file is gone; so is every one
            where the storage serves its links itself.
        StorageUnavailable: the file cannot be read now.
    """
    if not isinstance(storage, LocalStorage):
        raise LinkRefused
    return storage.redeem(token, now=now)
