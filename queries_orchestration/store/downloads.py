"""Downloads: who fetched which file, and when."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy import Connection

from queries_orchestration.store.rows import every, select_records, values_of
from queries_orchestration.store.tables import downloads


@dataclass(frozen=True, slots=True, kw_only=True)
class Download:
    """One link to a file that was given out, to a person or to an outside address.

    ``occurrence_key`` is that of a personal link.
    """

    workspace_id: str
    id: str
    export_id: str
    person_id: str | None
    outside_id: str | None
    occurrence_key: str | None
    downloaded_at: datetime


def record(connection: Connection, download: Download) -> None:
    """Insert a download."""
    connection.execute(sa.insert(downloads).values(values_of(download)))


def of_export(connection: Connection, workspace_id: str, export_id: str) -> list[Download]:
    """Return the downloads of a file, the oldest first."""
    return every(
        connection,
        Download,
        select_records(Download, downloads)
        .where(downloads.c.workspace_id == workspace_id, downloads.c.export_id == export_id)
        .order_by(downloads.c.downloaded_at, downloads.c.id),
    )
