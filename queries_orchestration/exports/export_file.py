"""An export with what it belongs to: its source, and the occurrence whose file it is."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from queries_orchestration.exports.ready_file import ReadyFile, expired, missing
from queries_orchestration.model.errors import Refused
from queries_orchestration.model.file_names import file_name
from queries_orchestration.model.ids import is_id
from queries_orchestration.model.time_zones import zone
from queries_orchestration.store import exports, occurrences, schedules, sources
from queries_orchestration.store.exports import Export
from queries_orchestration.store.occurrences import Occurrence
from queries_orchestration.store.schedules import Schedule
from queries_orchestration.store.sources import Source


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
        return name_of_day(
            self.source.title if self.schedule is None else self.schedule.title,
            self.moment,
            time_zone=self.export.time_zone,
            file_format=self.export.format,
        )

    @property
    def moment(self) -> datetime:
        """What relative values count from: the slot or the click, not the execution."""
        if self.occurrence is None:
            return self.export.created_at
        return self.occurrence.slot or self.occurrence.admitted_at

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
        return expired(self._again)

    def missing(self) -> Refused:
        """The refusal of a file that storage lost, or holds in part."""
        return missing(self._again)

    def ready(self, *, at: datetime) -> ReadyFile:
        """Return what a link to the file needs.

        Raises:
            Refused: there is nothing to download at ``at``.
        """
        refusal = self.refusal(at=at)
        if refusal is not None:
            raise refusal
        if self.export.expires_at is None:
            raise self.expired()
        return ReadyFile(
            workspace_id=self.export.workspace_id,
            export_id=self.export.id,
            storage_key=self.export.storage_key,
            size=self.export.size,
            format=self.export.format,
            file_name=self.file_name,
            expires_at=self.export.expires_at,
            again=self._again,
        )

    @property
    def _again(self) -> str:
        if self.schedule is None:
            return f"export the {self.source.kind} again."
        return f"run the schedule now (`queries run-now {self.schedule.name} --as PERSON`)."


def name_of_day(title: str, moment: datetime, *, time_zone: str, file_format: str) -> str:
    """Return the name of a file: the title of its schedule or source, and the local day."""
    day = moment.astimezone(zone(time_zone)).date()
    return file_name(title, day=day, file_format=file_format)


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
