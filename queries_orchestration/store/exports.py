"""Exports and the request rows that queue them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, delete, select, update

from queries_orchestration.store.rows import every, one_or_none, select_records
from queries_orchestration.store.tables import exports, occurrences, requests


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """One file in the making or made; sizes are bytes, ``actor_id`` is as whom it is read."""

    workspace_id: str
    id: str
    source_id: str
    version: int
    format: str
    runtime_values: dict[str, Any]
    actor_id: str
    time_zone: str
    purpose: str
    state: str
    code: str | None
    message: str | None
    storage_key: str
    upload_id: str | None
    upload_receive: int | None
    rows_done: int
    bytes_done: int
    size: int | None
    rows: int | None
    sha256: str | None
    replaced_characters: int | None
    cut_cells: int | None
    created_at: datetime
    completed_at: datetime | None
    expires_at: datetime | None
    removed_at: datetime | None


def queue(
    connection: Connection,
    workspace_id: str,
    export_id: str,
    *,
    purpose: str,
    source_id: str,
    version: int,
    file_format: str,
    runtime_values: dict[str, Any],
    actor_id: str,
    time_zone: str,
    at: datetime,
) -> None:
    """Insert a queued export with its request row; its storage key is fixed here."""
    connection.execute(
        sa.insert(exports).values(
            workspace_id=workspace_id,
            id=export_id,
            source_id=source_id,
            version=version,
            format=file_format,
            runtime_values=runtime_values,
            actor_id=actor_id,
            time_zone=time_zone,
            purpose=purpose,
            state="queued",
            # Ids only: a key never holds a name that somebody chose.
            storage_key=f"{workspace_id}/{export_id}.{file_format}",
            created_at=at,
        )
    )
    connection.execute(
        sa.insert(requests).values(
            workspace_id=workspace_id, export_id=export_id, purpose=purpose, created_at=at
        )
    )


def get(connection: Connection, workspace_id: str, export_id: str) -> Export | None:
    """Return one export of the workspace."""
    return one_or_none(
        connection,
        Export,
        select_records(Export, exports).where(
            exports.c.workspace_id == workspace_id, exports.c.id == export_id
        ),
    )


def of_requester(
    connection: Connection, workspace_id: str, person_id: str, *, limit: int
) -> list[Export]:
    """Return the exports that a person asked for, the newest first; no delivery's files."""
    return every(
        connection,
        Export,
        select_records(Export, exports)
        .where(
            exports.c.workspace_id == workspace_id,
            exports.c.actor_id == person_id,
            exports.c.purpose == "interactive",
        )
        .order_by(exports.c.created_at.desc(), exports.c.id)
        .limit(limit),
    )


def occurrence_key_of(connection: Connection, workspace_id: str, export_id: str) -> str | None:
    """Return the key of the occurrence that the export is the file of; None if interactive."""
    return connection.scalar(
        select(occurrences.c.key).where(
            occurrences.c.workspace_id == workspace_id, occurrences.c.export_id == export_id
        )
    )


def take(connection: Connection, workspace_id: str, export_id: str) -> None:
    """Let a run take the export: its request row goes."""
    change(connection, workspace_id, export_id, state="running")
    connection.execute(
        delete(requests).where(
            requests.c.workspace_id == workspace_id, requests.c.export_id == export_id
        )
    )


def record_upload(
    connection: Connection, workspace_id: str, export_id: str, *, upload_id: str, receive: int
) -> None:
    """Record which upload the receive writes; progress starts from nothing."""
    change(
        connection,
        workspace_id,
        export_id,
        upload_id=upload_id,
        upload_receive=receive,
        rows_done=0,
        bytes_done=0,
    )


def change(connection: Connection, workspace_id: str, export_id: str, **values: Any) -> None:
    """Write columns of an export; the caller holds the occurrence that it belongs to."""
    connection.execute(
        update(exports)
        .where(exports.c.workspace_id == workspace_id, exports.c.id == export_id)
        .values(**values)
    )


def keep_until(
    connection: Connection, workspace_id: str, export_id: str, *, until: datetime
) -> bool:
    """Move the file's expiry to ``until``, if it would end before; False if it is not ready."""
    latest = sa.case(
        (exports.c.expires_at < until, sa.literal(until, exports.c.expires_at.type)),
        else_=exports.c.expires_at,
    )
    kept = connection.execute(
        update(exports)
        .where(
            exports.c.workspace_id == workspace_id,
            exports.c.id == export_id,
            exports.c.state == "ready",
        )
        .values(expires_at=latest)
    )
    return kept.rowcount == 1


def settle_unfinished(
    connection: Connection,
    workspace_id: str,
    export_id: str,
    *,
    state: str,
    code: str | None,
    message: str | None,
) -> None:
    """Settle an export that did not become ready, as ``failed`` or ``cancelled``.

    Its upload stays recorded until what it left in the storage is removed.
    """
    connection.execute(
        update(exports)
        .where(
            exports.c.workspace_id == workspace_id,
            exports.c.id == export_id,
            exports.c.state.in_(("queued", "running")),
        )
        .values(state=state, code=code, message=message)
    )
    connection.execute(
        delete(requests).where(
            requests.c.workspace_id == workspace_id, requests.c.export_id == export_id
        )
    )
