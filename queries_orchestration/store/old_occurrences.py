"""Occurrences that are past their age, with all that belongs to them.

One is past it once it is settled and so are its resends, its file is gone, no link to it works any
more and nobody is still to be told of it. A resend goes with the occurrence whose file it sends.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import ColumnElement, Connection, FromClause, Table, and_, delete, func, or_, select
from sqlalchemy.sql.selectable import NamedFromClause

from queries_orchestration.model.monthly import PastOccurrence
from queries_orchestration.store.old_exports import has_gone
from queries_orchestration.store.tables import (
    claims,
    deliveries,
    downloads,
    exports,
    message_states,
    notices,
    occurrences,
    offers,
    receives,
    requests,
    resends,
)


class Place(NamedTuple):
    """Where an occurrence stands in the walk over a workspace's history."""

    schedule_id: str
    admitted_at: datetime
    key: str


@dataclass(frozen=True, slots=True)
class Age:
    """What is past its age: settled ``before`` an instant; no link works at ``now``."""

    before: datetime
    now: datetime


def page(
    connection: Connection, workspace_id: str, age: Age, *, after: Place | None, limit: int
) -> list[tuple[Place, int]]:
    """Return what is past its age, each with the number of its resends.

    All pages together are one walk along the index of the history.

    Args:
        after: the last of the page before; None: from the beginning.
    """
    again = (
        select(func.count())
        .where(
            resends.c.workspace_id == occurrences.c.workspace_id,
            resends.c.occurrence_key == occurrences.c.key,
        )
        .scalar_subquery()
    )
    place = (occurrences.c.schedule_id, occurrences.c.admitted_at, occurrences.c.key)
    found = select(*place, again).where(_may_go(workspace_id, age))
    if after is not None:
        at = sa.literal(after.admitted_at, occurrences.c.admitted_at.type)
        found = found.where(sa.tuple_(*place) > sa.tuple_(after.schedule_id, at, after.key))
    rows = connection.execute(found.order_by(*place).limit(limit))
    return [(Place(*row[:3]), row[3]) for row in rows]


def hold(connection: Connection, workspace_id: str, age: Age, keys: Sequence[str]) -> list[str]:
    """Return the keys of those that are past their age still, with those of their resends.

    Nobody else has them until the transaction ends; what somebody else has is left out.
    """
    held = (
        select(occurrences.c.key)
        .where(_may_go(workspace_id, age), occurrences.c.key.in_(keys))
        .with_for_update(skip_locked=True, of=occurrences)
    )
    origins = list(connection.scalars(held))
    again = select(resends.c.resend_key).where(
        resends.c.workspace_id == workspace_id, resends.c.occurrence_key.in_(origins)
    )
    return origins + list(connection.scalars(again))


def message_keys(connection: Connection, workspace_id: str, keys: Sequence[str]) -> list[str]:
    """Return the communication keys of all messages about occurrences and their resends."""
    again = select(resends.c.resend_key).where(
        resends.c.workspace_id == workspace_id, resends.c.occurrence_key.in_(keys)
    )
    return [
        key
        for table in (deliveries, notices)
        for key in connection.scalars(
            select(table.c.communication_key).where(
                table.c.workspace_id == workspace_id,
                or_(table.c.occurrence_key.in_(keys), table.c.occurrence_key.in_(again)),
            )
        )
    ]


def facts(connection: Connection, workspace_id: str, keys: Collection[str]) -> list[PastOccurrence]:
    """Return what is counted of occurrences."""
    by_state: dict[str, dict[str, int]] = {}
    for key, state, number in connection.execute(
        select(deliveries.c.occurrence_key, deliveries.c.state, func.count())
        .where(_of(deliveries, workspace_id, "occurrence_key", keys))
        .group_by(deliveries.c.occurrence_key, deliveries.c.state)
    ):
        by_state.setdefault(key, {})[state] = number
    clicked = dict(_counted(connection, workspace_id, "occurrence_key", keys))
    own_file = and_(
        exports.c.workspace_id == occurrences.c.workspace_id,
        exports.c.id == occurrences.c.export_id,
        occurrences.c.purpose != "resend",
    )
    rows = connection.execute(
        select(
            occurrences.c.key,
            occurrences.c.schedule_id,
            func.coalesce(occurrences.c.slot, occurrences.c.admitted_at).label("moment"),
            occurrences.c.purpose,
            occurrences.c.outcome,
            occurrences.c.code,
            exports.c.id.label("export_id"),
            exports.c.rows,
            exports.c.size,
        )
        .outerjoin(exports, own_file)
        .where(_of(occurrences, workspace_id, "key", keys))
    ).all()
    fetched = dict(
        _counted(
            connection,
            workspace_id,
            "export_id",
            [row.export_id for row in rows if row.export_id],
            by_login=True,
        )
    )
    return [
        PastOccurrence(
            schedule_id=row.schedule_id,
            moment=row.moment,
            purpose=row.purpose,
            outcome=row.outcome,
            code=row.code,
            deliveries=by_state.get(row.key, {}),
            downloads=clicked.get(row.key, 0) + fetched.get(row.export_id, 0),
            rows=row.rows or 0,
            bytes=row.size or 0,
        )
        for row in rows
    ]


