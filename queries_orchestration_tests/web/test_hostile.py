"""What is sent to harm: to hold others up, to learn what is theirs, to change it, to break us."""

from __future__ import annotations

import json
from typing import Any

import jwt
import pytest
import sqlalchemy as sa

from queries_orchestration_tests.web.office import SCHEDULES, WEEKLY, ask, change, create, faults
from queries_orchestration_tests.web.site import KEY, PUBLIC_URL, Site

EXPORTS = "/api/v1/exports"
KIB = 1024


def test_a_form_is_small_and_what_is_wrong_with_it_is_told_a_hundred_times_at_most(
    office: Site,
) -> None:
    many = {f"k{number}": 1 for number in range(10_000)}
    answer = ask(office, "POST", EXPORTS, json={"source": "x", "format": "csv"} | many)
    assert (answer.status_code, len(answer.json()["faults"])) == (422, 1)
    answer = ask(office, "POST", SCHEDULES, json={"name": "x"} | many)
    assert (answer.status_code, len(answer.json()["faults"])) == (422, 100)
    assert len(answer.content) < 64 * KIB
    for path, most in ((SCHEDULES, 256), (EXPORTS, 1024), ("/api/v1/catalog/apply", 8192)):
        for chunked in (False, True):
            body = b" " * (most * KIB + 1)
            sent: Any = iter([body]) if chunked else body
            headers = {"Content-Type": "text/yaml" if "catalog" in path else "application/json"}
            answer = ask(office, "POST", path, "eve", content=sent, headers=headers)
            assert (answer.status_code, answer.json()["code"]) == (413, "too_large"), path


def test_an_address_is_not_told_whose_it_is(office: Site) -> None:
    def told(person: str, address: str) -> list[str]:
        answer = create(office, "x", person, owner="ada", recipients=[{"address": address}])
        assert answer.status_code == 422, answer.text
        return [fault["message"] for fault in answer.json()["faults"]]

    of_somebody = told("ada", "eve@example.org")
    assert of_somebody == told("ada", "nobody@example.org")
    assert "eve" not in str(of_somebody)
    assert "`eve`" in str(told("eve", "eve@example.org"))


def test_a_known_outside_address_keeps_its_name_whoever_else_names_it(office: Site) -> None:
    named = {"address": "vip@partner.example", "name": "Dr. V"}
    assert create(office, "hers", recipients=[named]).status_code == 201
    tag = ask(office, "GET", f"{SCHEDULES}/hers").headers["etag"]
    renamed = named | {"name": "Somebody else"}
    assert create(office, "mine", "fay", recipients=[renamed]).status_code == 201
    after = ask(office, "GET", f"{SCHEDULES}/hers")
    assert after.headers["etag"] == tag
    assert after.json()["recipients"][0]["title"] == "Dr. V"
    # An administrator may.
    assert create(office, "all", "eve", owner="ada", recipients=[renamed]).status_code == 201
    told = ask(office, "GET", f"{SCHEDULES}/hers").json()["recipients"]
    assert told[0]["title"] == "Somebody else"


@pytest.mark.parametrize("day", ["0001-01-01", "1899-12-31", "9999-12-31"])
@pytest.mark.parametrize("key", ["starts_on", "ends_on"])
def test_a_day_beyond_all_calendars_is_a_fault(office: Site, day: str, key: str) -> None:
    assert create(office, **{key: day}).status_code == 422
    rule = {"cron": "0 8 * * 1", key: day}
    assert ask(office, "GET", "/api/v1/recurrences/preview", params=rule).status_code == 422
    assert ask(office, "POST", f"{WEEKLY}/pause", json={"reason": "Why"}).status_code == 200
    shown = ask(office, "GET", WEEKLY)
    definition = shown.json()["definition"] | {key: day}
    assert change(office, "weekly", definition, shown.headers["etag"]).status_code == 422


def test_offsets_that_once_had_seconds_are_told(office: Site) -> None:
    rule = {"cron": "0 0 * * *", "time_zone": "Africa/Monrovia", "after": "1960-01-01T00:00:00Z"}
    answer = ask(office, "GET", "/api/v1/recurrences/preview", params=rule)
    assert answer.status_code == 200
    assert answer.json()["slots"][0]["local"].startswith("1960-01-0")


