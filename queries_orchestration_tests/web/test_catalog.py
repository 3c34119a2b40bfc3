"""The catalog by the API: administrators, their own workspace, within what it was given."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest
import sqlalchemy as sa

from queries_orchestration_tests.web.office import WEEKLY, ask
from queries_orchestration_tests.web.site import Site

APPLY = "/api/v1/catalog/apply"
NEW = "workspace: {name: acme}\npeople: {gus: {title: Gus, roles: [reader]}}\n"


def apply(
    site: Site,
    text: str | bytes,
    person: str = "eve",
    *,
    kind: str = "application/yaml",
    **how: Any,
) -> httpx2.Response:
    return ask(site, "POST", APPLY, person, content=text, headers={"Content-Type": kind}, **how)


def lines(answer: httpx2.Response) -> list[int]:
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_catalog"), answer.text
    return [one["line"] for one in answer.json()["faults"]]


def test_an_administrator_applies_their_own_workspace(office: Site) -> None:
    answer = apply(office, NEW)
    assert (answer.status_code, answer.json()["people"]["created"]) == (200, ["acme/gus"])
    again = apply(office, NEW, kind="text/yaml; charset=utf-8").json()
    assert again["people"] == {"created": [], "changed": [], "unchanged": ["acme/gus"]}
    with office.house.backends.database.across.read() as connection:
        told = connection.execute(
            sa.text(
                "SELECT person_id FROM audit_events WHERE action='catalog_applied' AND via='api'"
            )
        ).all()
    assert [tuple(row) for row in told] == [(office.house.person("eve"),)]


@pytest.mark.parametrize("person", ["ada", "bob"])
def test_nobody_else_applies_anything(office: Site, person: str) -> None:
    answer = apply(office, NEW, person)
    assert (answer.status_code, answer.json()["code"]) == (403, "not_allowed")


def test_another_workspace_is_a_fault_whether_it_is_there_or_not(office: Site) -> None:
    def spoken_of(name: str) -> httpx2.Response:
        return apply(office, NEW + f"---\nworkspace: {{name: {name}, title: X, time_zone: UTC}}\n")

    assert lines(spoken_of("globex")) == [4]
    assert spoken_of("globex").text == spoken_of("nowhere").text
    with office.house.backends.database.across.read() as connection:
        assert connection.scalar(sa.text("SELECT count(*) FROM people WHERE name='gus'")) == 0


def test_databases_and_limits_are_given_by_who_runs_the_installation(office: Site) -> None:
    reaching = """\
workspace: {name: acme, limits: {export_bytes: 5}}
connections:
  other: {url_variable: GLOBEX_URL}
  shop: {url_variable: SHOP_URL}
  again: {url_variable: SHOP_URL}
"""
    assert lines(apply(office, reaching)) == [1, 3]
    assert lines(apply(office, reaching, params={"take_over": "true"})) == [1, 3]
    office.house.apply("workspace: {name: acme, limits: {export_bytes: 5}}\n")
    assert lines(apply(office, reaching)) == [3]
    assert lines(apply(office, "workspace: {name: acme, limits: {}}\n")) == [1]


def test_every_fault_has_its_line_and_nothing_is_written(office: Site) -> None:
    wrong = """\
workspace: {name: acme}
people:
  gus: {title: 7}
  hal: {title: Hal, more: 1}
schedules:
  weekly: {title: X}
"""
    assert set(lines(apply(office, wrong))) == {3, 4, 6}
    for odd in (b"", b"\xff", b"a: b: c", b"\0", b"- 1", "workspace: {name: acme}\nx: *y\n"):
        assert lines(apply(office, odd))
    assert apply(office, NEW, kind="application/json").status_code == 415
    assert apply(office, "x" * (8 * 1024 * 1024 + 1)).status_code == 413


def test_prune_and_take_over(office: Site) -> None:
    assert ask(office, "POST", f"{WEEKLY}/pause", json={"reason": "Why."}).status_code == 200
    renamed = """\
workspace: {name: acme}
schedules:
  weekly: {title: Renamed, query: all-orders, owner: ada, cron: 0 8 * * 1, format: csv,
           time_zone: Europe/Berlin, recipients: [bob, dan, cyd]}
"""
    assert lines(apply(office, renamed)) == [3]
    taken = apply(office, renamed, params={"take_over": "true"})
    assert taken.json()["schedules"]["changed"] == ["acme/weekly"]
    pruned = apply(office, renamed, params={"prune": "true"})
    assert pruned.status_code == 422  # the schedule's own query would go
    apply(office, NEW)
    everybody = """
people:
  ada: {title: Ada, roles: [author]}
  bob: {title: Bob, roles: [reader]}
  cyd: {title: Cyd, roles: [reader]}
  dan: {title: Dan, roles: [reader]}
  eve: {title: Eve, roles: [administrator]}
  fay: {title: Fay, roles: [author]}
groups: {sales: {people: [bob, cyd]}}
"""
    queries = """
queries:
  all-orders:
    title: All orders
    dataset: orders
    fields: [{field: id, label: Order}, {field: region, label: Region}, {field: amount}]
"""
    done = apply(office, renamed + everybody + queries, params={"prune": "true"})
    assert done.status_code == 200, done.text
    told = {(one["kind"], one["name"], one["outcome"]) for one in done.json()["pruned"]}
    assert ("people", "acme/gus", "removed") in told
