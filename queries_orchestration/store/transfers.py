"""Transfers: which schedule went from which owner to which, by whom and why."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy import Connection

from queries_orchestration.store.rows import every, select_records, values_of
from queries_orchestration.store.tables import schedule_transfers


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """One transfer of a schedule from one owner to another, at a calendar instant."""

    workspace_id: str
    id: str
    schedule_id: str
    from_person_id: str
    to_person_id: str
    transferred_by: str
    reason: str | None
    transferred_at: datetime


def record(connection: Connection, transfer: Transfer) -> None:
    """Write a transfer down."""
    connection.execute(sa.insert(schedule_transfers).values(values_of(transfer)))


def of_schedule(connection: Connection, workspace_id: str, schedule_id: str) -> list[Transfer]:
    """Return the transfers of a schedule, the oldest first."""
    return every(
        connection,
        Transfer,
        select_records(Transfer, schedule_transfers)
        .where(
            schedule_transfers.c.workspace_id == workspace_id,
            schedule_transfers.c.schedule_id == schedule_id,
        )
        .order_by(schedule_transfers.c.transferred_at, schedule_transfers.c.id),
    )
