"""The house with a group and outside addresses: what tests of recipients and messages share."""

from __future__ import annotations

import re
from email.message import EmailMessage

import sqlalchemy as sa

from queries_orchestration.store import outside_addresses
from queries_orchestration.store.outside_addresses import OutsideAddress
from queries_orchestration_tests.house import House

STAFF = """\
  ada: {title: Ada Owner, address: ada@example.org, roles: [author]}
  bob: {title: Bob Buyer, address: bob@example.org, roles: [reader]}
  cyd: {title: Cyd Clerk, address: cyd@example.org, roles: [reader]}
  dan: {title: Dan Gone, address: dan@example.org, roles: [reader], active: false}
  eli: {title: Eli Without, roles: [reader]}
"""


def catalog(
    recipients: str,
    *,
    groups: str = "{sales: {people: [bob, cyd]}}",
    domains: str = "[partner.example]",
    people: str = STAFF,
    workspace: str = "",
) -> str:
    """Return a file by which `weekly` goes to others; all else is the house's."""
    return f"""\
workspace: {{name: acme, allowed_domains: {domains}{workspace}}}
people:
{people}groups: {groups}
schedules:
  weekly:
    title: Weekly orders
    query: all-orders
    owner: ada
    cron: 0 8 * * 1
    time_zone: Europe/Berlin
    format: csv
    recipients: {recipients}
"""


JANE = "{address: jane@partner.example, name: Jane Doe}"


def outcomes(house: House, *, slot: int = -1) -> dict[str, str]:
    """How it ended for each recipient of an occurrence, the newest: the state, or the code."""
    rows = house.deliveries(house.history()[slot].key)
    return {name: row.code or row.state for name, row in rows.items()}


def outside_of(house: House, address: str) -> OutsideAddress:
    with house.backends.database.across.read() as connection:
        (found,) = (
            one
            for one in outside_addresses.listing(connection, house.workspace_id)
            if one.address == address
        )
    return found


def message_to(house: House, address: str) -> EmailMessage:
    """The one message to an address."""
    (found,) = (
        message for message in house.messages() if message["To"].addresses[0].addr_spec == address
    )
    return found


def text_of(message: EmailMessage, kind: str = "plain") -> str:
    body = message.get_body((kind,))
    assert body is not None
    content = body.get_content()
    assert isinstance(content, str)
    return content.replace("\r\n", "\n")


def token_to(house: House, address: str, kind: str = "d") -> str:
    """The token in a message: ``d`` of the personal link, ``u`` of the one to unsubscribe."""
    found = re.search(
        rf"https://queries\.example\.org/{kind}/(\S+)", text_of(message_to(house, address))
    )
    assert found is not None
    return found[1]


def execute(house: House, statement: str) -> None:
    with house.backends.database.across.transaction() as connection:
        connection.execute(sa.text(statement))
