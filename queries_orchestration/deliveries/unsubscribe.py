"""Unsubscribing: a recipient ends the messages of a schedule, and an administrator sees and undoes.

The link in a message needs no login. Looking at it changes nothing: mail scanners open links
before people do, so only a POST may call :func:`unsubscribe` (RFC 8058). What was sent already
stays of use: a personal link goes on to its end.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Connection

from queries_orchestration.deliveries.authority import schedule_governed_by
from queries_orchestration.deliveries.recipients import mailbox_of
from queries_orchestration.model.access import ADMINISTRATOR
from queries_orchestration.model.audit import NOT_ALLOWED, Action, AuditEvent, By, Subject
from queries_orchestration.model.errors import LinkRefused, NotFound, Refused
from queries_orchestration.model.titles import is_one_line
from queries_orchestration.model.unsubscribe_links import verify
from queries_orchestration.receives.backends import Backends
from queries_orchestration.store import (
    audit,
    outside_addresses,
    people,
    schedules,
    unsubscriptions,
    workspaces,
)
from queries_orchestration.store.unsubscriptions import Unsubscription


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsubscribeOffer:
    """What an unsubscribe link ends: the titles that its message had, too."""

    schedule: str
    workspace: str
    may_leave_all: bool


def unsubscribe_offer(backends: Backends, token: str) -> UnsubscribeOffer:
    """Return what :func:`unsubscribe` would end; it changes nothing.

    Raises:
        LinkRefused: whatever is wrong with the token; always the same answer.
        StoreUnavailable: try again later.
    """
    link = verify(backends.link_keys, token, now=backends.clock())
    with backends.database.read(link.workspace_id) as connection:
        workspace = workspaces.get(connection, link.workspace_id)
        schedule = schedules.get(connection, link.workspace_id, link.schedule_id)
        person = people.get(connection, link.workspace_id, link.recipient_id)
        outside = outside_addresses.get(connection, link.workspace_id, link.recipient_id)
    if workspace is None or schedule is None or (person is None and outside is None):
        raise LinkRefused
    return UnsubscribeOffer(
        schedule=schedule.title, workspace=workspace.title, may_leave_all=person is None
    )


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
    with backends.database.transaction(link.workspace_id) as connection:
        try:
            record_unsubscription(
                connection,
                link.workspace_id,
                schedule_id=link.schedule_id,
                recipient_id=link.recipient_id,
                by=_by_link(connection, link.workspace_id, link.recipient_id),
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
    by: By,
    at: datetime,
    everywhere: bool = False,
) -> None:
    """Record that somebody wants no more of a schedule, a recipient at present or not.

    Args:
        by: the recipient, or whoever does it for them.

    Raises:
        NotFound: there is no such schedule, person or outside address in the workspace.
    """
    is_person = people.get(connection, workspace_id, recipient_id) is not None
    if not is_person and outside_addresses.get(connection, workspace_id, recipient_id) is None:
        raise NotFound("There is no such recipient.")
    if schedules.get(connection, workspace_id, schedule_id) is None:
        raise NotFound("There is no such schedule.")
    changed = unsubscriptions.record(
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
        changed |= outside_addresses.set_unsubscribed(connection, workspace_id, recipient_id, at=at)
    if changed:
        _record(connection, workspace_id, schedule_id, "unsubscribed", recipient_id, by=by, at=at)


def resubscribe(
    backends: Backends, workspace_id: str, *, schedule_id: str, recipient: str, by: By
) -> str:
    """Let a recipient who had unsubscribed have the schedule's messages again, at their own wish.

    Args:
        recipient: a person's name, or the id of an outside address.
        by: an administrator: who has ended messages is not to be moved by who sends them.

    Returns:
        The recipient's id.

    Raises:
        NotFound: there is no such schedule, or it is not theirs, or no such recipient.
        Refused: who asks is no administrator (``not_allowed``), or the recipient had not
            unsubscribed (``not_unsubscribed``).
    """
    at = backends.clock()
    with backends.database.transaction(workspace_id) as connection:
        schedule_governed_by(connection, workspace_id, schedule_id=schedule_id, by=by)
        asker = people.get(connection, workspace_id, by.as_person())
        if asker is None or ADMINISTRATOR not in asker.roles:
            raise Refused(
                "Only an administrator lets somebody have messages again, at their own wish.",
                code=NOT_ALLOWED,
            )
        found = is_one_line(recipient) and (
            people.by_name(connection, workspace_id, recipient)
            or outside_addresses.get(connection, workspace_id, recipient)
        )
        if not found:
            raise NotFound("There is no such recipient: give a person's name, or an id as told.")
        if not forget_unsubscription(
            connection,
            workspace_id,
            schedule_id=schedule_id,
            recipient_id=found.id,
            by=by,
            at=at,
        ):
            raise Refused("They had not unsubscribed from it.", code="not_unsubscribed")
        return found.id


def forget_unsubscription(
    connection: Connection,
    workspace_id: str,
    *,
    schedule_id: str,
    recipient_id: str,
    by: By,
    at: datetime,
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
    # Nothing to change at a person, who unsubscribes from schedules alone.
    forgotten |= outside_addresses.set_unsubscribed(connection, workspace_id, recipient_id, at=None)
    if forgotten:
        _record(connection, workspace_id, schedule_id, "resubscribed", recipient_id, by=by, at=at)
    return forgotten


def _by_link(connection: Connection, workspace_id: str, recipient_id: str) -> By:
    if people.get(connection, workspace_id, recipient_id) is not None:
        return By(via="link", person_id=recipient_id)
    return By(via="link", outside_id=recipient_id)


def _record(
    connection: Connection,
    workspace_id: str,
    schedule_id: str,
    action: Action,
    recipient_id: str,
    *,
    by: By,
    at: datetime,
) -> None:
    audit.record(
        connection,
        AuditEvent(
            workspace_id=workspace_id,
            at=at,
            by=by,
            action=action,
            subject=Subject("schedule", schedule_id),
            concerns_id=recipient_id,
        ),
    )
