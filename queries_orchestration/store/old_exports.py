"""Exports that are past their age and whose file is gone; and which files there must be."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy import ColumnElement, Connection, Table, and_, delete, func, not_, or_, select

from queries_orchestration.model.monthly import PastExport
from queries_orchestration.store.tables import (
    claims,
    downloads,
    exports,
    occurrences,
    offers,
    receives,
    requests,
)


class Place(NamedTuple):
    """Where an export stands in the walk over a workspace's exports."""

    actor_id: str
    created_at: datetime
    id: str


def has_gone(file: Table) -> ColumnElement[bool]:
    """Return the condition that nothing of an export is in the storage, nor will be."""
    gone = or_(
        file.c.removed_at.is_not(None),
        and_(file.c.state.in_(("failed", "cancelled")), file.c.upload_id.is_(None)),
    )
    worked_on = (
        select(sa.literal(1))
        .where(
            claims.c.workspace_id == file.c.workspace_id,
            claims.c.key == file.c.id,
            claims.c.state != "done",
        )
        .correlate(file)
        .exists()
    )
    return and_(gone, not_(worked_on))


def page(
    connection: Connection,
    workspace_id: str,
    *,
    before: datetime,
    after: Place | None,
    limit: int,
) -> list[Place]:
    """Return what was asked for ``before`` an instant, has gone and is no occurrence's file.

    All pages together are one walk along the index of who asked for what.

    Args:
        after: the last of the page before; None: from the beginning.
    """
    place = (exports.c.actor_id, exports.c.created_at, exports.c.id)
    found = select(*place).where(_may_go(workspace_id, before))
    if after is not None:
        at = sa.literal(after.created_at, exports.c.created_at.type)
        found = found.where(sa.tuple_(*place) > sa.tuple_(after.actor_id, at, after.id))
    return [Place(*row) for row in connection.execute(found.order_by(*place).limit(limit))]


def hold(
    connection: Connection, workspace_id: str, *, before: datetime, ids: Sequence[str]
) -> list[str]:
    """Return the ids of those that may go still; nobody else has them until the end."""
    held = (
        select(exports.c.id)
        .where(_may_go(workspace_id, before), exports.c.id.in_(ids))
        .with_for_update(skip_locked=True, of=exports)
    )
    return list(connection.scalars(held))


def facts(connection: Connection, workspace_id: str, ids: Collection[str]) -> list[PastExport]:
    """Return what is counted of exports that people asked for; the others are left out."""
    fetched = (
        select(func.count())
        .where(
            downloads.c.workspace_id == exports.c.workspace_id,
            downloads.c.export_id == exports.c.id,
        )
        .scalar_subquery()
    )
    rows = connection.execute(
        select(exports, fetched.label("downloads")).where(
            exports.c.workspace_id == workspace_id,
            exports.c.id.in_(ids),
            exports.c.purpose == "interactive",
        )
    )
    return [
        PastExport(
            source_id=row.source_id,
            created_at=row.created_at,
            state=row.state,
            code=row.code,
            downloads=row.downloads,
            rows=row.rows or 0,
            bytes=row.size or 0,
        )
        for row in rows
    ]


def remove(connection: Connection, workspace_id: str, ids: Collection[str]) -> None:
    """Delete exports that are held, with all that belongs to them."""
    for table, column in (
        (downloads, downloads.c.export_id),
        (offers, offers.c.key),
        (receives, receives.c.key),
        (claims, claims.c.key),
        (requests, requests.c.export_id),
        (exports, exports.c.id),
    ):
        connection.execute(
            delete(table).where(table.c.workspace_id == workspace_id, column.in_(ids))
        )


def kept(connection: Connection, workspace_id: str, ids: Collection[str]) -> set[str]:
    """Return those of ``ids`` that have a row whose file may be in the storage."""
    found = select(exports.c.id).where(
        exports.c.workspace_id == workspace_id, exports.c.id.in_(ids), not_(has_gone(exports))
    )
    return set(connection.scalars(found))


def ready(connection: Connection, workspace_id: str, *, at: datetime) -> dict[str, str]:
    """Return the ids of the exports whose file must be there at an instant, by storage key."""
    found = select(exports.c.storage_key, exports.c.id).where(
        exports.c.workspace_id == workspace_id,
        exports.c.state == "ready",
        exports.c.expires_at > at,
    )
    return {row.storage_key: row.id for row in connection.execute(found)}


def _may_go(workspace_id: str, before: datetime) -> ColumnElement[bool]:
    of_an_occurrence = (
        select(sa.literal(1))
        .where(
            occurrences.c.workspace_id == exports.c.workspace_id,
            occurrences.c.export_id == exports.c.id,
        )
        .correlate(exports)
        .exists()
    )
    return and_(
        exports.c.workspace_id == workspace_id,
        exports.c.created_at < before,
        exports.c.state.in_(("failed", "cancelled", "expired")),
        has_gone(exports),
        not_(of_an_occurrence),
    )
