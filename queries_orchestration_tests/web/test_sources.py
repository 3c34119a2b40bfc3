"""Sources and groups by the API."""

from __future__ import annotations

from queries_orchestration_tests.web.office import ask
from queries_orchestration_tests.web.site import Site

SOURCES = "/api/v1/sources"
GROUPS = "/api/v1/groups"
REPORTS = """\
workspace: {name: acme}
reports:
  board:
    title: For the board
    parameters: [{name: area, type: text, default: r1}]
    sections:
      - {text: Hello}
      - {show: table, title: Orders, query: by-region, values: {region: {parameter: area}}}
  pay:
    title: Pay
    sections: [{show: table, title: Pay, query: salaries}]
"""


def test_one_sees_what_one_can_open_with_the_values_it_takes(office: Site) -> None:
    office.house.apply(REPORTS)

    def names(person: str, workspace: str = "acme") -> list[str]:
        told: list[str] = []
        cursor: str | None = None
        while True:
            query = {"limit": "2"} | ({"cursor": cursor} if cursor else {})
            page = ask(office, "GET", SOURCES, person, workspace=workspace, params=query).json()
            told += [one["source"] for one in page["sources"]]
            cursor = page["next_cursor"]
            if cursor is None:
                return told

    assert names("ada") == ["all-orders", "board", "by-region", "no-orders"]
    assert names("eve") == ["pay", "salaries"]
    assert names("bob") == names("ada", "globex") == []

    told = ask(office, "GET", f"{SOURCES}/by-region").json()
    assert (told["kind"], told["version"], told["formats"]) == ("query", 1, ["csv", "xlsx"])
    assert [
        (one["name"], one["type"], one["required"], one["default"], one["choices"])
        for one in told["parameters"]
    ] == [
        ("region", "text", True, "r1", ["r1", "r2"]),
        ("at_least", "decimal", False, None, None),
    ]
    report = ask(office, "GET", f"{SOURCES}/board").json()
    assert (report["kind"], [one["name"] for one in report["parameters"]]) == ("report", ["area"])


def test_a_source_that_one_may_not_open_looks_as_if_it_were_not_there(office: Site) -> None:
    forbidden = ask(office, "GET", f"{SOURCES}/salaries")
    unknown = ask(office, "GET", f"{SOURCES}/payments")
    assert (forbidden.status_code, unknown.status_code) == (404, 404)
    assert forbidden.text.replace("salaries", "payments") == unknown.text
    assert ask(office, "GET", f"{SOURCES}/all-orders", workspace="globex").status_code == 404
    for odd in ("%00", "%ED%A0%80", "x" * 5_000, "%F0%9F%8E%89"):
        assert ask(office, "GET", f"{SOURCES}/{odd}").status_code == 404, odd


def test_groups_and_their_members_without_addresses(office: Site) -> None:
    office.house.apply("workspace: {name: acme}\ngroups: {all: {people: [dan]}}\n")
    answer = ask(office, "GET", GROUPS, params={"limit": "1"})
    (first,) = answer.json()["groups"]
    assert first["members"] == [{"person": "dan", "title": "Dan Gone", "active": False}]
    second = ask(office, "GET", GROUPS, params={"cursor": answer.json()["next_cursor"]})
    assert [one["group"] for one in second.json()["groups"]] == ["sales"]
    assert [one["person"] for one in second.json()["groups"][0]["members"]] == ["bob", "cyd"]
    assert "@" not in second.text
    refused = ask(office, "GET", GROUPS, "bob")
    assert (refused.status_code, refused.json()["code"]) == (403, "not_allowed")
