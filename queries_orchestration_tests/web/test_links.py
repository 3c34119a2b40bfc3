"""The links in messages, as whoever holds them opens them. Cases E02, E07, E10, E11, T02, T03."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from threading import Event
from time import monotonic
from typing import Any

import pytest
from httpx2 import Response

from queries_orchestration.model.link_keys import LinkKeys
from queries_orchestration.storage.local import LocalStorage
from queries_orchestration.store.database import Database
from queries_orchestration.web import link_route
from queries_orchestration.web.app import CLICK_THREADS
from queries_orchestration_tests.deliveries.wider_house import JANE, catalog, outside_of, token_to
from queries_orchestration_tests.downloads import put_file, recorded
from queries_orchestration_tests.house import CATALOG, MONDAY, WEEK, House
from queries_orchestration_tests.web.site import PUBLIC_URL, Site, open_site

BOB = "bob@example.org"


@pytest.fixture
def house(house: House) -> House:
    """The house after its first delivery, to bob and cyd, and to Jane outside."""
    house.apply(catalog(f"[bob, cyd, {JANE}]"))
    assert house.deliver(MONDAY) == ["delivered"]
    return house


def export_id(house: House) -> str:
    return house.export(house.history()[0].key).id


def shape(answer: Response) -> tuple[int, list[tuple[str, str]], bytes]:
    return answer.status_code, sorted(answer.headers.items()), answer.content


def test_a_click_leads_to_the_file_and_each_answered_get_is_a_download(site: Site) -> None:
    house, path = site.house, f"/d/{token_to(site.house, BOB)}"
    scanner = site.client.head(path)
    assert (scanner.status_code, scanner.content) == (302, b"")
    assert recorded(house, export_id(house)) == []

    for headers in (
        {},
        {"Range": "bytes=0-9"},
        {"Sec-Purpose": "prefetch", "Purpose": "prefetch", "X-Moz": "prefetch"},
    ):
        house.clock.at += timedelta(minutes=10)
        answer = site.client.get(path, headers=headers)
        assert (answer.status_code, answer.content) == (302, b"")
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["x-robots-tag"].startswith("noindex")
        assert "set-cookie" not in answer.headers
        location = answer.headers["location"]
        assert location.startswith(f"{PUBLIC_URL}/files/")
        part = site.client.get(location, headers=headers)
        assert part.status_code == (206 if "Range" in headers else 200)
        assert house.file(house.history()[0].key).startswith(part.content)
    downloads = recorded(house, export_id(house))
    assert [one.person_id for one in downloads] == [house.person("bob")] * 3
    assert site.client.get(scanner.headers["location"]).status_code == 410  # five minutes are over


def test_every_refusal_is_one_page_whatever_is_wrong(site: Site) -> None:
    house = site.house
    bobs, cyds, janes = (
        token_to(house, address) for address in (BOB, "cyd@example.org", "jane@partner.example")
    )
    unsubscribing = token_to(house, BOB, "u")
    stored = site.client.get(f"/d/{bobs}").headers["location"].rpartition("/")[2]
    refused = [
        site.client.get(f"/{kind}/{token}")
        for kind, token in (
            ("d", "made-up"),
            ("d", ""),
            ("d", "a/b/c"),
            ("d", "%00"),
            ("d", "%ff"),
            ("d", bobs[:-2]),
            ("d", "x" * 5_000),
            ("d", unsubscribing),
            ("d", stored),
            ("u", bobs),
            ("u", "made-up"),
            ("u", stored),
            ("files", bobs),
            ("files", unsubscribing),
            ("files", "made-up"),
            ("files", "%2e%2e/%2e%2e/etc/passwd"),
        )
    ]
    refused.append(site.client.post("/u/made-up"))
    refused.append(site.client.post("/u/made-up?everywhere=perhaps"))
    # Who is deactivated, and who is removed.
    house.apply(catalog("[bob]").replace(f"{BOB}, roles: [reader]", f"{BOB}, active: false"))
    refused += [site.client.get(f"/d/{token}") for token in (bobs, cyds, janes)]
    house.apply(catalog("[bob]"))
    assert site.client.get(f"/d/{bobs}").status_code == 302
    put_file(house, export_id(house), b"half")
    refused.append(site.client.get(f"/d/{bobs}"))
    house.clock.at = MONDAY + WEEK
    refused.append(site.client.get(f"/d/{bobs}"))
    refused.append(site.client.get(f"/files/{stored}"))

    assert {shape(one)[0] for one in refused} == {410}
    assert all(shape(one) == shape(refused[0]) for one in refused)
    assert "ask whoever" in refused[0].text
    assert "set-cookie" not in refused[0].headers
    heads = [site.client.head(f"/{kind}/{bobs}") for kind in ("d", "u", "files")]
    for head in heads:
        assert shape(head) == (410, shape(refused[0])[1], b"")
    assert len(recorded(house, export_id(house))) == 2


def test_a_resend_test_and_other_methods(site: Site) -> None:
    path = f"/d/{token_to(site.house, BOB)}"
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        assert site.client.request(method, path).status_code == 405
    assert recorded(site.house, export_id(site.house)) == []


def test_keys_rotate_and_what_was_mailed_works_on_until_its_key_is_taken_out(
    site: Site,
) -> None:
    house = site.house
    old, unsubscribing = token_to(house, BOB), token_to(house, BOB, "u")
    both = f"new:{'n' * 40},test:{'s' * 40}"
    with open_site(with_keys(house, both)) as rotated:
        answer = rotated.client.get(f"/d/{old}")
        assert answer.status_code == 302
        assert rotated.client.get(answer.headers["location"]).status_code == 200
        assert rotated.client.get(f"/u/{unsubscribing}").status_code == 200
        assert rotated.client.post(f"/u/{unsubscribing}").status_code == 200
    with open_site(with_keys(house, f"new:{'n' * 40}")) as later:
        refused = later.client.get("/d/made-up")
        for path in (f"/d/{old}", f"/u/{unsubscribing}"):
            assert shape(later.client.get(path)) == shape(refused)


def with_keys(house: House, text: str) -> House:
    keys = LinkKeys.parse(text)
    storage = LocalStorage(house.folder / "home" / "files", public_url=PUBLIC_URL, link_keys=keys)
    return house.with_backends(replace(house.backends, link_keys=keys, storage=storage))


def test_what_is_down_is_no_refusal_and_says_so(site: Site) -> None:
    house = site.house
    token, unsubscribing = token_to(house, BOB), token_to(house, BOB, "u")
    stored = site.client.get(f"/d/{token}").headers["location"].rpartition("/")[2]
    unreachable = Database("postgresql+psycopg2://nobody:secret@127.0.0.1:1/nothing")
    closed = house.with_backends(replace(house.backends, database=unreachable))
    with open_site(closed) as down:
        answers = [
            down.client.get(f"/d/{token}"),
            down.client.get(f"/u/{unsubscribing}"),
            down.client.post(f"/u/{unsubscribing}"),
        ]
        assert down.client.get("/d/made-up").status_code == 410
    files = house.folder / "home" / "files"
    files.rename(house.folder / "moved")
    files.write_bytes(b"no folder")
    answers += [site.client.get(f"/d/{token}"), site.client.get(f"/files/{stored}")]

    assert all(shape(one) == shape(answers[0]) for one in answers)
    assert answers[0].status_code == 503
    assert answers[0].headers["retry-after"] == "30"
    assert "try again" in answers[0].text
    assert len(recorded(house, export_id(house))) == 1


def test_while_clicks_wait_others_are_told_to_try_again_and_what_is_no_link_is_refused(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_route, "PATIENCE_SECONDS", 1.0)
    monkeypatch.setattr(link_route, "MOST_WAITING", CLICK_THREADS + 2)
    path, asked = f"/d/{token_to(site.house, BOB)}", Event()
    size = LocalStorage.size

    def slow(storage: LocalStorage, key: str) -> int | None:
        asked.wait(60)
        return size(storage, key)

    monkeypatch.setattr(LocalStorage, "size", slow)

    def click(number: int) -> float:
        begun = monotonic()
        answer = site.client.request("HEAD" if number % 2 else "GET", path)
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "30")
        return monotonic() - begun

    try:
        with ThreadPoolExecutor(CLICK_THREADS + 6) as people:
            took = list(people.map(click, range(CLICK_THREADS + 6)))
            assert len([one for one in took if one > 0.9]) == CLICK_THREADS + 2
            assert site.client.get("/d/made-up").status_code == 410
    finally:
        asked.set()
    assert site.client.get(path).status_code == 302


def test_looking_at_the_unsubscribe_page_changes_nothing_and_its_button_does(site: Site) -> None:
    house, path = site.house, f"/u/{token_to(site.house, BOB, 'u')}"
    page = site.client.get(path)
    assert page.status_code == 200
    assert "Weekly orders" in page.text
    assert '<form method="post">' in page.text
    assert 'name="List-Unsubscribe" value="One-Click"' in page.text
    assert "everywhere" not in page.text
    assert "set-cookie" not in page.headers
    assert site.client.head(path).content == b""
    assert outcomes_next_week(house, 1)["bob"] == "sent"

    for _ in range(2):  # as mail programs send it (RFC 8058)
        done = site.client.post(
            path,
            content="List-Unsubscribe=One-Click",
            headers={"Content-Type": "application/x-www-form-urlencoded"},
        )
        assert (done.status_code, "unsubscribed" in done.text) == (200, True)
    assert outcomes_next_week(house, 2)["bob"] == "unsubscribed"


def outcomes_next_week(house: House, weeks: int) -> dict[str, str]:
    assert house.deliver(MONDAY + weeks * WEEK) == ["delivered"]
    rows = house.deliveries(house.history()[-1].key)
    return {name: row.code or row.state for name, row in rows.items()}


def test_an_outside_address_may_leave_everything_by_a_button_of_its_own(site: Site) -> None:
    house = site.house
    path = f"/u/{token_to(house, 'jane@partner.example', 'u')}"
    page = site.client.get(path)
    assert 'action="?everywhere=true"' in page.text
    assert "all of Acme" in page.text
    assert site.client.post(f"{path}?everywhere=true").status_code == 200
    assert outside_of(house, "jane@partner.example").unsubscribed_at == MONDAY


def test_titles_are_text_in_the_page_whatever_they_hold(house: House) -> None:
    title = "<script>alert(1)</script>{{ 7*7 }}"
    house.apply(CATALOG.replace("title: Weekly orders", f'title: "{title}"'))
    with open_site(house) as site:
        page = site.client.get(f"/u/{token_to(house, BOB, 'u')}")
    assert "<script" not in page.text
    assert "{{ 7*7 }}" in page.text
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "frame-ancestors 'none'" in policy


def limited(house: House, **limits: Any) -> House:
    settings = replace(house.backends.settings, **limits)
    return house.with_backends(replace(house.backends, settings=settings))


def test_a_link_and_an_address_that_ask_too_often_wait(house: House) -> None:
    token = token_to(house, BOB)
    ask: list[Callable[[Site], Any]] = [
        lambda site: site.client.get(f"/d/{token}"),
        lambda site: site.client.head(f"/d/{token}"),
    ]
    with open_site(limited(house, link_requests_per_token=3)) as site:
        answers = [ask[number % 2](site) for number in range(5)]
        assert [one.status_code for one in answers] == [302, 302, 302, 429, 429]
        assert 1 <= int(answers[-1].headers["retry-after"]) <= 120
        assert "wait a moment" in answers[-1].text or answers[-1].content == b""
        assert site.client.get("/d/another").status_code == 410
        # A token that is made up is counted as one that is right.
        made_up = [site.client.get("/d/another").status_code for _ in range(4)]
        assert made_up == [410, 410, 429, 429]
    assert len(recorded(house, export_id(house))) == 2
    with open_site(limited(house, link_requests_per_address=3)) as site:
        told = [site.client.get(f"/{kind}/x{kind}").status_code for kind in "du"]
        told += [site.client.get(f"/files/{number}").status_code for number in range(3)]
        assert told == [410, 410, 410, 429, 429]


def test_failed_sign_ins_are_limited_and_a_valid_token_is_served_nevertheless(
    house: House,
) -> None:
    with open_site(limited(house, failed_sign_ins_per_address=2)) as site:
        path = "/api/v1/exports"
        wrong = {"Authorization": "Bearer x"}
        told = [site.client.get(path, headers=headers) for headers in (wrong, {}, wrong, {})]
        assert [one.status_code for one in told] == [401, 401, 429, 429]
        assert told[-1].json()["code"] == "too_many_requests"
        assert told[-1].headers["retry-after"] == str(told[-1].json()["retry_after"])
        assert site.client.get(path, headers=site.as_("ada")).status_code == 200


@pytest.fixture
def site(house: House) -> Iterator[Site]:
    with open_site(house) as opened:
        yield opened
