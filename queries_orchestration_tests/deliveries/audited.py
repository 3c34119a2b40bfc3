"""The house with an administrator and two schedules, and what its audit trail tells."""

from __future__ import annotations

from queries_orchestration.model.audit import AuditEvent, By, Via
from queries_orchestration.store import audit
from queries_orchestration_tests.house import House

MORE = """\
workspace: {name: acme, allowed_domains: [partner.example]}
people:
  root: {title: Root Admin, address: root@example.org, roles: [administrator, author]}
  gus: {title: Gus Author, address: gus@example.org, roles: [author]}
queries:
  by-region:
    title: Orders of a region
    dataset: orders
    fields: [{field: id}]
    filters: [{field: region, op: eq, value: {parameter: region}}]
    parameters: [{name: region, type: text}]
schedules:
  second:
    title: The second
    query: by-region
    owner: ada
    cron: 0 9 * * 1
    format: csv
    values: {region: r3-secret}
    recipients: [bob, {address: jane@partner.example, name: Jane Doe}]
"""
REASON = "Because jane@partner.example said r3-secret."


def trail(house: House) -> list[AuditEvent]:
    """All events, the oldest first as far as the clock tells."""
    with house.backends.database.across.read() as connection:
        found = audit.listing(connection, house.workspace_id, limit=1_000)
    return found[::-1]


def actions(house: House) -> list[str]:
    """What was done since the catalog was applied."""
    set_up = ("catalog_applied", "schedule_created")
    return sorted(one.action for one in trail(house) if one.action not in set_up)


def only(house: House, action: str) -> AuditEvent:
    (found,) = [one for one in trail(house) if one.action == action]
    return found


def by(house: House, name: str, via: Via = "api") -> By:
    return By(via=via, person_id=house.person(name))
