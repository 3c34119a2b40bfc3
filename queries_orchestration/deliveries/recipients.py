"""Hop 6, first half: who the recipients are now, and why some are skipped.

The same rules answer at the click whether somebody is a recipient still.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, TypeAlias

from sqlalchemy import Connection

from queries_orchestration.model.addresses import (
    clean_address,
    domain_of,
    mailbox_digest,
    mailbox_key,
)
from queries_orchestration.model.errors import InvalidAddress
from queries_orchestration.store import (
    groups,
    outside_addresses,
    people,
    recipients,
    unsubscriptions,
    workspaces,
)
from queries_orchestration.store.outside_addresses import OutsideAddress
from queries_orchestration.store.people import Person

Candidate: TypeAlias = Person | OutsideAddress

DUPLICATE: Final = "duplicate"
_NOBODY: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipient:
    """One to be sent a message, or to be skipped with the reason's code.

    Its ``id`` is that of a person of the workspace, or of an outside address; ``mailbox`` is the
    digest of the mailbox that ``address`` names.
    """

    id: str
    is_person: bool
    name: str = field(repr=False)
    address: str | None = field(repr=False)
    mailbox: str | None = field(repr=False)
    skip_code: str | None


def recipients_now(
    connection: Connection,
    workspace_id: str,
    schedule_id: str,
    *,
    served: Mapping[str, str] = _NOBODY,
) -> list[Recipient]:
    """Return the schedule's recipients as they are at this moment, each once.

    Those named directly come first, in their order, then the members of the groups. A mailbox
    has one recipient: the one of ``served``, else the first that may be sent to.

    Skip codes: ``left_workspace``, ``inactive``, ``no_address``, ``invalid_address``,
    ``domain_not_allowed``, ``unsubscribed``, ``duplicate``.

    Args:
        served: the mailboxes (digests) that have, or may have, the message in question already,
            each with the id of the recipient by whom.
    """
    rules = _Rules(connection, workspace_id)
    unsubscribed = _unsubscribed(connection, workspace_id, schedule_id)
    owners = dict(served)
    found: list[Recipient] = []
    for candidate in _candidates(connection, workspace_id, schedule_id):
        address, code = rules.address_of(candidate)
        if candidate.id in unsubscribed and code is None:
            address, code = None, "unsubscribed"
        mailbox = None if address is None else mailbox_digest(workspace_id, address)
        if mailbox is not None:
            if mailbox in unsubscribed:
                address, mailbox, code = None, None, "unsubscribed"
            elif owners.setdefault(mailbox, candidate.id) != candidate.id:
                address, mailbox, code = None, None, DUPLICATE
        found.append(
            Recipient(
                id=candidate.id,
                is_person=isinstance(candidate, Person),
                name=candidate.title or "",
                address=address,
                mailbox=mailbox,
                skip_code=code,
            )
        )
    return found


def is_recipient(
    connection: Connection, workspace_id: str, schedule_id: str, recipient_id: str
) -> bool:
    """Tell whether somebody is to have what the schedule delivers.

    Who is active and named, directly or by a group; an outside address while its domain is
    allowed. Whether messages are wanted does not matter.
    """
    if not recipients.names(connection, workspace_id, schedule_id, recipient_id):
        return False
    candidate = _look_up(connection, workspace_id, recipient_id)
    if isinstance(candidate, Person):
        return candidate.active
    return (
        candidate is not None
        and _Rules(connection, workspace_id).address_of(candidate)[0] is not None
    )


def alone(person: Person) -> Recipient:
    """Return one person as the only recipient."""
    address, code = address_of(person)
    return Recipient(
        id=person.id,
        is_person=True,
        name=person.title,
        address=address,
        mailbox=None if address is None else mailbox_digest(person.workspace_id, address),
        skip_code=code,
    )


def address_of(person: Person) -> tuple[str | None, str | None]:
    """Return the address to which a person is written, or None and the code of why not."""
    if not person.active:
        return None, "left_workspace" if person.left_workspace else "inactive"
    return _cleaned(person.address)


def _cleaned(address: str | None) -> tuple[str | None, str | None]:
    if not address:
        return None, "no_address"
    try:
        return clean_address(address), None
    except InvalidAddress as error:
        return None, error.code


class _Rules:
    """Whether somebody may be sent to at all, by the workspace as it is now."""

    def __init__(self, connection: Connection, workspace_id: str) -> None:
        self._connection = connection
        self._workspace_id = workspace_id
        workspace = workspaces.get(connection, workspace_id)
        self._domains = frozenset((workspace and workspace.allowed_domains) or ())
        self._people: dict[str, Person] | None = None

    def address_of(self, candidate: Candidate) -> tuple[str | None, str | None]:
        """Return the address, or the code by which there is none."""
        if isinstance(candidate, Person):
            return address_of(candidate)
        address, code = _cleaned(candidate.address)
        if address is None:
            return None, code
        if domain_of(address) not in self._domains:
            return None, "domain_not_allowed"
        # Who was deactivated gets nothing by their bare address either.
        person = self._by_mailbox().get(mailbox_key(address))
        return self.address_of(person) if person is not None else (address, None)

    def _by_mailbox(self) -> dict[str, Person]:
        if self._people is None:
            self._people = {}
            for person in people.listing(self._connection, self._workspace_id):
                mailbox = _mailbox(person)
                # Of two people with one mailbox an active one counts.
                if mailbox and (person.active or mailbox not in self._people):
                    self._people[mailbox] = person
        return self._people


def _candidates(connection: Connection, workspace_id: str, schedule_id: str) -> Iterator[Candidate]:
    """Yield everybody whom the schedule names, once: directly first, then by groups."""
    named = recipients.of_schedule(connection, workspace_id, schedule_id)
    seen: set[str] = set()
    for one in sorted(named, key=lambda one: one.kind == "group"):
        if one.kind == "group":
            some: list[Candidate] = [*groups.people_of(connection, workspace_id, one.id)]
        else:
            found = _look_up(connection, workspace_id, one.id)
            some = [] if found is None else [found]
        for candidate in some:
            if candidate.id not in seen:
                seen.add(candidate.id)
                yield candidate


def _look_up(connection: Connection, workspace_id: str, recipient_id: str) -> Candidate | None:
    return people.get(connection, workspace_id, recipient_id) or outside_addresses.get(
        connection, workspace_id, recipient_id
    )


def mailbox_of(connection: Connection, workspace_id: str, recipient_id: str) -> str | None:
    """Return the digest of the mailbox that somebody has now; None if there is none."""
    candidate = _look_up(connection, workspace_id, recipient_id)
    if candidate is None or not candidate.address:
        return None
    try:
        return mailbox_digest(workspace_id, candidate.address)
    except InvalidAddress:
        return None


def _unsubscribed(connection: Connection, workspace_id: str, schedule_id: str) -> frozenset[str]:
    """Return the ids and the mailboxes of those who want no more of the schedule.

    The mailboxes, too, that of then and that of now: nobody is a recipient again only because they
    are named in another way.
    """
    found = unsubscriptions.of_schedule(connection, workspace_id, schedule_id)
    ids = {one.recipient_id for one in found}
    ids |= {
        outside.id
        for outside in outside_addresses.listing(connection, workspace_id)
        if outside.unsubscribed_at is not None
    }
    mailboxes = {one.mailbox_digest for one in found}
    mailboxes |= {mailbox_of(connection, workspace_id, one) for one in ids}
    return frozenset(ids | {mailbox for mailbox in mailboxes if mailbox is not None})


def _mailbox(person: Person) -> str | None:
    try:
        return mailbox_key(person.address) if person.address else None
    except InvalidAddress:
        return None
