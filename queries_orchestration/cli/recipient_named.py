"""Look up the recipient that a verb was asked about."""

from __future__ import annotations

from sqlalchemy import Connection

from queries_orchestration.model.addresses import mailbox_key
from queries_orchestration.model.errors import InvalidAddress, NotFound
from queries_orchestration.store import outside_addresses, people
from queries_orchestration.store.workspaces import Workspace


def recipient_named(connection: Connection, place: Workspace, text: str) -> str:
    """Return the id of the person or outside address that ``text`` names.

    Args:
        text: a person's name, or an outside address, or its id as `schedules show --json` has it.

    Raises:
        NotFound: nothing has that name. The message does not repeat an address.
    """
    person = people.by_name(connection, place.id, text)
    if person is not None:
        return person.id
    try:
        mailbox = mailbox_key(text)
    except InvalidAddress:
        mailbox = None
    for outside in outside_addresses.listing(connection, place.id):
        if text == outside.id or (mailbox is not None and mailbox == outside.mailbox):
            return outside.id
    what = "outside address" if "@" in text else f"person {text!r}"
    raise NotFound(
        f"There is no such {what} in {place.name}: give a person's name, or an outside address"
        " that a schedule has or had."
    )
