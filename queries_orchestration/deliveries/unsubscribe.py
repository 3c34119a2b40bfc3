"""Unsubscribing: a recipient ends the messages of a schedule, and an administrator sees and undoes.

The link in a message needs no login. Looking at it changes nothing: mail scanners open links
before people do, so only a POST may call :func:`unsubscribe` (RFC 8058). What was sent already
stays of use: a personal link goes on to its end.
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection

from queries_orchestration.deliveries.recipients import mailbox_of
from queries_orchestration.model.errors import LinkRefused, NotFound
from queries_orchestration.model.unsubscribe_links import verify
from queries_orchestration.receives.backends import Backends
from queries_orchestration.store import outside_addresses, people, schedules, unsubscriptions
from queries_orchestration.store.unsubscriptions import Unsubscription


def unsubscribe(backends: Backends, token: str, *, everywhere: bool = False) -> None:
    """Let the recipient of an unsubscribe link have no more messages of its schedule.

    Doing it again changes nothing.

    Args:
        everywhere: of no schedule of the workspace, if it is an outside address; a person's
            messages are ended schedule by schedule.

    Raises:
        LinkRefused: whatever is wrong with the token; always the same answer.
        StoreUnavailable: try again later.
    """
    now = backends.clock()
    link = verify(backends.link_keys, token, now=now)
    with backends.database.transaction() as connection:
        try:
            record_unsubscription(
                connection,
                link.workspace_id,
                schedule_id=link.schedule_id,
                recipient_id=link.recipient_id,
                everywhere=everywhere,
                at=now,
            )
        except NotFound:
            raise LinkRefused from None


def record_unsubscription(
    connection: Connection,
    workspace_id: str,
    *,
    schedule_id: str,
    recipient_id: str,
    at: datetime,
    everywhere: bool = False,
) -> None:
    """Record that somebody wants no more of a schedule, a recipient at present or not.

    Raises:
        NotFound: there is no such schedule, person or outside address in the workspace.
    """
    is_person = people.get(connection, workspace_id, recipient_id) is not None
    if not is_person and outside_addresses.get(connection, workspace_id, recipient_id) is None:
        raise NotFound("There is no such recipient.")
    if schedules.get(connection, workspace_id, schedule_id) is None:
        raise NotFound("There is no such schedule.")
    unsubscriptions.record(
        connection,
        Unsubscription(
            workspace_id=workspace_id,
            schedule_id=schedule_id,
            recipient_id=recipient_id,
            person_id=recipient_id if is_person else None,
            outside_id=None if is_person else recipient_id,
            unsubscribed_at=at,
            mailbox_digest=mailbox_of(connection, workspace_id, recipient_id),
        ),
    )
    if everywhere and not is_person:
        outside_addresses.set_unsubscribed(connection, workspace_id, recipient_id, at=at)


def forget_unsubscription(
    connection: Connection, workspace_id: str, *, schedule_id: str, recipient_id: str
) -> bool:
    """Let somebody have the schedule's messages again; False if they had not unsubscribed.

    It ends what was unsubscribed under another name with the mailbox that they have now, too.
    An outside address that had unsubscribed from the whole workspace may be sent to again.
    """
    forgotten = unsubscriptions.forget(
        connection,
        workspace_id,
        schedule_id,
        recipient_id=recipient_id,
        mailbox_digest=mailbox_of(connection, workspace_id, recipient_id),
    )
    outside = outside_addresses.get(connection, workspace_id, recipient_id)
    if outside is None or outside.unsubscribed_at is None:
        return forgotten
    outside_addresses.set_unsubscribed(connection, workspace_id, recipient_id, at=None)
    return True
