"""Taking a person, or an outside address, out of every row; the id stays in those of history.

The rows of files and schedules that named them count as written by somebody else from then on, so
that a catalog file which still names them is refused and not silently put into effect again.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from sqlalchemy import ColumnElement, Connection, Table, and_, delete, or_, select, text, update

from queries_orchestration.store import claims as claims_store
from queries_orchestration.store.tables import (
    UNFINISHED_EXPORT,
    claims,
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


def hold(connection: Connection, workspace_id: str, recipient_id: str) -> None:
    """Let nobody begin to send to somebody, by :func:`is_there`, until the transaction ends."""
    for table in (people, outside_addresses):
        connection.execute(
            select(table.c.id).where(_of(table, workspace_id, "id", recipient_id)).with_for_update()
        )


def is_there(connection: Connection, workspace_id: str, recipient_id: str) -> bool:
    """Tell whether somebody was not erased; nobody erases them until the transaction ends."""
    name = connection.scalar(
        select(people.c.name)
        .where(_of(people, workspace_id, "id", recipient_id))
        .with_for_update(read=True, key_share=True)
    )
    if name is not None:
        return bool(name != erased_name(recipient_id))
    address = connection.scalar(
        select(outside_addresses.c.address)
        .where(_of(outside_addresses, workspace_id, "id", recipient_id))
        .with_for_update(read=True, key_share=True)
    )
    return address is not None


def under_way(connection: Connection, workspace_id: str, recipient_id: str) -> str | None:
    """Return the key of an occurrence of which somebody may be sent a message still; None if none.

    What has begun to be sent is made from what was read of them before.
    """
    sending = (
        select(deliveries.c.occurrence_key)
        .join(
            claims,
            and_(
                claims.c.workspace_id == deliveries.c.workspace_id,
                claims.c.key == deliveries.c.occurrence_key,
            ),
        )
        .where(
            claims_store.unfinished(),
            _of(deliveries, workspace_id, "recipient_id", recipient_id),
            deliveries.c.state != "skipped",
        )
    )
    telling = select(notices.c.occurrence_key).where(
        _of(notices, workspace_id, "person_id", recipient_id), notices.c.state == "sending"
    )
    for found in (sending, telling):
        key: str | None = connection.scalar(found.limit(1))
        if key is not None:
            return key
    return None


def unfinished_exports(connection: Connection, workspace_id: str, person_id: str) -> list[str]:
    """Return the ids of what a person asked for that is not made yet."""
    own = _of(exports, workspace_id, "actor_id", person_id)
    return list(connection.scalars(select(exports.c.id).where(own, text(UNFINISHED_EXPORT))))


def erase_person(
    connection: Connection, workspace_id: str, person_id: str, *, at: datetime
) -> bool:
    """Take a person out; whoever calls it has locked the catalog, holds them, and has seen that
    they own nothing and nothing is under way.

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
    """Take an outside address out; whoever calls it has locked the catalog, holds it, and has seen
    that nothing is under way.

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
        .where(
            _of(deliveries, workspace_id, column, recipient_id),
            or_(deliveries.c.mailbox_digest.is_not(None), deliveries.c.refusal_words.is_not(None)),
        )
        .values(mailbox_digest=None, refusal_words=None)
    )


def _of(table: Table, workspace_id: str, column: str, value: str) -> ColumnElement[bool]:
    return and_(table.c.workspace_id == workspace_id, table.c[column] == value)
