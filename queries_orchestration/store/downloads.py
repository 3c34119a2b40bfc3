"""Downloads: who fetched which file, and when."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime
from functools import cache

import sqlalchemy as sa
from sqlalchemy import Connection

from queries_orchestration.model.audit import AuditEvent
from queries_orchestration.store import audit
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


def record(connection: Connection, download: Download, event: AuditEvent) -> bool:
    """Insert a download and its event of the audit trail; False if its file is not ready still."""
    if connection.dialect.name == "sqlite":
        if connection.execute(_insert(), values_of(download)).rowcount != 1:
            return False
        audit.record(connection, event)
        return True
    # Both by one statement, which needs no transaction around it: clicks are many.
    told = {f"event_{name}": value for name, value in audit.values_of(event).items()}
    return connection.execute(_insert_both(), {**values_of(download), **told}).rowcount == 1


@cache
def _insert() -> sa.Insert:
    names = [field.name for field in fields(Download)]
    of_export = {"workspace_id": exports.c.workspace_id, "export_id": exports.c.id}
    values = [
        of_export.get(name, sa.bindparam(name, type_=downloads.c[name].type)).label(name)
        for name in names
    ]
    return sa.insert(downloads).from_select(
        names,
        sa.select(*values).where(
            exports.c.workspace_id == sa.bindparam("workspace_id"),
            exports.c.id == sa.bindparam("export_id"),
            exports.c.state == "ready",
        ),
    )


@cache
def _insert_both() -> sa.Executable:
    recorded = _insert().returning(downloads.c.id).cte("recorded")
    values = [
        sa.bindparam(f"event_{column.name}", type_=column.type).label(column.name)
        for column in audit_events.c
    ]
    statement = sa.insert(audit_events).from_select(
        list(audit_events.c), sa.select(*values).select_from(recorded)
    )
    return as_prepared(statement, "download")


def of_export(connection: Connection, workspace_id: str, export_id: str) -> list[Download]:
    """Return the downloads of a file, the oldest first."""
    return every(
        connection,
        Download,
        select_records(Download, downloads)
        .where(downloads.c.workspace_id == workspace_id, downloads.c.export_id == export_id)
        .order_by(downloads.c.downloaded_at, downloads.c.id),
    )
