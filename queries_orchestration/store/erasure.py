"""Taking a person, or an outside address, out of every row; the id stays in those of history.

The rows of files and schedules that named them count as written by somebody else from then on, so
that a catalog file which still names them is refused and not silently put into effect again.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from sqlalchemy import ColumnElement, Connection, Table, and_, delete, select, update

from queries_orchestration.store.tables import (
    deliveries,
    exports,
    group_members,
    groups,
    notices,
    outside_addresses,
    people,
    schedule_recipients,
    schedules,
    unsubscriptions,
)

ERASED_TITLE: Final = "Erased"


def erased_name(person_id: str) -> str:
    """Return the name that stands for somebody who was erased."""
    return f"erased-{person_id}"


def owned_schedules(connection: Connection, workspace_id: str, person_id: str) -> list[str]:
    """Return the names of the schedules of a person that have not ended."""
    owned = select(schedules.c.name).where(
        schedules.c.workspace_id == workspace_id,
        schedules.c.owner_id == person_id,
        schedules.c.state != "ended",
    )
    return list(connection.scalars(owned.order_by(schedules.c.name)))


def erase_person(
    connection: Connection, workspace_id: str, person_id: str, *, at: datetime
) -> bool:
    """Take a person out; whoever calls it has locked the catalog and seen that they own nothing.

    Args:
        at: the files that they asked for are over then.

    Returns:
        False if they were erased before.
    """
    memberships = select(group_members.c.group_id).where(
        _of(group_members, workspace_id, "person_id", person_id)
    )
    connection.execute(
        update(groups)
        .where(groups.c.workspace_id == workspace_id, groups.c.id.in_(memberships))
        .values(written_by="other")
    )
    connection.execute(
        delete(group_members).where(_of(group_members, workspace_id, "person_id", person_id))
    )
    connection.execute(
        update(exports)
        .where(
            _of(exports, workspace_id, "actor_id", person_id),
            exports.c.purpose == "interactive",
            exports.c.state == "ready",
            exports.c.expires_at > at,
        )
        .values(expires_at=at)
    )
    _erase_recipient(connection, workspace_id, "person_id", person_id)
    erased = connection.execute(
        update(people)
        .where(_of(people, workspace_id, "id", person_id), people.c.name != erased_name(person_id))
        .values(
            name=erased_name(person_id),
            title=ERASED_TITLE,
            address=None,
            roles=[],
            active=False,
            left_workspace=True,
            written_by="other",
        )
    )
    return erased.rowcount == 1


def erase_outside(connection: Connection, workspace_id: str, outside_id: str) -> bool:
    """Take an outside address out; whoever calls it has locked the catalog.

    Returns:
        False if it was erased before.
    """
    _erase_recipient(connection, workspace_id, "outside_id", outside_id)
    erased = connection.execute(
        update(outside_addresses)
        .where(
            _of(outside_addresses, workspace_id, "id", outside_id),
            outside_addresses.c.address.is_not(None),
        )
        .values(address=None, mailbox=None, title=None, unsubscribed_at=None)
    )
    return erased.rowcount == 1


def message_keys(connection: Connection, workspace_id: str, recipient_id: str) -> list[str]:
    """Return the communication keys of what was sent to somebody."""
    sent = select(deliveries.c.communication_key).where(
        _of(deliveries, workspace_id, "recipient_id", recipient_id)
    )
    told = select(notices.c.communication_key).where(
        _of(notices, workspace_id, "person_id", recipient_id)
    )
    return [*connection.scalars(sent), *connection.scalars(told)]


def _erase_recipient(
    connection: Connection, workspace_id: str, column: str, recipient_id: str
) -> None:
    named = select(schedule_recipients.c.schedule_id).where(
        _of(schedule_recipients, workspace_id, column, recipient_id)
    )
    connection.execute(
        update(schedules)
        .where(schedules.c.workspace_id == workspace_id, schedules.c.id.in_(named))
        .values(written_by="other")
    )
    for table in (schedule_recipients, unsubscriptions):
        connection.execute(delete(table).where(_of(table, workspace_id, column, recipient_id)))
    connection.execute(
        update(deliveries)
        .where(_of(deliveries, workspace_id, column, recipient_id))
        .values(mailbox_digest=None, refusal_words=None)
    )


def _of(table: Table, workspace_id: str, column: str, value: str) -> ColumnElement[bool]:
    return and_(table.c.workspace_id == workspace_id, table.c[column] == value)
