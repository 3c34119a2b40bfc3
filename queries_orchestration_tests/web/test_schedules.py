"""Schedules by the API: made, read, changed, taken away."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import sqlalchemy as sa

from queries_orchestration.model.errors import InvalidCatalog
from queries_orchestration_tests.house import MONDAY
from queries_orchestration_tests.web.office import (
    DEFINITION,
    NOBODYS,
    SCHEDULES,
    WEEKLY,
    ask,
    change,
    create,
    faults,
)
from queries_orchestration_tests.web.site import Site

OUTSIDE = {"address": "jane@partner.example", "name": "Jane Doe"}


def test_an_author_makes_a_schedule_of_their_own_that_delivers(office: Site) -> None:
    made = create(office)
    assert made.status_code == 201, made.text
    assert made.headers["location"] == f"{SCHEDULES}/mondays"
    told = made.json()
    assert (told["owner"], told["state"], told["written_by"]) == ("ada", "active", "other")
    assert told["time_zone"] == "Europe/Berlin"
    assert [one["person"] or one["group"] for one in told["recipients"]] == ["bob", "sales"]

    read = ask(office, "GET", f"{SCHEDULES}/mondays")
    assert (read.json(), read.headers["etag"]) == (told, made.headers["etag"])
    office.house.dispatch(office.house.schedule("mondays").next_slot or MONDAY)
    assert len(office.house.history("mondays")) == 1


def test_who_may_make_one_and_for_whom(office: Site) -> None:
    refused = create(office, person="bob")
    assert (refused.status_code, refused.json()["code"]) == (403, "not_allowed")
    assert create(office, owner="fay").json()["code"] == "not_allowed"
    assert create(office, owner="ada").status_code == 201
    assert create(office, "fays", "eve", owner="fay").json()["owner"] == "fay"
    taken = create(office, person="fay")
    assert (taken.status_code, taken.json()["code"]) == (409, "name_taken")
    with office.house.backends.database.across.read() as connection:
        told = connection.execute(
            sa.text("SELECT via, action, attempted FROM audit_events WHERE via = 'api'")
        )
        events = sorted((row.action, row.attempted or "") for row in told)
    assert events == [
        ("refused", "schedule_created"),
        ("refused", "schedule_created"),
        ("schedule_created", ""),
        ("schedule_created", ""),
    ]


def test_every_fault_is_told_at_once_at_its_place(office: Site) -> None:
    wrong = DEFINITION | {
        "cron": "99 * * * *",
        "format": "docx",
        "values": {"region": "r9", "no": 1},
        "recipients": ["bob", "zed", {"group": "none"}, {"outside": "x"}, 7, "bob"],
        "starts_on": "soon",
        "more": 1,
        "skip_empty": "no",
    }
    answer = create(office, "Not a name", **wrong)
    assert set(faults(answer)) == {
        "/name",
        "/cron",
        "/format",
        "/values/region",
        "/values/no",
        "/recipients/1",
        "/recipients/2",
        "/recipients/3",
        "/recipients/4",
        "/recipients/5",
        "/starts_on",
        "/more",
        "/skip_empty",
    }
    assert answer.json()["code"] == "invalid_definition"


def test_what_is_no_definition_is_refused(office: Site) -> None:
    not_definitions: tuple[object, ...] = ([], "x", 1, True, {})
    for definition in not_definitions:
        assert faults(ask(office, "POST", SCHEDULES, json=definition)), definition
    assert ask(office, "POST", SCHEDULES, json=None).status_code == 422
    assert ask(office, "POST", SCHEDULES, content=b"\xff").status_code == 422
    assert faults(change(office, "weekly", [], "*")) == [""]


def test_what_no_database_keeps_is_a_fault(office: Site) -> None:
    deep: Any = []
    for _ in range(60):
        deep = [deep]
    for odd in ('"a\\u0000b"', '"\\ud800"', "NaN", "1e999", "9" * 200):
        sent = '{"name": "odd", "title": ODD, "values": {"\\ud800": 1, "region": ODD}}'
        answer = ask(
            office,
            "POST",
            SCHEDULES,
            content=sent.replace("ODD", odd),
            headers={"Content-Type": "application/json"},
        )
        assert {"/title", "/values", "/values/region"} <= set(faults(answer)), odd
    assert faults(create(office, values={"region": deep}))
    many = create(office, recipients=["bob"] * 6_000)
    assert any("more than 5000 values" in one["message"] for one in many.json()["faults"])
    broken = ask(
        office, "POST", SCHEDULES, content="{", headers={"Content-Type": "application/json"}
    )
    assert broken.status_code == 422


def test_a_source_that_one_may_not_open_looks_as_if_it_were_not_there(office: Site) -> None:
    forbidden = create(office, query="salaries", values={})
    unknown = create(office, query="payments", values={})
    assert faults(forbidden) == faults(unknown) == ["/query"]
    assert forbidden.text.replace("salaries", "payments") == unknown.text
    # An administrator, who sets it up for others, is told who cannot.
    assert faults(create(office, "x", "eve", query="salaries", values={}, owner="fay")) == [
        "/owner"
    ]


def test_what_is_read_can_be_sent_back_and_outside_addresses_stay(office: Site) -> None:
    made = create(office, recipients=["bob", OUTSIDE])
    assert made.status_code == 201, made.text
    assert "partner.example" not in made.text
    told = made.json()
    same = change(office, "mondays", told["definition"], made.headers["etag"])
    assert same.status_code == 200, same.text
    assert (same.json(), same.headers["etag"]) == (told, made.headers["etag"])

    edited = told["definition"] | {"title": "Edited", "last_day": False}
    changed = change(office, "mondays", edited, made.headers["etag"])
    assert changed.json()["title"] == "Edited"
    assert changed.json()["recipients"] == told["recipients"]
    assert changed.headers["etag"] != made.headers["etag"]
    # What is left out is the default again.
    shorter = {key: edited[key] for key in ("title", "query", "cron", "format", "recipients")}
    third = change(office, "mondays", shorter, changed.headers["etag"]).json()
    assert (third["values"], third["owner"]) == ({}, "ada")


def test_a_change_needs_what_was_read_and_nobody_writes_over_anothers(office: Site) -> None:
    tag = ask(office, "GET", WEEKLY).headers["etag"]
    definition = ask(office, "GET", WEEKLY).json()["definition"]
    missing = change(office, "weekly", definition, None)
    assert (missing.status_code, missing.json()["code"]) == (428, "if_match_required")
    for other in ('"x"', f"W/{tag}", "x", ""):
        stale = change(office, "weekly", definition | {"title": "Mine"}, other)
        assert (stale.status_code, stale.json()["code"]) == (412, "changed_meanwhile"), other
    done = change(office, "weekly", definition | {"title": "Mine"}, f'"x", {tag}')
    assert (done.status_code, done.json()["title"]) == (200, "Mine")
    assert change(office, "weekly", definition, tag).status_code == 412
    assert change(office, "weekly", definition | {"title": "Over"}, "*").status_code == 200
    # The owner is for transfer.
    assert faults(change(office, "weekly", definition | {"owner": "fay"}, "*")) == ["/owner"]


def test_what_moves_by_itself_does_not_change_the_tag_and_a_pause_does(office: Site) -> None:
    before = ask(office, "GET", WEEKLY)
    office.house.deliver(MONDAY)
    after = ask(office, "GET", WEEKLY)
    assert after.json()["next_slot"] != before.json()["next_slot"]
    assert after.headers["etag"] == before.headers["etag"]
    paused = ask(office, "POST", f"{WEEKLY}/pause", json={"reason": "Holidays."})
    assert paused.headers["etag"] != before.headers["etag"]
    assert ask(office, "GET", WEEKLY).headers["etag"] == paused.headers["etag"]


def test_of_two_who_change_what_they_have_read_one_wins(office: Site) -> None:
    read = ask(office, "GET", WEEKLY)
    definition = read.json()["definition"]
    together = threading.Barrier(2)
    answers: list[int] = []

    def write(title: str) -> None:
        together.wait()
        answers.append(
            change(
                office, "weekly", definition | {"title": title}, read.headers["etag"]
            ).status_code
        )

    threads = [threading.Thread(target=write, args=(title,)) for title in ("One", "Two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == [200, 412]


def test_a_file_does_not_overwrite_in_silence(office: Site) -> None:
    definition = ask(office, "GET", WEEKLY).json()["definition"]
    assert change(office, "weekly", definition | {"title": "Mine"}, "*").status_code == 200
    file = """\
