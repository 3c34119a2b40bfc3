"""What looks across workspaces for files: those whose time is over, and who records an upload.

Nothing here is what a person can ask for.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, Connection, and_, func, or_, select

from queries_orchestration.store.exports import Export
from queries_orchestration.store.rows import Readable, of_a_statement, readable, select_records
from queries_orchestration.store.tables import exports


def files_to_expire(
    connection: Connection, at: datetime, *, limit: int, besides: Collection[str] = ()
) -> Readable[Export]:
    """Return exports whose time is over at ``at`` and whose object is still there.

    Args:
        besides: the ids of those that are left out.
    """
    return readable(
        connection,
        Export,
        select_records(Export, exports)
        .where(_is_over(at), exports.c.id.not_in(besides))
        .order_by(exports.c.expires_at)
        .limit(limit)
        .with_for_update(),
        exports.c.id,
    )


def left_behind(
    connection: Connection, *, limit: int, besides: Collection[str] = ()
) -> Readable[Export]:
    """Return failed and cancelled exports whose upload, or object, may still be there.

    Args:
        besides: the ids of those that are left out.
    """
    return readable(
        connection,
        Export,
        select_records(Export, exports)
        .where(_is_left_behind(), exports.c.id.not_in(besides))
        .order_by(exports.c.created_at, exports.c.id)
        .limit(limit),
        exports.c.id,
    )


def files_to_remove(connection: Connection, at: datetime) -> int:
    """Count what :func:`files_to_expire` and :func:`left_behind` return, all of it."""
    counted = select(func.count()).where(or_(_is_over(at), _is_left_behind()))
    return int(connection.scalar(counted.select_from(exports)) or 0)


def recorded_uploads(connection: Connection, upload_ids: Sequence[str]) -> set[str]:
    """Return those of ``upload_ids`` that an export records as its upload."""
    found: set[str] = set()
    for some in of_a_statement(upload_ids):
        found.update(
            connection.scalars(select(exports.c.upload_id).where(exports.c.upload_id.in_(some)))
        )
    return found


def _is_over(at: datetime) -> ColumnElement[bool]:
    return and_(
        exports.c.removed_at.is_(None),
        exports.c.expires_at.is_not(None),
        exports.c.expires_at <= at,
    )


def _is_left_behind() -> ColumnElement[bool]:
    return and_(exports.c.upload_id.is_not(None), exports.c.state.in_(("failed", "cancelled")))
