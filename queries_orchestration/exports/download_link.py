"""An export's file, and the five-minute link under which it is downloaded."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Connection

from queries_orchestration.model.errors import Refused
from queries_orchestration.model.file_names import CONTENT_TYPES, file_name
from queries_orchestration.model.ids import is_id, new_id
from queries_orchestration.model.links import FILE_OUTLIVES_LINK
from queries_orchestration.model.time_zones import zone
from queries_orchestration.storage.interface import Storage
from queries_orchestration.store import downloads, exports, occurrences, schedules, sources
from queries_orchestration.store.database import Database
from queries_orchestration.store.downloads import Download
from queries_orchestration.store.exports import Export
from queries_orchestration.store.occurrences import Occurrence
from queries_orchestration.store.schedules import Schedule
from queries_orchestration.store.sources import Source

DOWNLOAD_LINK_LIFETIME: Final = timedelta(minutes=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class DownloadLink:
    """Gives the file to whoever holds it, until ``expires_at`` (UTC)."""

    url: str = field(repr=False)
    expires_at: datetime
    file_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportFile:
    """An export with its source; with its occurrence and schedule if it is a delivery's."""

    export: Export
    source: Source
    occurrence: Occurrence | None = None
    schedule: Schedule | None = None

    @property
    def file_name(self) -> str:
        """The name it is downloaded under: of its schedule and slot, or source and request."""
        title, moment = self.source.title, self.export.created_at
        if self.schedule is not None and self.occurrence is not None:
            title = self.schedule.title
            moment = self.occurrence.slot or self.occurrence.admitted_at
        day = moment.astimezone(zone(self.export.time_zone)).date()
        return file_name(title, day=day, file_format=self.export.format)

    def refusal(self, *, at: datetime) -> Refused | None:
        """Why there is nothing to download at ``at``, with what to do; None if there is."""
        export = self.export
        if export.state in ("queued", "running"):
            return Refused(
                f"The file is still being made, {export.rows_done} rows so far: ask again later.",
                code="not_ready",
            )
        if export.state == "failed":
            return Refused(
                f"The file could not be made ({export.code}): {export.message}",
                code="export_failed",
            )
        if export.state == "cancelled":
            return Refused(
                f"The file was cancelled before it was made: {self._again}", code="cancelled"
            )
        if export.state == "expired" or export.expires_at is None or at >= export.expires_at:
            return self.expired()
        return None

    def expired(self) -> Refused:
        """The refusal of a file that is kept no longer."""
        return Refused(f"The file has expired: {self._again}", code="file_expired")

    def missing(self) -> Refused:
        """The refusal of a file that storage lost, or holds in part."""
        return Refused(f"The file is not in the storage any more: {self._again}", code="file_gone")

    @property
    def _again(self) -> str:
        if self.schedule is None:
            return "export the query again."
        return f"run the schedule now (`queries run-now {self.schedule.name}`)."


def find_file(connection: Connection, workspace_id: str, export_id: str) -> ExportFile | None:
    """Return an export of the workspace with what it belongs to; ``export_id`` may be any text."""
    export = exports.get(connection, workspace_id, export_id) if is_id(export_id) else None
    source = None if export is None else sources.get(connection, workspace_id, export.source_id)
    if export is None or source is None:
        return None
    key = exports.occurrence_key_of(connection, workspace_id, export_id)
    occurrence = None if key is None else occurrences.get(connection, workspace_id, key)
    if occurrence is None:
        return ExportFile(export=export, source=source)
    schedule = schedules.get(connection, workspace_id, occurrence.schedule_id)
    return ExportFile(export=export, source=source, occurrence=occurrence, schedule=schedule)


def give_link(
    database: Database,
    storage: Storage,
    file: ExportFile,
    *,
    person_id: str,
    occurrence_key: str | None,
    record: bool,
    at: datetime,
) -> DownloadLink:
    """Return a link to a file that the caller may give to ``person_id``.

    The file is kept two days longer than the link.

    Args:
        occurrence_key: of the personal link by which they ask, if it is one.
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
                    person_id=person_id,
                    occurrence_key=occurrence_key,
                    downloaded_at=at,
                ),
            )
    return link