workspace: {name: acme}
schedules:
  weekly: {title: Theirs, query: all-orders, owner: ada, cron: 0 8 * * 1, format: csv,
           time_zone: Europe/Berlin, recipients: [bob, dan, cyd]}
"""
    with pytest.raises(InvalidCatalog, match="written by somebody else"):
        office.house.apply(file)


def test_one_without_a_history_goes_and_one_with_a_history_ends(office: Site) -> None:
    tag = create(office).headers["etag"]
    path = f"{SCHEDULES}/mondays"
    assert ask(office, "DELETE", path).status_code == 428
    assert ask(office, "DELETE", path, headers={"If-Match": '"x"'}).status_code == 412
    assert ask(office, "DELETE", path, headers={"If-Match": tag}).status_code == 204
    assert ask(office, "GET", path).status_code == 404

    office.house.deliver(MONDAY)
    assert ask(office, "DELETE", WEEKLY, headers={"If-Match": "*"}).status_code == 204
    assert ask(office, "GET", WEEKLY).json()["state"] == "ended"
    again = ask(office, "DELETE", WEEKLY, headers={"If-Match": "*"})
    assert (again.status_code, again.json()["code"]) == (409, "schedule_ended")
    # Defined again, it goes on.
    definition = ask(office, "GET", WEEKLY).json()["definition"]
    assert change(office, "weekly", definition, "*").json()["state"] == "active"


def test_the_list_is_of_ones_own_and_of_all_for_an_administrator(office: Site) -> None:
    for name, person in (("b-one", "ada"), ("a-two", "fay"), ("c-three", "fay")):
        assert create(office, name, person).status_code == 201

    def listed(person: str, workspace: str = "acme") -> list[str]:
        names: list[str] = []
        cursor = None
        while True:
            query = {"limit": "2"} | ({"cursor": cursor} if cursor else {})
            page = ask(office, "GET", SCHEDULES, person, workspace=workspace, params=query).json()
            names += [one["schedule"] for one in page["schedules"]]
            cursor = page["next_cursor"]
            if cursor is None:
                return names

    assert listed("ada") == ["b-one", "weekly"]
    assert listed("fay") == ["a-two", "c-three"]
    assert listed("bob") == []
    assert listed("eve") == ["a-two", "b-one", "c-three", "weekly"]
    assert listed("ada", "globex") == []
    wrong = ask(office, "GET", SCHEDULES, params={"cursor": "WzFd"})
    assert (wrong.status_code, wrong.json()["code"]) == (422, "invalid_cursor")


VERBS = [
    ("GET", "", None),
    ("PUT", "", DEFINITION),
    ("DELETE", "", None),
    ("POST", "/pause", {"reason": "Why."}),
    ("POST", "/resume", None),
    ("POST", "/repin", {}),
    ("POST", "/transfer", {"to": "bob"}),
    ("POST", "/run-now", None),
    ("POST", "/test", None),
    ("GET", "/history", None),
    ("GET", "/preview", None),
    ("GET", "/recipients", None),
    ("POST", "/resubscribe", {"recipient": "bob"}),
]


def test_anothers_foreign_and_unknown_schedules_look_the_same_by_every_verb(office: Site) -> None:
    for method, verb, body in VERBS:

        def answer(
            path: str, person: str, workspace: str = "acme", how: Any = (method, verb, body)
        ) -> tuple[int, str]:
            method, verb, body = how
            told = ask(
                office,
                method,
                path + verb,
                person,
                workspace=workspace,
                json=body,
                headers={"If-Match": '"stale"'},
            )
            return told.status_code, told.text

        unknown = answer(NOBODYS, "fay")
        assert unknown[0] == 404, (verb, unknown)
        assert answer(WEEKLY, "fay") == unknown, verb
        assert answer(WEEKLY, "bob") == unknown, verb
        assert answer(WEEKLY, "ada", "globex") == unknown, verb
        for odd in ("%00", "%0A", "%ED%A0%80", "x" * 5_000, "%F0%9F%8E%89", "..%2f..%2fx", "%25"):
            told = answer(f"{SCHEDULES}/{odd}", "ada")
            assert told[0] == 404, (verb, odd, told)
    assert ask(office, "GET", WEEKLY).json()["state"] == "active"
