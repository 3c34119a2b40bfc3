"""The five-minute link under which an export's file is downloaded."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from queries_orchestration.exports.export_file import ExportFile
from queries_orchestration.model.audit import AuditEvent, By, Subject
from queries_orchestration.model.file_names import CONTENT_TYPES
from queries_orchestration.model.ids import new_id
from queries_orchestration.model.links import FILE_OUTLIVES_LINK
from queries_orchestration.storage.interface import Storage
from queries_orchestration.store import audit, downloads, exports
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
    file: ExportFile,
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
        Refused: there is nothing to download: ``not_ready``, ``export_failed``, ``cancelled``,
            ``file_expired`` or ``file_gone``.
    """
    export = file.export
    refusal = file.refusal(at=at)
    if refusal is not None:
        raise refusal
    if storage.size(export.storage_key) != export.size:
        raise file.missing()
    expires_at = at.replace(microsecond=0) + DOWNLOAD_LINK_LIFETIME
    link = DownloadLink(
        url=storage.link(
            export.storage_key,
            file_name=file.file_name,
            content_type=CONTENT_TYPES[export.format],
            expires_at=expires_at,
        ),
        expires_at=expires_at,
        file_name=file.file_name,
    )
    with database.transaction() as connection:
        if not exports.keep_until(
            connection, export.workspace_id, export.id, until=expires_at + FILE_OUTLIVES_LINK
        ):
            raise file.expired()  # just now: retention took it since it was looked at
        if record:
            downloads.record(
                connection,
                Download(
                    workspace_id=export.workspace_id,
                    id=new_id(),
                    export_id=export.id,
                    person_id=by.person_id,
                    outside_id=by.outside_id,
                    occurrence_key=occurrence_key,
                    downloaded_at=at,
                ),
            )
            audit.record(
                connection,
                AuditEvent(
                    workspace_id=export.workspace_id,
                    at=at,
                    by=by,
                    action="file_downloaded",
                    subject=Subject("export", export.id),
                ),
            )
    return link
