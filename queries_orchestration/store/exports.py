"""Exports and the request rows that queue them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, delete, func, select, update

from queries_orchestration.store import counters
from queries_orchestration.store.rows import (
    comes_after,
    every,
    every_of,
    one_or_none,
    select_records,
)
from queries_orchestration.store.tables import (
    UNFINISHED_EXPORT,
    exports,
    occurrences,
    requests,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """One file in the making or made; sizes are bytes, ``actor_id`` is as whom it is read.

    ``started_at`` and ``duration_seconds`` are of the receive that makes it, or made it.
    """

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
    client_key: str | None
    asked_sha256: str | None
    started_at: datetime | None
    duration_seconds: float | None
    rows_done: int
    bytes_done: int
    size: int | None
    rows: int | None
    sha256: str | None
    replaced_characters: int | None
    cut_cells: int | None
    cut_sections: int | None
    columns: list[dict[str, str]] | None
    snapshot_at: datetime | None
    created_at: datetime
    completed_at: datetime | None
    expires_at: datetime | None
    removed_at: datetime | None

    @property
    def rows_per_second(self) -> float | None:
        """The rows done in each second since the receive began; None before the first."""
        if not self.duration_seconds:
            return None
        return self.rows_done / self.duration_seconds


@dataclass(frozen=True, slots=True)
class Made:
    """A file that was made for an occurrence; ``moment`` is its slot, or when it was asked for."""

    key: str
    moment: datetime
    rows: int
    size: int
    duration_seconds: float | None


@dataclass(frozen=True, slots=True)
class Unfinished:
    """How many exports that people asked for are not finished; ``oldest`` is when one was."""

    count: int
    oldest: datetime | None


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
    client_key: str | None = None,
    asked_sha256: str | None = None,
) -> None:
    """Insert a queued export with its request row; its storage key is fixed here.

    Args:
        client_key: what the client calls the click; the database takes each once of a person.
        asked_sha256: of what the client asked for with the key.
    """
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
            client_key=client_key,
            asked_sha256=asked_sha256,
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


def those(connection: Connection, workspace_id: str, ids: Iterable[str]) -> list[Export]:
    """Return exports of the workspace by their ids, in any order."""
    mine = select_records(Export, exports).where(exports.c.workspace_id == workspace_id)
    return every_of(connection, Export, mine, exports.c.id, ids)


def of_requester(
    connection: Connection,
    workspace_id: str,
    person_id: str,
    *,
    limit: int,
    after: tuple[datetime, str] | None = None,
) -> list[Export]:
    """Return the exports that a person asked for, the newest first; no delivery's files.

    Args:
        after: the moment and the id of the one that they come after.
    """
    own = select_records(Export, exports).where(
        exports.c.workspace_id == workspace_id,
        exports.c.actor_id == person_id,
        exports.c.purpose == "interactive",
    )
    if after is not None:
        own = own.where(comes_after(exports.c.created_at, exports.c.id, after))
    return every(
        connection,
        Export,
        own.order_by(exports.c.created_at.desc(), exports.c.id.desc()).limit(limit),
    )


def made_for(
    connection: Connection, workspace_id: str, schedule_id: str, *, limit: int
) -> list[Made]:
    """Return the newest files that were made for a schedule's deliveries, the oldest first."""
    moment = func.coalesce(occurrences.c.slot, occurrences.c.admitted_at)
    newest = (
        select(
            occurrences.c.key,
            moment.label("moment"),
            exports.c.rows,
            exports.c.size,
            exports.c.duration_seconds,
        )
        .join(
            exports,
            sa.and_(
                exports.c.workspace_id == occurrences.c.workspace_id,
                exports.c.id == occurrences.c.export_id,
            ),
        )
        .where(
            occurrences.c.workspace_id == workspace_id,
            occurrences.c.schedule_id == schedule_id,
            occurrences.c.purpose == "delivery",
            exports.c.completed_at.is_not(None),
            exports.c.rows.is_not(None),
            exports.c.size.is_not(None),
        )
        .order_by(moment.desc(), occurrences.c.key.desc())
    )
    return every(connection, Made, newest.limit(limit))[::-1]


def of_click(
    connection: Connection, workspace_id: str, *, actor_id: str, client_key: str
) -> Export | None:
    """Return the export that a person asked for with this key, in whatever state."""
    return one_or_none(
        connection,
        Export,
        select_records(Export, exports).where(
            exports.c.workspace_id == workspace_id,
            exports.c.actor_id == actor_id,
            exports.c.client_key == client_key,
        ),
    )


def unfinished(
    connection: Connection, workspace_id: str, *, actor_id: str | None = None
) -> Unfinished:
    """Count the queued and running exports that people asked for; no delivery's files.

    Args:
        actor_id: count those of this person only.
    """
    query = select(sa.func.count(), sa.func.min(exports.c.created_at)).where(
        exports.c.workspace_id == workspace_id, sa.text(UNFINISHED_EXPORT)
    )
    if actor_id is not None:
        query = query.where(exports.c.actor_id == actor_id)
    count, oldest = connection.execute(query).one()
    return Unfinished(count, oldest)


def occurrence_key_of(connection: Connection, workspace_id: str, export_id: str) -> str | None:
    """Return the key of the occurrence that the export is the file of; None if interactive.

    A resend sends a file that is another occurrence's.
    """
    return connection.scalar(
        select(occurrences.c.key).where(
            occurrences.c.workspace_id == workspace_id,
            occurrences.c.export_id == export_id,
            occurrences.c.purpose != "resend",
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
    connection: Connection,
    workspace_id: str,
    export_id: str,
    *,
    upload_id: str,
    receive: int,
    at: datetime,
) -> None:
    """Record which upload the receive writes, from ``at`` on; progress starts from nothing."""
    change(
        connection,
        workspace_id,
        export_id,
        upload_id=upload_id,
        upload_receive=receive,
        started_at=at,
        duration_seconds=None,
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
    settled = connection.execute(
        update(exports)
        .where(
            exports.c.workspace_id == workspace_id,
            exports.c.id == export_id,
            exports.c.state.in_(("queued", "running")),
        )
        .values(state=state, code=code, message=message)
    )
    if settled.rowcount == 1:
        counters.count(connection, counters.EXPORTS_SETTLED, label=state, code=code)
    connection.execute(
        delete(requests).where(
            requests.c.workspace_id == workspace_id, requests.c.export_id == export_id
        )
    )
