"""Occurrences by the API: one, the history, the next slots, recipients, a resend."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from queries_orchestration.deliveries.unsubscribe import record_unsubscription
from queries_orchestration.model.audit import By
from queries_orchestration_tests.deliveries.test_resend import BOB, _with_faults
from queries_orchestration_tests.house import MONDAY, SET_UP, WEEK
from queries_orchestration_tests.web.office import SCHEDULES, WEEKLY, ask, create
from queries_orchestration_tests.web.site import Site

OCCURRENCES = "/api/v1/occurrences"


def test_history_goes_on_by_its_cursor_the_newest_first(office: Site) -> None:
    for week in range(3):
        office.house.deliver(MONDAY + week * WEEK)
    office.house.clock.at = MONDAY + 3 * WEEK - timedelta(days=1)
    for _ in range(2):  # admitted at one moment
        assert ask(office, "POST", f"{WEEKLY}/run-now").status_code == 202
    seen: list[str] = []
    cursor: str | None = None
    while True:
        query = {"limit": "2"} | ({"cursor": cursor} if cursor else {})
        page = ask(office, "GET", f"{WEEKLY}/history", params=query).json()
        seen += [one["occurrence"] for one in page["occurrences"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    every = sorted(office.house.history(), key=lambda one: (one.admitted_at, one.key), reverse=True)
    assert seen == [one.key for one in every]
    assert len(seen) == 5


def test_an_occurrence_tells_what_each_got_and_no_address(office: Site) -> None:
    create(office, recipients=["bob", {"address": "jane@partner.example"}])
    slot = office.house.schedule("mondays").next_slot
    assert slot is not None
    office.house.deliver(slot)
    (occurrence,) = office.house.history("mondays")
    answer = ask(office, "GET", f"{OCCURRENCES}/{occurrence.key}")
    told = answer.json()
    assert told["outcome"] == "delivered"
    assert "@partner" not in answer.text
    assert "bob@" not in answer.text
    file = ask(office, "GET", f"/api/v1/exports/{told['file']['export']}/file")
    assert file.status_code == 302


def test_anothers_foreign_and_unknown_occurrences_look_the_same(office: Site) -> None:
    office.house.deliver(MONDAY)
    (occurrence,) = office.house.history()

    def answer(key: str, person: str, workspace: str = "acme") -> list[tuple[int, str]]:
        told = [
            ask(office, method, f"{OCCURRENCES}/{key}{verb}", person, workspace=workspace)
            for method, verb in (("GET", ""), ("POST", "/resend"))
        ]
        return [(one.status_code, one.text) for one in told]

    unknown = answer("nothing", "ada")
    assert [status for status, _ in unknown] == [404, 404]
    for person in ("bob", "fay"):
        assert answer(occurrence.key, person) == unknown
    assert answer(occurrence.key, "ada", "globex") == unknown
    for odd in ("%00", "%ED%A0%80", "x" * 5_000, "%F0%9F%8E%89", f"{occurrence.key}%00"):
        assert answer(odd, "ada") == unknown, odd


def test_a_resend_goes_to_who_was_not_reached_once(office: Site) -> None:
    house = office.house
    assert _with_faults(house, refused={BOB}).deliver(MONDAY) == ["delivered_partly"]
    (origin,) = house.history()
    path = f"{OCCURRENCES}/{origin.key}/resend"
    assert ask(office, "POST", path, json={"reason": "a\0b"}).status_code == 422
    first = ask(office, "POST", path, json={"reason": "The mailbox is back."})
    assert first.status_code == 202, first.text
    assert first.json()["resend_of"] == origin.key
    assert ask(office, "POST", path, "eve").status_code == 403  # may not open the source
    assert ask(office, "POST", path).json()["occurrence"] == first.json()["occurrence"]
    assert house.deliver(MONDAY + timedelta(hours=1)) == ["delivered"]
    done = ask(office, "POST", path)
    assert (done.status_code, done.json()["code"]) == (409, "nothing_to_resend")


def test_recipients_and_who_may_have_messages_again(office: Site) -> None:
    house = office.house
    with house.backends.database.across.transaction() as connection:
        record_unsubscription(
            connection,
            house.workspace_id,
            schedule_id=house.schedule().id,
            recipient_id=house.person("bob"),
            by=By(via="link", person_id=house.person("bob")),
            at=SET_UP,
        )
    answer = ask(office, "GET", f"{WEEKLY}/recipients")
    assert [one["person"] for one in answer.json()["recipients"]] == ["bob", "dan", "cyd"]
    assert [one["person"] for one in answer.json()["unsubscribed"]] == ["bob"]
    assert "@" not in answer.text

    path = f"{WEEKLY}/resubscribe"
    refused = ask(office, "POST", path, json={"recipient": "bob"})
    assert (refused.status_code, refused.json()["code"]) == (403, "not_allowed")
    for odd in ("zed", "\0", "bob@example.org"):
        assert ask(office, "POST", path, "eve", json={"recipient": odd}).status_code == 404
    assert ask(office, "POST", path, "eve", json={"recipient": "bob"}).status_code == 204
    again = ask(office, "POST", path, "eve", json={"recipient": "bob"})
    assert (again.status_code, again.json()["code"]) == (409, "not_unsubscribed")


def test_the_next_slots_of_a_schedule_and_of_a_rule(office: Site) -> None:
    told = ask(office, "GET", f"{WEEKLY}/preview", params={"count": "2"}).json()
    assert [one["slot"][:10] for one in told["slots"]] == ["2027-01-04", "2027-01-11"]
    rule = "/api/v1/recurrences/preview"
    asked: dict[str, Any] = {"cron": "30 2 * * *", "after": "2027-03-27T12:00:00+00:00", "count": 1}
    (slot,) = ask(office, "GET", rule, params=asked).json()["slots"]
    assert (slot["reading"], slot["named"][11:16], slot["local"][11:16]) == (
        "gap",
        "02:30",
        "03:30",
    )


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ({"cron": "x"}, "invalid_recurrence"),
        ({"cron": "0 8 * * 1", "time_zone": "Mars/Base"}, "unknown_time_zone"),
        ({"cron": "0 8 * * 1", "time_zone": "\0"}, "unknown_time_zone"),
        ({"cron": "0 8 30 2 *"}, None),
        ({"cron": "0 8 * * 1", "after": "2027-01-01T00:00:00"}, "invalid_request"),
        ({"cron": "0 8 * * 1", "after": "9999-12-31T23:59:59Z"}, "invalid_request"),
        ({"cron": "0 8 * * 1", "after": "0001-01-01T00:00:00+14:00"}, "invalid_request"),
        ({"cron": "0 8 * * 1", "count": "101"}, "invalid_request"),
        ({"cron": "0 8 * * 1", "starts_on": "9999-12-31"}, None),
        ({"cron": "0 8 * * 1", "starts_on": "2028-01-01", "ends_on": "2027-01-01"}, None),
        ({}, "invalid_request"),
    ],
)
def test_a_rule_that_is_none_or_comes_no_more(
    site: Site, asked: dict[str, str], code: str | None
) -> None:
    answer = ask(site, "GET", "/api/v1/recurrences/preview", params=asked)
    if code is None and answer.status_code == 200:
        assert answer.json()["slots"] == []
    else:
        assert answer.status_code == 422, answer.text
        assert code is None or answer.json()["code"] == code


def test_a_schedule_of_another_workspace_has_no_history_here(office: Site) -> None:
    assert ask(office, "GET", f"{SCHEDULES}/weekly/history", workspace="globex").status_code == 404
