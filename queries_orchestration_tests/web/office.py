"""A house with more people: an administrator, a second author, a group, another workspace."""

from __future__ import annotations

from typing import Any, Final

import httpx2

from queries_orchestration_tests.web.site import Site

SCHEDULES: Final = "/api/v1/schedules"
WEEKLY: Final = f"{SCHEDULES}/weekly"
NOBODYS: Final = f"{SCHEDULES}/nobodys"

CATALOG: Final = """\
workspace: {name: acme, allowed_domains: [partner.example]}
people:
  eve: {title: Eve Admin, address: eve@example.org, roles: [administrator]}
  fay: {title: Fay Author, address: fay@example.org, roles: [author]}
groups: {sales: {title: Sales, people: [bob, cyd]}}
datasets:
  salaries:
    connection: shop
    relation: orders
    fields: {id: {type: integer, nullable: false}}
    key: [id]
    access: [{who: {roles: [administrator]}, fields: all, rows: all}]
queries:
  salaries: {title: Salaries, dataset: salaries, fields: [{field: id}]}
  by-region:
    title: Orders of a region
    dataset: orders
    fields: [{field: id}, {field: amount}]
    parameters:
      - {name: region, type: text, label: Region, default: r1, allowed: [r1, r2]}
      - {name: at_least, type: decimal, required: false}
    filters:
      - {field: region, op: eq, value: {parameter: region}}
      - {field: amount, op: ge, value: {parameter: at_least}}
---
workspace: {name: globex, title: Globex, time_zone: UTC}
people:
  ada: {title: Another Ada, address: ada@globex.example, roles: [administrator]}
"""
DEFINITION: Final[dict[str, Any]] = {
    "title": "Orders of Monday",
    "query": "by-region",
    "cron": "0 9 * * 1",
    "format": "csv",
    "values": {"region": "r2"},
    "recipients": ["bob", {"group": "sales"}],
}


def ask(
    site: Site, method: str, path: str, person: str = "ada", *, workspace: str = "acme", **how: Any
) -> httpx2.Response:
    """Ask as a person."""
    headers = site.as_(person, workspace=workspace) | how.pop("headers", {})
    return site.client.request(method, path, headers=headers, **how)


def create(site: Site, name: str = "mondays", person: str = "ada", **more: Any) -> httpx2.Response:
    """Make a schedule as a person."""
    return ask(site, "POST", SCHEDULES, person, json={"name": name} | DEFINITION | more)


def change(
    site: Site, name: str, definition: Any, tag: str | None, person: str = "ada"
) -> httpx2.Response:
    """Make a schedule another one as a person."""
    headers = {} if tag is None else {"If-Match": tag}
    return ask(site, "PUT", f"{SCHEDULES}/{name}", person, json=definition, headers=headers)


def faults(answer: httpx2.Response) -> list[str]:
    """The pointers of a refusal's faults."""
    assert answer.status_code == 422, answer.text
    return [one["pointer"] for one in answer.json()["faults"]]
