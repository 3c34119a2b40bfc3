"""Remove a row of the catalog unless something refers to it: the foreign keys decide."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Final, Literal

from sqlalchemy import Column, Connection, Table, delete
from sqlalchemy.exc import IntegrityError

from queries_orchestration.store import missed, schedules as schedule_rows
from queries_orchestration.store.datasets import SourceConnection, StoredDataset
from queries_orchestration.store.groups import Group
from queries_orchestration.store.people import Person
from queries_orchestration.store.schedules import Schedule
from queries_orchestration.store.sources import Source
from queries_orchestration.store.tables import (
    connections,
    datasets,
    group_members,
    groups,
    people,
    report_queries,
    schedule_recipients,
    schedules,
    source_versions,
    sources,
)

ENDED_BEFORE: Final = "The schedule was deleted before it could be delivered."

Removable = Person | Group | SourceConnection | StoredDataset | Source | Schedule

_TABLES: Final[dict[type[Removable], Table]] = {
    Person: people,
    Group: groups,
    SourceConnection: connections,
    StoredDataset: datasets,
    Source: sources,
    Schedule: schedules,
}
# What belongs to a row goes with it, in this order: the recipients of a schedule; the members
# of a group; the versions of a source, before them what those of a report show.
_PARTS: Final[dict[type[Removable], tuple[Column[str], ...]]] = {
    Source: (report_queries.c.report_id, source_versions.c.source_id),
    Schedule: (schedule_recipients.c.schedule_id,),
    Group: (group_members.c.group_id,),
}


def remove(connection: Connection, row: Removable) -> bool:
    """Delete the row and its parts; False, and nothing is deleted, if something refers to it.

    Asking the database to try is safe against whoever refers to the row at the same time.
    """
    table = _TABLES[type(row)]
    try:
        with connection.begin_nested():
            for belongs_to in _PARTS.get(type(row), ()):
                parts = belongs_to.table
                connection.execute(
                    delete(parts).where(
                        parts.c.workspace_id == row.workspace_id, belongs_to == row.id
                    )
                )
            connection.execute(
                delete(table).where(table.c.workspace_id == row.workspace_id, table.c.id == row.id)
            )
    except IntegrityError:
        return False
    return True


def retire_schedule(
    connection: Connection,
    schedule: Schedule,
    *,
    written_by: Literal["file", "other"],
    at: datetime,
) -> Literal["removed", "ended"] | None:
    """Remove a schedule, or end it if its history refers to it; None if there is nothing to end.

    What was admitted in its time is delivered still; what a backfill let wait is missed again.

    Args:
        schedule: as it is now; nobody else changes it meanwhile.
        written_by: who ends it.
        at: now, by the calendar clock.
    """
    if remove(connection, schedule):
        return "removed"
    goes_on = schedule.state != "ended"
    if goes_on:
        ended = replace(
            schedule,
            state="ended",
            next_slot=None,
            pause_code=None,
            pause_reason=None,
            paused_at=None,
            written_by=written_by,
        )
        schedule_rows.change(connection, ended)
    # Of one that has ended by its own rule, too.
    called_off = missed.miss_backfilled(
        connection, schedule.workspace_id, schedule.id, because=ENDED_BEFORE, at=at
    )
    return "ended" if goes_on or called_off else None
