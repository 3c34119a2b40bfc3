"""Hop 6: whom an occurrence is for, by its purpose.

A delivery is for all present recipients, a test for who asked for it alone, a resend for those
present recipients whom the occurrence itself and its earlier resends did not reach.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sqlalchemy import Connection

from queries_orchestration.deliveries.recipients import Recipient, alone, recipients_now
from queries_orchestration.deliveries.resolve import Assignment
from queries_orchestration.model.errors import ReceiveLost
from queries_orchestration.store import deliveries, people, resends
from queries_orchestration.store.occurrences import Occurrence

UNREACHED: Final = ("refused", "unsent", "uncertain")


def addressed(
    connection: Connection, assignment: Assignment, *, served: Mapping[str, str]
) -> list[Recipient]:
    """Return whom the occurrence is for now, with the reasons of those to be skipped.

    Args:
        served: as for ``deliveries.recipients.recipients_now``.

    Raises:
        ReceiveLost: who asked for the test is gone.
    """
    occurrence = assignment.occurrence
    workspace_id = occurrence.workspace_id
    if occurrence.purpose == "test":
        person = people.get(connection, workspace_id, assignment.actor_id)
        if person is None:
            raise ReceiveLost("Who asked for the test is gone.")
        return [alone(person)]
    present = recipients_now(connection, workspace_id, assignment.schedule.id, served=served)
    if occurrence.purpose == "delivery":
        return present
    wanted = unreached(connection, workspace_id, assignment.origin.key, before=occurrence.key)
    return [recipient for recipient in present if recipient.id in wanted]


def somebody_to_reach(connection: Connection, workspace_id: str, origin: Occurrence) -> bool:
    """Tell whether another resend has somebody to send to: unreached, a recipient, not skipped."""
    wanted = unreached(connection, workspace_id, origin.key)
    return any(
        recipient.id in wanted and recipient.skip_code is None
        for recipient in recipients_now(connection, workspace_id, origin.schedule_id)
    )


def unreached(
    connection: Connection, workspace_id: str, origin_key: str, *, before: str | None = None
) -> set[str]:
    """Return the ids of those whose last message was refused, or may not have arrived.

    Args:
        before: a resend of the occurrence: only what was before it counts.
    """
    keys = [origin_key, *resends.keys(connection, workspace_id, origin_key)]
    if before is not None:
        keys = keys[: keys.index(before)]
    last: dict[str, str] = {}
    for key in keys:
        for delivery in deliveries.of_occurrence(connection, workspace_id, key):
            # Who was skipped in a resend is as unreached as before.
            if delivery.state != "skipped":
                last[delivery.recipient_id] = delivery.state
    return {recipient_id for recipient_id, state in last.items() if state in UNREACHED}
