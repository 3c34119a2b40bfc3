"""A piece of work as Dagster's runs and events tell it.

Ids and the catalog's names of workspace, schedule and source; never a title, a person, a value.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection

from queries_orchestration.exports.export_file import find_file
from queries_orchestration.model.formats import SourceKind
from queries_orchestration.model.pages import export_page, occurrence_page
from queries_orchestration.model.tallies import Tally, tally
from queries_orchestration.store import deliveries, occurrences, schedules, workspaces
from queries_orchestration.store.claims import Receive


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a receive works at: an occurrence, or an export, which may be an occurrence's render.

    ``is_maker`` tells that the receive itself makes the file: not one that waits for a render, and
    none that sends a file again.
    """

    workspace_id: str
    workspace_name: str
    schedule_id: str | None
    schedule_name: str | None
    occurrence_key: str | None
    via: str | None
    export_id: str | None
    source_name: str | None
    source_kind: SourceKind | None
    is_maker: bool

    def page(self, public_url: str) -> str | None:
        """Return the address of its page on our site, of which ``public_url`` is the root."""
        if self.occurrence_key is not None and self.schedule_name is not None:
            return occurrence_page(
                public_url, schedule_name=self.schedule_name, key=self.occurrence_key
            )
        return self.export_id and export_page(public_url, export_id=self.export_id)

    @property
    def command(self) -> str | None:
        """The command that tells its history to whoever runs the installation."""
        if self.schedule_name is None:
            return None
        return f"queries history {self.schedule_name} --workspace {self.workspace_name}"


def work_of(connection: Connection, receive: Receive) -> Work | None:
    """Return what ``receive`` works at; None if it is gone."""
    workspace_id, key = receive.workspace_id, receive.key
    workspace = workspaces.get(connection, workspace_id)
    occurrence = occurrences.get(connection, workspace_id, key)
    is_delivery = occurrence is not None
    export_id = occurrence.export_id if occurrence else key
    file = export_id and find_file(connection, workspace_id, export_id)
    if file and occurrence is None:
        occurrence = file.occurrence
    if workspace is None or not (file or occurrence):
        return None
    schedule = occurrence and schedules.get(connection, workspace_id, occurrence.schedule_id)
    source = file.source if file else None
    is_resend = occurrence is not None and occurrence.purpose == "resend"
    is_render = source is not None and source.kind == "report"
    return Work(
        workspace_id=workspace_id,
        workspace_name=workspace.name,
        schedule_id=occurrence.schedule_id if occurrence else None,
        schedule_name=schedule.name if schedule else None,
        occurrence_key=occurrence.key if occurrence else None,
        via=occurrence.via if occurrence else None,
        export_id=file.export.id if file else None,
        source_name=source.name if source else None,
        source_kind=source.kind if source else None,
        is_maker=not is_resend and not (is_delivery and is_render),
    )


def tally_of(connection: Connection, receive: Receive) -> Tally:
    """Count what the recipients of the occurrence that ``receive`` works at got so far."""
    rows = deliveries.of_occurrence(connection, receive.workspace_id, receive.key)
    return tally((row.state, row.code) for row in rows)