def remove(connection: Connection, workspace_id: str, keys: Collection[str]) -> None:
    """Delete occurrences that are held, with their files' rows and all that belongs to either."""
    files = list(
        connection.scalars(
            select(occurrences.c.export_id)
            .where(
                _of(occurrences, workspace_id, "key", keys), occurrences.c.export_id.is_not(None)
            )
            .distinct()
        )
    )
    work = [*keys, *files]
    for table, column, ids in (
        (message_states, "occurrence_key", keys),
        (deliveries, "occurrence_key", keys),
        (notices, "occurrence_key", keys),
        (resends, "resend_key", keys),
        (downloads, "occurrence_key", keys),
        (downloads, "export_id", files),
        (offers, "key", work),
        (receives, "key", work),
        (claims, "key", work),
        (occurrences, "key", keys),
        (requests, "export_id", files),
        (exports, "id", files),
    ):
        connection.execute(delete(table).where(_of(table, workspace_id, column, ids)))


def _counted(
    connection: Connection,
    workspace_id: str,
    column: str,
    ids: Collection[str],
    *,
    by_login: bool = False,
) -> list[tuple[str, int]]:
    """Count downloads by a column; those ``by_login`` are of no personal link."""
    own = downloads.c[column]
    counted = select(own, func.count()).where(_of(downloads, workspace_id, column, ids))
    if by_login:
        counted = counted.where(downloads.c.occurrence_key.is_(None))
    return [(one, number) for one, number in connection.execute(counted.group_by(own))]


def _may_go(workspace_id: str, age: Age) -> ColumnElement[bool]:
    """Return the condition that an occurrence, which is no resend, is past its age."""
    again = occurrences.alias("again")
    a_resend_stays = (
        select(again.c.key)
        .join(
            resends,
            and_(
                resends.c.workspace_id == again.c.workspace_id,
                resends.c.resend_key == again.c.key,
            ),
        )
        .where(
            resends.c.workspace_id == occurrences.c.workspace_id,
            resends.c.occurrence_key == occurrences.c.key,
            ~_is_past(again, age),
        )
        .exists()
    )
    return and_(
        occurrences.c.workspace_id == workspace_id,
        occurrences.c.purpose != "resend",
        _is_past(occurrences, age),
        ~a_resend_stays,
    )


def _is_past(one: NamedFromClause, age: Age) -> ColumnElement[bool]:
    def there_is(table: FromClause, key: str, *conditions: ColumnElement[bool]) -> Any:
        own = and_(table.c.workspace_id == one.c.workspace_id, table.c[key] == one.c.key)
        return select(sa.literal(1)).where(own, *conditions).correlate(one).exists()

    file_stays = (
        select(sa.literal(1))
        .where(
            exports.c.workspace_id == one.c.workspace_id,
            exports.c.id == one.c.export_id,
            ~has_gone(exports),
        )
        .correlate(one)
        .exists()
    )
    return and_(
        one.c.admitted_at < age.before,
        one.c.settled_at < age.before,
        func.coalesce(one.c.slot, one.c.admitted_at) < age.before,
        ~there_is(claims, "key", claims.c.state != "done"),
        ~there_is(deliveries, "occurrence_key", deliveries.c.link_expires_at > age.now),
        ~there_is(notices, "occurrence_key", notices.c.concluded_at.is_(None)),
        ~file_stays,
    )


def _of(table: Table, workspace_id: str, column: str, ids: Collection[str]) -> ColumnElement[bool]:
    return and_(table.c.workspace_id == workspace_id, table.c[column].in_(ids))
