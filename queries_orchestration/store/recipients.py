"""Whom a schedule names as recipients: people, groups and outside addresses, in their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import sqlalchemy as sa
from sqlalchemy import Connection, delete, select

from queries_orchestration.store.tables import schedule_recipients

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
