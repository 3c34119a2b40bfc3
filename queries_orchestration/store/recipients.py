"""Whom a schedule names as recipients: people, groups and outside addresses, in their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import sqlalchemy as sa
from sqlalchemy import ColumnElement, Connection, and_, delete, exists, literal, or_, select

from queries_orchestration.store.tables import group_members, schedule_recipients

RecipientKind = Literal["person", "group", "outside"]
_COLUMNS: Final[dict[RecipientKind, str]] = {
    "person": "person_id",
    "group": "group_id",
    "outside": "outside_id",
}


@dataclass(frozen=True, slots=True)
class NamedRecipient:
    """One of a schedule's recipients, by the id of its person, group or outside address."""

    kind: RecipientKind
    id: str


def of_schedule(
    connection: Connection, workspace_id: str, schedule_id: str
) -> list[NamedRecipient]:
    """Return whom the schedule names, in their order."""
    rows = connection.execute(
        select(schedule_recipients)
        .where(
            schedule_recipients.c.workspace_id == workspace_id,
            schedule_recipients.c.schedule_id == schedule_id,
        )
        .order_by(schedule_recipients.c.position)
    )
    return [
        NamedRecipient(kind, row._mapping[column])
        for row in rows
        for kind, column in _COLUMNS.items()
        if row._mapping[column] is not None
    ]


def is_named(
    workspace_id: ColumnElement[str],
    schedule_id: ColumnElement[str],
    recipient_id: ColumnElement[str],
) -> ColumnElement[bool]:
    """Whether a schedule names somebody, directly or by a group that they are in now."""
    named = schedule_recipients.c
    of_schedule = and_(named.workspace_id == workspace_id, named.schedule_id == schedule_id)
    directly = exists().where(
        of_schedule, or_(named.person_id == recipient_id, named.outside_id == recipient_id)
    )
    by_group = exists().where(
        of_schedule,
        group_members.c.workspace_id == workspace_id,
        group_members.c.group_id == named.group_id,
        group_members.c.person_id == recipient_id,
    )
    return or_(directly, by_group)


def names(connection: Connection, workspace_id: str, schedule_id: str, recipient_id: str) -> bool:
    """Tell whether a schedule names somebody, directly or by a group that they are in now."""
    return bool(
        connection.scalar(
            select(is_named(literal(workspace_id), literal(schedule_id), literal(recipient_id)))
        )
    )


def set_recipients(
    connection: Connection,
    workspace_id: str,
    schedule_id: str,
    named: Sequence[NamedRecipient],
) -> None:
    """Replace the recipients of a schedule."""
    connection.execute(
        delete(schedule_recipients).where(
            schedule_recipients.c.workspace_id == workspace_id,
            schedule_recipients.c.schedule_id == schedule_id,
        )
    )
    if not named:
        return
    connection.execute(
        sa.insert(schedule_recipients),
        [
            {
                "workspace_id": workspace_id,
                "schedule_id": schedule_id,
                "position": position,
                **dict.fromkeys(_COLUMNS.values()),
                _COLUMNS[recipient.kind]: recipient.id,
            }
            for position, recipient in enumerate(named)
        ],
    )
