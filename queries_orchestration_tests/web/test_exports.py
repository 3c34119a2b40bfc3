"""Exports by the API."""

from __future__ import annotations

from datetime import timedelta

import pytest

from queries_orchestration.settings import EXPORT_LANE
from queries_orchestration_tests.web.site import Site

EXPORTS = "/api/v1/exports"
ASKED = {"source": "all-orders", "format": "csv"}


def start(site: Site, **more: object) -> str:
    answer = site.client.post(EXPORTS, json=ASKED | more, headers=site.as_("ada"))
    assert answer.status_code == 202, answer.text
    export: str = answer.json()["export"]
    return export


def test_an_export_is_started_followed_and_downloaded(site: Site) -> None:
    export = start(site)
    told = site.client.get(f"{EXPORTS}/{export}", headers=site.as_("ada"))
    assert (told.status_code, told.json()["state"]) == (200, "queued")

    site.house.work(EXPORT_LANE)
    told = site.client.get(f"{EXPORTS}/{export}", headers=site.as_("ada"))
    assert (told.json()["state"], told.json()["rows"]) == ("ready", told.json()["rows_done"])
    answer = site.client.get(f"{EXPORTS}/{export}/file", headers=site.as_("ada"))
    assert answer.status_code == 302
    assert answer.headers["location"].startswith("https://queries.example.org/files/")


def test_the_same_click_twice_is_one_export(site: Site) -> None:
    headers = site.as_("ada") | {"Idempotency-Key": "click-1"}
    first, second = (site.client.post(EXPORTS, json=ASKED, headers=headers) for _ in range(2))
    assert first.json()["export"] == second.json()["export"]
    other = site.client.post(EXPORTS, json=ASKED | {"format": "xlsx"}, headers=headers)
    assert (other.status_code, other.json()["code"]) == (409, "client_key_reused")


def test_what_one_may_not_open_looks_as_if_it_were_not_there(site: Site) -> None:
    forbidden = site.client.post(EXPORTS, json=ASKED, headers=site.as_("bob"))
    unknown = site.client.post(EXPORTS, json=ASKED | {"source": "no-such"}, headers=site.as_("bob"))
    assert (forbidden.status_code, unknown.status_code) == (404, 404)
    assert forbidden.json() == {
        key: value.replace("no-such", "all-orders") if isinstance(value, str) else value
        for key, value in unknown.json().items()
    }
    assert forbidden.headers["content-type"] == "application/problem+json"


def test_the_list_goes_on_by_its_cursor_without_loss_or_repetition(site: Site) -> None:
    made = []
    for _ in range(5):
        made.append(start(site))
        site.house.clock.at += timedelta(seconds=len(made) % 2)  # some at one moment
    seen: list[str] = []
    cursor = None
    while True:
        query = {"limit": "2"} | ({"cursor": cursor} if cursor else {})
        page = site.client.get(EXPORTS, params=query, headers=site.as_("ada")).json()
        seen += [one["export"] for one in page["exports"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert len(seen) == 5
    assert set(seen) == set(made)


@pytest.mark.parametrize("cursor", ["x", "e30", "WzFd", "WyIyMDI3LTAxLTA0IiwgMV0", "%00"])
def test_a_cursor_that_is_none_of_ours_is_refused(site: Site, cursor: str) -> None:
    answer = site.client.get(EXPORTS, params={"cursor": cursor}, headers=site.as_("ada"))
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_cursor")


@pytest.mark.parametrize("verb", ["get", "cancel", "file"])
def test_anothers_and_unknown_exports_look_the_same(site: Site, verb: str) -> None:
    export = start(site)

    def ask(which: str) -> tuple[int, str]:
        path = f"{EXPORTS}/{which}" + ("" if verb == "get" else f"/{verb}")
        method = "POST" if verb == "cancel" else "GET"
        answer = site.client.request(method, path, headers=site.as_("cyd"))
        return answer.status_code, answer.text

    assert ask(export) == ask("no-such-export") == ask("%00")
    assert ask(export)[0] == 404
