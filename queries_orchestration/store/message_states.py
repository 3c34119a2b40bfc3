"""Message states: what a provider told of a message after it took it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy import Connection
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from queries_orchestration.model.message_states import MessageState
from queries_orchestration.store.deliveries import Delivery
from queries_orchestration.store.rows import every_of, select_records, values_of
from queries_orchestration.store.tables import message_states


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldState:
    """One state that a message reached; ``at`` as its provider says, ``recorded_at`` by us."""

    workspace_id: str
    occurrence_key: str
    communication_key: str
    state: MessageState
    code: str | None
    at: datetime
    recorded_at: datetime


def record(connection: Connection, told: ToldState) -> bool:
    """Insert a state unless the message has it already; returns whether it is new."""
    insert = sqlite_insert if connection.dialect.name == "sqlite" else postgresql_insert
    done = connection.execute(
        insert(message_states).values(values_of(told)).on_conflict_do_nothing()
    )
    return done.rowcount == 1


def of_occurrence(
    connection: Connection, workspace_id: str, occurrence_key: str
) -> list[ToldState]:
    """Return what was told of the messages of an occurrence, the earliest first."""
    return of_occurrences(connection, workspace_id, [occurrence_key])


def of_occurrences(
    connection: Connection, workspace_id: str, keys: Iterable[str]
) -> list[ToldState]:
    """Return what was told of the messages of occurrences, of each the earliest first."""
    return every_of(
        connection,
        ToldState,
        select_records(ToldState, message_states)
        .where(message_states.c.workspace_id == workspace_id)
        .order_by(message_states.c.at, message_states.c.state),
        message_states.c.occurrence_key,
        keys,
    )


def is_known(connection: Connection, delivery: Delivery) -> bool:
    """Whether the provider has told of a delivery's message, and so has taken it."""
    found = connection.scalar(
        sa.select(sa.literal(1))
        .where(
            message_states.c.workspace_id == delivery.workspace_id,
            message_states.c.communication_key == delivery.communication_key,
        )
        .limit(1)
    )
    return found is not None