@pytest.mark.parametrize("path", ["pause", "transfer", "repin", "run-now"])
def test_keys_too_many_are_one_fault(office: Site, path: str) -> None:
    many = {f"k{number}": 1 for number in range(10_000)}
    answer = ask(office, "POST", f"{WEEKLY}/{path}", json=many)
    assert (answer.status_code, len(answer.json()["faults"])) == (422, 1)


@pytest.mark.parametrize(
    "reason", ["a\0b", "a\nb", "x" * 501, "\ufeff", " \u200b", "\U000e0001", "a\u202eb", "\u2066"]
)
def test_a_reason_is_one_line(office: Site, reason: str) -> None:
    for path in (f"{WEEKLY}/pause", f"{WEEKLY}/run-now"):
        assert ask(office, "POST", path, json={"reason": reason}).status_code == 422
    assert office.house.history() == []
    assert office.house.schedule().state == "active"


@pytest.mark.parametrize("name", ["a\0", "\ud800", "a\nb"])
def test_a_name_in_a_token_is_one_line(office: Site, name: str) -> None:
    claims = {"aud": "queries", "exp": 9e9, "sub": name, "workspace": "acme"}
    token = jwt.encode(claims, KEY, algorithm="HS256")
    answer = office.client.get(EXPORTS, headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == 401


@pytest.mark.parametrize(
    "media_type",
    ["multipart/form-data; boundary=x; charset=undefined", "multipart/form-data", "text/plain", ""],
)
def test_a_form_of_another_kind_is_no_form_of_ours(office: Site, media_type: str) -> None:
    headers = {"Origin": PUBLIC_URL, "Content-Type": media_type}
    answer = office.client.post("/sign-in", headers=headers, content=b"--y\r\n")
    assert answer.status_code < 500
    assert "form_refused" in answer.text


def test_a_form_is_taken_from_our_own_address_alone(office: Site) -> None:
    headers = {"Origin": "https://evil.example", "Host": "evil.example"}
    answer = office.client.post("/sign-in", headers=headers, data={"token": "x"})
    assert "form_refused" in answer.text


def test_who_is_refused_an_export_is_recorded_with_its_source(office: Site) -> None:
    ask(office, "POST", EXPORTS, "fay", json={"source": "salaries", "format": "csv"})
    with office.house.backends.database.across.read() as connection:
        (event,) = connection.execute(
            sa.text(
                "SELECT subject_id, code FROM audit_events"
                " WHERE action = 'refused' AND attempted = 'export_asked'"
            )
        ).all()
    assert event.subject_id is not None
    assert event.code in ("access_lost", "field_not_available")


def test_a_recipient_without_an_address_is_a_fault(office: Site) -> None:
    assert faults(create(office, recipients=[{"address": None}]))


@pytest.mark.parametrize("path", ["/d/token", "/u/token", "/files/token"])
def test_no_page_at_a_links_address_loads_anything_or_tells_it(office: Site, path: str) -> None:
    for method in ("PUT", "DELETE", "PATCH"):
        answer = office.client.request(method, path)
        assert answer.status_code == 405
        assert answer.headers["allow"]
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert "/static/" not in answer.text


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        (EXPORTS, {"GET", "POST"}),
        (f"{EXPORTS}/{'a' * 26}", {"GET"}),
        ("/u/token", {"GET", "HEAD", "POST"}),
        ("/d/token", {"GET", "HEAD"}),
    ],
)
def test_a_method_that_a_path_does_not_take_is_answered_with_those_it_takes(
    office: Site, path: str, allowed: set[str]
) -> None:
    answer = office.client.request("PATCH", path)
    assert answer.status_code == 405
    assert set(answer.headers["allow"].split(", ")) == allowed


def test_an_unsubscribe_links_query_may_be_anything(office: Site) -> None:
    plain = office.client.post("/u/token")
    odd = office.client.post("/u/token?everywhere=foo")
    assert (odd.status_code, odd.text) == (plain.status_code, plain.text)


def test_a_slash_too_many_leads_nowhere(office: Site) -> None:
    answer = ask(office, "GET", f"{EXPORTS}/", headers={"Host": "evil.example"})
    assert answer.status_code == 404
    assert json.loads(answer.text)["code"] == "not_found"
