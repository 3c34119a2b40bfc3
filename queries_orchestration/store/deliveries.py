"""Deliveries: what each recipient of an occurrence got."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, update

from queries_orchestration.model.outcomes import DeliveryState
from queries_orchestration.store import counters
from queries_orchestration.store.rows import every_of, one_or_none, select_records, values_of
from queries_orchestration.store.tables import deliveries


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One occurrence for one recipient, with its outcome.

    ``recipient_id`` is the id of the one of the two that there is, person or outside address.
    ``unanswered`` counts the submissions whose answer is not known; ``resubmitted_at`` is when it
    was submitted while one was unanswered; ``refusal_words`` are those of who last did not take it;
    ``mailbox_digest`` tells, until the occurrence is settled, which mailbox it goes to.
    """

    workspace_id: str
    occurrence_key: str
    recipient_id: str
    person_id: str | None
    outside_id: str | None
    state: DeliveryState
    code: str | None
    communication_key: str
    receive_number: int
    link_token_id: str | None
    link_key_id: str | None
    link_issued_at: datetime | None
    link_expires_at: datetime | None
    message_id: str | None
    recorded_at: datetime
    unanswered: int = 0
    resubmitted_at: datetime | None = None
    refusal_words: str | None = None
    mailbox_digest: str | None = field(default=None, repr=False)


def get(
    connection: Connection, workspace_id: str, occurrence_key: str, recipient_id: str
) -> Delivery | None:
    """Return the delivery of an occurrence for one recipient."""
    return one_or_none(
        connection,
        Delivery,
        select_records(Delivery, deliveries).where(
            deliveries.c.workspace_id == workspace_id,
            deliveries.c.occurrence_key == occurrence_key,
            deliveries.c.recipient_id == recipient_id,
        ),
    )


def of_occurrence(connection: Connection, workspace_id: str, occurrence_key: str) -> list[Delivery]:
    """Return the deliveries of an occurrence, in the order they were recorded."""
    return of_occurrences(connection, workspace_id, [occurrence_key])


def of_occurrences(
    connection: Connection, workspace_id: str, keys: Iterable[str]
) -> list[Delivery]:
    """Return the deliveries of occurrences, those of each in the order they were recorded."""
    return every_of(
        connection,
        Delivery,
        select_records(Delivery, deliveries)
        .where(deliveries.c.workspace_id == workspace_id)
        .order_by(deliveries.c.recorded_at, deliveries.c.recipient_id),
        deliveries.c.occurrence_key,
        keys,
    )


def record(connection: Connection, delivery: Delivery, *, instead_of: Delivery | None) -> None:
    """Insert the delivery of a recipient who has none, or none but the skipped ``instead_of``."""
    if instead_of is not None:
        connection.execute(
            sa.delete(deliveries).where(
                deliveries.c.workspace_id == instead_of.workspace_id,
                deliveries.c.communication_key == instead_of.communication_key,
                deliveries.c.state == "skipped",
            )
        )
    connection.execute(sa.insert(deliveries).values(values_of(delivery)))
    if delivery.state != "sending":
        _count(connection, delivery.state, delivery.code)


def note_submission(
    connection: Connection, delivery: Delivery, *, unanswered: int, **values: Any
) -> None:
    """Write how many submissions of a delivery that is ``sending`` have no answer."""
    _update(connection, delivery, unanswered=unanswered, **values)


def conclude(
    connection: Connection, delivery: Delivery, *, state: DeliveryState, **values: Any
) -> None:
    """Write the final outcome of a delivery that was ``sending``."""
    if _update(connection, delivery, state=state, **values):
        _count(connection, state, values.get("code"))


def forget_mailboxes(connection: Connection, workspace_id: str, occurrence_key: str) -> None:
    """Take away which mailboxes an occurrence went to: nothing more is sent of it."""
    connection.execute(
        update(deliveries)
        .where(
            deliveries.c.workspace_id == workspace_id,
            deliveries.c.occurrence_key == occurrence_key,
            deliveries.c.mailbox_digest.is_not(None),
        )
        .values(mailbox_digest=None)
    )


def _count(connection: Connection, state: str, code: str | None) -> None:
    counters.count(connection, counters.DELIVERIES_SETTLED, label=state, code=code)


def _update(connection: Connection, delivery: Delivery, **values: Any) -> bool:
    updated = connection.execute(
        update(deliveries)
        .where(
            deliveries.c.workspace_id == delivery.workspace_id,
            deliveries.c.communication_key == delivery.communication_key,
            deliveries.c.state == "sending",
        )
        .values(values)
    )
    return updated.rowcount == 1
