"""Open a download link of ours in this process, as the public site does for who holds it."""

from __future__ import annotations

from datetime import datetime

from queries_orchestration.exports.download_link import DownloadLink
from queries_orchestration.model.errors import Refused
from queries_orchestration.storage.interface import Storage
from queries_orchestration.storage.local import LocalStorage, RedeemedFile


def open_link(storage: Storage, link: DownloadLink, *, now: datetime) -> RedeemedFile:
    """Check the link at ``now`` (aware) and open its file, to be closed by the caller.

    Raises:
        LinkRefused: it has ended, or the file is gone.
        Refused: the storage serves its links itself (``link_of_storage``).
        StorageUnavailable: the file cannot be read now.
    """
    if not isinstance(storage, LocalStorage):
        raise Refused(
            "The storage serves its links itself: open the link there.", code="link_of_storage"
        )
    return storage.redeem(link.url.rpartition("/")[2], now=now)
