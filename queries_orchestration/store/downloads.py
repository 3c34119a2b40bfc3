"""Downloads: who fetched which file, and when."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime
from functools import cache

import sqlalchemy as sa
from sqlalchemy import Connection

from queries_orchestration.store.rows import every, select_records, values_of
from queries_orchestration.store.tables import downloads, exports


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


def record(connection: Connection, download: Download) -> bool:
    """Insert a download, if its file is ready still; False if it is not."""
    return connection.execute(_insert(), values_of(download)).rowcount == 1


@cache
def _insert() -> sa.Insert:
    names = [field.name for field in fields(Download)]
    values = [sa.bindparam(name, type_=downloads.c[name].type).label(name) for name in names]
    return sa.insert(downloads).from_select(
        names,
        sa.select(*values).where(
            exports.c.workspace_id == sa.bindparam("workspace_id"),
            exports.c.id == sa.bindparam("export_id"),
            exports.c.state == "ready",
        ),
    )


def of_export(connection: Connection, workspace_id: str, export_id: str) -> list[Download]:
    """Return the downloads of a file, the oldest first."""
    return every(
        connection,
        Download,
        select_records(Download, downloads)
        .where(downloads.c.workspace_id == workspace_id, downloads.c.export_id == export_id)
        .order_by(downloads.c.downloaded_at, downloads.c.id),
    )
