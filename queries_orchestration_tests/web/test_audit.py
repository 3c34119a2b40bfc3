"""The audit trail by the API."""

from __future__ import annotations

from datetime import timedelta

from queries_orchestration_tests.web.office import WEEKLY, ask
from queries_orchestration_tests.web.site import Site

AUDIT = "/api/v1/audit"


def test_an_administrator_reads_who_did_what_and_who_was_refused(office: Site) -> None:
    office.house.clock.at += timedelta(seconds=1)
    assert ask(office, "POST", f"{WEEKLY}/pause", json={"reason": "Why"}).status_code == 200
    assert ask(office, "POST", f"{WEEKLY}/resume", "bob").status_code == 404
    told = ask(office, "GET", AUDIT, "eve").json()["events"][:2]
    assert {
        (one["person"], one["via"], one["action"], one["attempted"], one["subject"], one["code"])
        for one in told
    } == {
        ("ada", "api", "schedule_paused", None, "weekly", None),
        ("bob", "api", "refused", "schedule_resumed", "weekly", "not_found"),
    }


def test_it_goes_on_by_its_cursor(office: Site) -> None:
    for _ in range(5):
        ask(office, "POST", f"{WEEKLY}/test")
        office.house.clock.at += timedelta(seconds=1)
    whole = ask(office, "GET", AUDIT, "eve").json()["events"]
    seen: list[str] = []
    cursor = None
    while True:
        query = {"limit": "2"} | ({"cursor": cursor} if cursor else {})
        page = ask(office, "GET", AUDIT, "eve", params=query).json()
        seen += [one["id"] for one in page["events"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert seen == [one["id"] for one in whole]
    assert len(seen) >= 5
