"""Write a schedule with its recipients."""

from __future__ import annotations

from sqlalchemy import Connection

from queries_orchestration.catalog.plan import ScheduleRows
from queries_orchestration.store import recipients, schedules


def insert_schedule(connection: Connection, rows: ScheduleRows) -> None:
    """Write a new schedule."""
    schedules.insert(connection, rows.schedule)
    _set_recipients(connection, rows)


def change_schedule(connection: Connection, rows: ScheduleRows) -> None:
    """Write a schedule that is there."""
    schedules.change(connection, rows.schedule)
    _set_recipients(connection, rows)


def _set_recipients(connection: Connection, rows: ScheduleRows) -> None:
    schedule = rows.schedule
    named = [recipients.NamedRecipient(one.kind, one.id) for one in rows.recipients]
    recipients.set_recipients(connection, schedule.workspace_id, schedule.id, named)
