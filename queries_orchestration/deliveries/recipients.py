"""Hop 6, first half: who the recipients are now, and why some are skipped."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlalchemy import Connection

from queries_orchestration.model.addresses import clean_address, mailbox_key
from queries_orchestration.model.errors import InvalidAddress
from queries_orchestration.store import people, schedules
from queries_orchestration.store.people import Person


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipient:
    """One person to be sent a message, or to be skipped with the reason's code."""

    person: Person = field(repr=False)
    address: str | None = field(repr=False)
    skip_code: str | None


def recipients_now(connection: Connection, workspace_id: str, schedule_id: str) -> list[Recipient]:
    """Return the schedule's recipients as they are at this moment, in their order.

    Skip codes: ``left_workspace``, ``inactive``, ``no_address``, ``invalid_address``,
    ``duplicate`` (an earlier recipient has the same mailbox).
    """
    found: list[Recipient] = []
    mailboxes: set[str] = set()
    for person_id in schedules.recipients(connection, workspace_id, schedule_id):
        person = people.get(connection, workspace_id, person_id)
        if person is None:
            continue  # A foreign key keeps this from happening.
        address, skip_code = _address_of(person)
        if address is not None:
            mailbox = mailbox_key(address)
            if mailbox in mailboxes:
                address, skip_code = None, "duplicate"
            mailboxes.add(mailbox)
        found.append(Recipient(person=person, address=address, skip_code=skip_code))
    return found


def _address_of(person: Person) -> tuple[str | None, str | None]:
    if not person.active:
        return None, "inactive"
    if not person.address:
        return None, "no_address"
    try:
        return clean_address(person.address), None
    except InvalidAddress as error:
        return None, error.code
