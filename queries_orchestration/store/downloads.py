"""Downloads: who fetched which file, and when."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy import ColumnElement, Connection, Executable, FromClause

from queries_orchestration.model.audit import Via
from queries_orchestration.model.ids import new_id
from queries_orchestration.store.prepared import as_prepared
from queries_orchestration.store.rows import every, select_records, values_of
from queries_orchestration.store.tables import audit_events, downloads, exports


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


def record(connection: Connection, download: Download, *, via: Via) -> bool:
    """Insert a download and its event of the audit trail; False if its file is not ready still.

    On PostgreSQL by one statement, which needs no transaction around it: clicks are many.

    Args:
        via: how it was asked for.
    """
    values = values_of(download) | {"via": via, "event_id": new_id()}
    if connection.dialect.name != "sqlite":
        return connection.execute(_insert_and_tell(), values).rowcount == 1
    if connection.execute(_insert(), values).rowcount != 1:
        return False
    connection.execute(_tell_inserted(), values)
    return True


@cache
def _insert() -> sa.Insert:
    names = [field.name for field in fields(Download)]
    of_file = {"workspace_id": exports.c.workspace_id, "export_id": exports.c.id}
    values = [
        of_file.get(name, sa.bindparam(name, type_=downloads.c[name].type)).label(name)
        for name in names
    ]
    return sa.insert(downloads).from_select(
        names,
        sa.select(*values).where(
            exports.c.workspace_id == sa.bindparam("workspace_id"),
            exports.c.id == sa.bindparam("export_id"),
            exports.c.state == sa.literal_column("'ready'"),
        ),
    )


@cache
def _insert_and_tell() -> Executable:
    return as_prepared(_tell(_insert().returning(*downloads.c).cte("recorded")), "download")


@cache
def _tell_inserted() -> sa.Insert:
    inserted = sa.select(downloads).where(
        downloads.c.workspace_id == sa.bindparam("workspace_id"),
        downloads.c.id == sa.bindparam("id"),
    )
    return _tell(inserted.subquery())


def _tell(recorded: FromClause) -> sa.Insert:
    event: dict[str, ColumnElement[Any]] = {
        "workspace_id": recorded.c.workspace_id,
        "id": sa.bindparam("event_id", type_=audit_events.c.id.type),
        "at": recorded.c.downloaded_at,
        "via": sa.bindparam("via", type_=audit_events.c.via.type),
        "person_id": recorded.c.person_id,
        "outside_id": recorded.c.outside_id,
        "action": sa.literal_column("'file_downloaded'"),
        "subject_kind": sa.literal_column("'export'"),
        "subject_id": recorded.c.export_id,
    }
    return sa.insert(audit_events).from_select(list(event), sa.select(*event.values()))


def of_export(connection: Connection, workspace_id: str, export_id: str) -> list[Download]:
    """Return the downloads of a file, the oldest first."""
    return every(
        connection,
        Download,
        select_records(Download, downloads)
        .where(downloads.c.workspace_id == workspace_id, downloads.c.export_id == export_id)
        .order_by(downloads.c.downloaded_at, downloads.c.id),
    )
