"""Erase a person, or an outside address, at their wish: the counts stay, and nobody is in them.

What history has of them is an id. Their name is free again, so that a catalog file which still has
it makes somebody new, with another id, none of the history and none of the old access.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection

from queries_orchestration.model.access import ADMINISTRATOR
from queries_orchestration.model.audit import NOT_ALLOWED, AuditEvent, By, Subject
from queries_orchestration.model.errors import NotFound, Refused
from queries_orchestration.receives.backends import Backends
from queries_orchestration.store import audit, datasets, erasure, outside_addresses, people
from queries_orchestration.store.catalog_lock import lock_catalog
from queries_orchestration.store.people import Person


@dataclass(frozen=True, slots=True, kw_only=True)
class Erased:
    """Who was erased, or would be; ``messages`` are those that history knows of."""

    id: str
    is_person: bool
    messages: int


def erase(backends: Backends, workspace_id: str, recipient_id: str, *, by: By, do: bool) -> Erased:
    """Take somebody's name, addresses, roles, memberships and subscriptions away, for good.

    Messages that the backend itself keeps (the mailbox folder) are removed first; done again, it
    changes nothing more.

    Args:
        recipient_id: of a person or an outside address.
        by: whoever runs the installation, or an administrator of the workspace.
        do: else it is only looked whether it can be done.

    Raises:
        NotFound: there is no such person or outside address.
        Refused: a person who owns schedules (``owns_schedules``), or whom an access rule names
            (``named_in_access_rules``); who asks is no administrator (``not_allowed``).
        CommunicationsUnavailable: kept messages cannot be removed; nothing else was changed.
    """
    with backends.database.read(workspace_id) as connection:
        is_person = _check(connection, workspace_id, recipient_id, by) is not None
        messages = erasure.message_keys(connection, workspace_id, recipient_id)
    erased = Erased(id=recipient_id, is_person=is_person, messages=len(messages))
    if not do:
        return erased
    backends.communications.forget(messages)
    backends.reached("messages of somebody forgotten, not erased")
    at = backends.clock()
    with backends.database.transaction(workspace_id) as connection:
        lock_catalog(connection)
        person = _check(connection, workspace_id, recipient_id, by)
        changed = (
            erasure.erase_outside(connection, workspace_id, recipient_id)
            if person is None
            else erasure.erase_person(connection, workspace_id, recipient_id, at=at)
        )
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
    return erased


def _check(connection: Connection, workspace_id: str, recipient_id: str, by: By) -> Person | None:
    """Return the person, None of an outside address; refuse what cannot be done."""
    if by.person_id is not None:
        asker = people.get(connection, workspace_id, by.person_id)
        if asker is None or not asker.active or ADMINISTRATOR not in asker.roles:
            raise Refused("Only administrators of the workspace erase somebody.", code=NOT_ALLOWED)
    person = people.get(connection, workspace_id, recipient_id)
    if person is None:
        if outside_addresses.get(connection, workspace_id, recipient_id) is None:
            raise NotFound("There is no such person or outside address.")
        return None
    owned = erasure.owned_schedules(connection, workspace_id, recipient_id)
    if owned:
        raise Refused(
            f"They own schedules ({_some(owned)}): transfer each first"
            " (`queries schedules transfer`), or delete it.",
            code="owns_schedules",
        )
    named_in = datasets.people_in_access_rules(connection, workspace_id).get(person.name)
    if named_in:
        raise Refused(
            f"Access rules name them ({_some(named_in)}): take them out of the catalog files, apply"
            " these, then erase them.",
            code="named_in_access_rules",
        )
    return person


def _some(names: list[str]) -> str:
    return ", ".join(names[:10]) + (", …" if len(names) > 10 else "")
