"""Erase a person, or an outside address, at their wish: the counts stay, and nobody is in them.

What history has of them is an id. Their name is free again, so that a catalog file which still has
it makes somebody new, with another id, none of the history and none of the old access.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection

from queries_orchestration.exports.settle import cancel_within
from queries_orchestration.model.access import ADMINISTRATOR
from queries_orchestration.model.addresses import mailbox_key
from queries_orchestration.model.audit import NOT_ALLOWED, AuditEvent, By, Subject
from queries_orchestration.model.errors import InvalidAddress, NotFound, Refused
from queries_orchestration.receives.backends import Backends
from queries_orchestration.store import audit, datasets, erasure, outside_addresses, people
from queries_orchestration.store.catalog_lock import lock_catalog
from queries_orchestration.store.outside_addresses import OutsideAddress
from queries_orchestration.store.people import Person

CANCELLED: Final = "Cancelled: who asked for it was erased."


@dataclass(frozen=True, slots=True, kw_only=True)
class Erased:
    """Who was erased, or would be; ``messages`` are those that history knows of.

    ``also`` are the others with the same mailbox: people by name, outside addresses by id.
    """

    id: str
    is_person: bool
    messages: int
    also: tuple[str, ...]


def erase(backends: Backends, workspace_id: str, recipient_id: str, *, by: By, do: bool) -> Erased:
    """Take somebody's name, addresses, roles, memberships and subscriptions away, for good.

    Messages that the backend itself keeps (the mailbox folder) are removed first, so that who is
    killed in between can do it again; and once more those that were sent meanwhile. What they
    asked for and is not made is cancelled. Done again, it changes nothing more.

    Args:
        recipient_id: of a person or an outside address.
        by: whoever runs the installation, or an administrator of the workspace.
        do: else it is only looked whether it can be done.

    Raises:
        NotFound: there is no such person or outside address.
        Refused: a person who owns schedules (``owns_schedules``), or whom an access rule names
            (``named_in_access_rules``); a message to them may be on its way
            (``message_under_way``); who asks is no administrator (``not_allowed``).
        CommunicationsUnavailable: kept messages cannot be removed; nothing else was changed.
    """
    forgotten: set[str] = set()
    while True:
        with backends.database.read(workspace_id) as connection:
            found = _check(connection, workspace_id, recipient_id, by)
            messages = set(erasure.message_keys(connection, workspace_id, recipient_id))
            erased = Erased(
                id=recipient_id,
                is_person=isinstance(found, Person),
                messages=len(messages),
                also=_with_same_mailbox(connection, found),
            )
        if not do:
            return erased
        backends.communications.forget(messages - forgotten)
        forgotten |= messages
        backends.reached("messages of somebody forgotten, not erased")
        if _erase(backends, workspace_id, recipient_id, by=by, forgotten=forgotten):
            return erased


def _erase(
    backends: Backends, workspace_id: str, recipient_id: str, *, by: By, forgotten: set[str]
) -> bool:
    """Take somebody out of every row; False, and nothing is changed, if more was sent to them."""
    at = backends.clock()
    with backends.database.transaction(workspace_id) as connection:
        lock_catalog(connection)
        erasure.hold(connection, workspace_id, recipient_id)
        found = _check(connection, workspace_id, recipient_id, by)
        if not forgotten.issuperset(erasure.message_keys(connection, workspace_id, recipient_id)):
            return False
        if isinstance(found, Person):
            for export_id in erasure.unfinished_exports(connection, workspace_id, recipient_id):
                cancel_within(connection, workspace_id, export_id, message=CANCELLED)
            changed = erasure.erase_person(connection, workspace_id, recipient_id, at=at)
        else:
            changed = erasure.erase_outside(connection, workspace_id, recipient_id)
        if changed:
            audit.record(
                connection,
                AuditEvent(
                    workspace_id=workspace_id,
                    at=at,
                    by=by,
                    action="person_erased",
                    subject=Subject("workspace", workspace_id),
                    concerns_id=recipient_id,
                ),
            )
        backends.reached("erased, not committed")
    return True


def _check(
    connection: Connection, workspace_id: str, recipient_id: str, by: By
) -> Person | OutsideAddress:
    """Return who is to be erased; refuse what cannot be done."""
    if by.person_id is not None:
        asker = people.get(connection, workspace_id, by.person_id)
        if asker is None or not asker.active or ADMINISTRATOR not in asker.roles:
            raise Refused("Only administrators of the workspace erase somebody.", code=NOT_ALLOWED)
    person = people.get(connection, workspace_id, recipient_id)
    found = person or outside_addresses.get(connection, workspace_id, recipient_id)
    if found is None:
        raise NotFound("There is no such person or outside address.")
    if person is not None:
        _check_person(connection, person)
    key = erasure.under_way(connection, workspace_id, recipient_id)
    if key is not None:
        raise Refused(
            f"A message to them may be on its way, of {key}: erase them once that is settled and"
            " its notices are sent, mostly within minutes.",
            code="message_under_way",
        )
    return found


def _check_person(connection: Connection, person: Person) -> None:
    owned = erasure.owned_schedules(connection, person.workspace_id, person.id)
    if owned:
        raise Refused(
            f"They own schedules ({_some(owned)}): transfer each first"
            " (`queries schedules transfer`), or delete it.",
            code="owns_schedules",
        )
    named_in = datasets.people_in_access_rules(connection, person.workspace_id).get(person.name)
    if named_in:
        raise Refused(
            f"Access rules name them ({_some(named_in)}): take them out of the catalog files, apply"
            " these, then erase them.",
            code="named_in_access_rules",
        )


def _with_same_mailbox(connection: Connection, found: Person | OutsideAddress) -> tuple[str, ...]:
    """Return who else has the mailbox: they are not erased, since it may be one of many."""
    mailbox = _mailbox(found)
    if mailbox is None:
        return ()
    named = people.listing(connection, found.workspace_id)
    outside = outside_addresses.listing(connection, found.workspace_id)
    return (
        *(one.name for one in named if one.id != found.id and _mailbox(one) == mailbox),
        *(one.id for one in outside if one.id != found.id and _mailbox(one) == mailbox),
    )


def _mailbox(one: Person | OutsideAddress) -> str | None:
    try:
        return mailbox_key(one.address) if one.address else None
    except InvalidAddress:
        return None


def _some(names: list[str]) -> str:
    return ", ".join(names[:10]) + (", …" if len(names) > 10 else "")
