"""The five-minute link under which an export's file is downloaded."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Connection

from queries_orchestration.exports.ready_file import ReadyFile, expired, missing
from queries_orchestration.model.audit import By
from queries_orchestration.model.file_names import CONTENT_TYPES
from queries_orchestration.model.ids import new_id
from queries_orchestration.model.links import FILE_OUTLIVES_LINK
from queries_orchestration.storage.interface import Storage
from queries_orchestration.store import downloads, exports
from queries_orchestration.store.database import Database
from queries_orchestration.store.downloads import Download

DOWNLOAD_LINK_LIFETIME: Final = timedelta(minutes=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadLink:
    """Gives the file to whoever holds it, until ``expires_at`` (UTC)."""

    url: str = field(repr=False)
    expires_at: datetime
    file_name: str


def give_link(
    database: Database,
    storage: Storage,
    file: ReadyFile,
    *,
    by: By,
    occurrence_key: str | None,
    record: bool,
    at: datetime,
) -> DownloadLink:
    """Return a link to a file that the caller may give to who asks.

    The file is kept two days longer than the link.

    Args:
        occurrence_key: of the personal link by which they ask, if it is one.
        by: a person, or an outside address.
        record: write the download down.
        at: now, aware UTC.

    Raises:
        Refused: it is there no more: ``file_expired`` or ``file_gone``.
    """
    if storage.size(file.storage_key) != file.size:
        raise missing(file.again)
    expires_at = at.replace(microsecond=0) + DOWNLOAD_LINK_LIFETIME
    link = DownloadLink(
        url=storage.link(
            file.storage_key,
            file_name=file.file_name,
            content_type=CONTENT_TYPES[file.format],
            expires_at=expires_at,
        ),
        expires_at=expires_at,
        file_name=file.file_name,
    )
    until = expires_at + FILE_OUTLIVES_LINK
    # Of a file that is kept for longer there is nothing to write: retention takes none before its
    # time, and clicks on the links of one delivery do not wait for each other.
    if file.expires_at < until:
        with database.transaction(file.workspace_id) as connection:
            is_there = exports.keep_until(
                connection, file.workspace_id, file.export_id, until=until
            ) and (not record or _record(connection, file, by, occurrence_key, at))
    elif record:
        with database.one_statement(file.workspace_id) as connection:
            is_there = _record(connection, file, by, occurrence_key, at)
    else:
        is_there = True
    if not is_there:
        raise expired(file.again)  # just now: it was taken since it was looked at
    return link


def _record(
    connection: Connection, file: ReadyFile, by: By, occurrence_key: str | None, at: datetime
) -> bool:
    """Write the download down, if the file is there still."""
    return downloads.record(
        connection,
        Download(
            workspace_id=file.workspace_id,
            id=new_id(),
            export_id=file.export_id,
            person_id=by.person_id,
            outside_id=by.outside_id,
            occurrence_key=occurrence_key,
            downloaded_at=at,
        ),
        via=by.via,
    )
