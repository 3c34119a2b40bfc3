"""What is done with a schedule by the API: pause, resume, repin, transfer, run now, test."""

from __future__ import annotations

import threading
from datetime import timedelta

import pytest
import sqlalchemy as sa

from queries_orchestration.settings import DELIVERY_LANE
from queries_orchestration_tests.house import MONDAY, WEEK
from queries_orchestration_tests.web.office import SCHEDULES, WEEKLY, ask, create, faults
from queries_orchestration_tests.web.site import Site


def test_pause_and_resume(office: Site) -> None:
    again = ask(office, "POST", f"{WEEKLY}/resume")
    assert (again.status_code, again.json()["code"]) == (409, "not_paused")
    for reason in ("", "   ", "two\nlines", "a\0b", "x" * 501, None):
        assert ask(office, "POST", f"{WEEKLY}/pause", json={"reason": reason}).status_code == 422
    paused = ask(office, "POST", f"{WEEKLY}/pause", json={"reason": "Holidays."}).json()
    assert (paused["state"], paused["pause_reason"]) == ("paused", "Holidays.")
    again = ask(office, "POST", f"{WEEKLY}/pause", json={"reason": "Once more."})
    assert (again.status_code, again.json()["code"]) == (409, "already_paused")
    office.house.clock.at = MONDAY + timedelta(hours=1)
    resumed = ask(office, "POST", f"{WEEKLY}/resume", "eve").json()
    assert resumed["state"] == "active"
    assert resumed["next_slot"] == (MONDAY + WEEK).isoformat().replace("+00:00", "Z")


def test_repin_takes_a_version_that_there_is_and_values_that_fit(office: Site) -> None:
    assert create(office).status_code == 201
    path = f"{SCHEDULES}/mondays/repin"
    unknown = ask(office, "POST", path, json={"version": 9})
    assert (unknown.status_code, unknown.json()["code"]) == (404, "not_found")
    for version in (0, 2**40, "x"):
        assert ask(office, "POST", path, json={"version": version}).status_code == 422
    for values in ({"region": "r9"}, {"no": 1}, {"region": "\0"}):
        assert ask(office, "POST", path, json={"values": values}).json()["code"] == "invalid_value"
    odd = ask(
        office,
        "POST",
        path,
        content='{"values": {"\\ud800": "\\ud800"}, "\\ud800": 1}',
        headers={"Content-Type": "application/json"},
    )
    assert odd.status_code == 422, odd.text
    moved = ask(office, "POST", path, json={"values": {"region": "r1"}})
    assert (moved.json()["values"], moved.json()["version"]) == ({"region": "r1"}, 1)


def test_transfer_gives_it_to_who_can_open_its_source(office: Site) -> None:
    path = f"{WEEKLY}/transfer"
    unknown = ask(office, "POST", path, json={"to": "zed"})
    assert (unknown.status_code, unknown.json()["code"]) == (404, "not_found")
    without = ask(office, "POST", path, json={"to": "bob"})
    assert (without.status_code, without.json()["code"]) == (403, "access_lost")
    own = ask(office, "POST", path, json={"to": "ada"})
    assert (own.status_code, own.json()["code"]) == (409, "already_owner")
    given = ask(office, "POST", path, json={"to": "fay", "reason": "Ada is on leave."})
    assert given.status_code == 204
    assert ask(office, "GET", WEEKLY).status_code == 404
    told = ask(office, "GET", WEEKLY, "fay").json()
    assert told["owner"] == "fay"
    assert [(one["from"], one["to"], one["by"], one["reason"]) for one in told["transfers"]] == [
        ("ada", "fay", "ada", "Ada is on leave.")
    ]


def test_the_same_click_is_one_run_and_another_needs_another_key(office: Site) -> None:
    click = {"Idempotency-Key": "click-1"}
    asked = {"reason": "The numbers were corrected."}
    first, again = (
        ask(office, "POST", f"{WEEKLY}/run-now", json=asked, headers=click) for _ in range(2)
    )
    assert first.status_code == again.status_code == 202
    assert first.json()["occurrence"] == again.json()["occurrence"]
    assert first.headers["location"] == f"/api/v1/occurrences/{first.json()['occurrence']}"
    assert (first.json()["reason"], first.json()["requested_by"]) == (asked["reason"], "ada")
    for verb, body in (("run-now", None), ("run-now", {"reason": "Others."}), ("test", None)):
        other = ask(office, "POST", f"{WEEKLY}/{verb}", json=body, headers=click)
        assert (other.status_code, other.json()["code"]) == (409, "client_key_reused"), verb
    assert ask(office, "POST", f"{WEEKLY}/run-now", "eve", headers=click).status_code == 403
    for key in ("", "k" * 201, "a\tb"):
        refused = ask(office, "POST", f"{WEEKLY}/run-now", headers={"Idempotency-Key": key})
        assert refused.status_code == 422, key
    assert len(office.house.history()) == 1
    assert office.house.work(DELIVERY_LANE) == ["delivered"]
    told = ask(office, "GET", first.headers["location"]).json()
    assert told["outcome"] == "delivered"
    assert {one["person"]: one["state"] for one in told["deliveries"]} == {
        "bob": "sent",
        "cyd": "sent",
        "dan": "skipped",
    }


def test_two_who_click_at_once_with_one_key_run_once(office: Site) -> None:
    together = threading.Barrier(2)
    keys: list[str] = []

    def click() -> None:
        together.wait()
        answer = ask(office, "POST", f"{WEEKLY}/run-now", headers={"Idempotency-Key": "one"})
        keys.append(answer.json().get("occurrence", answer.text))

    threads = [threading.Thread(target=click) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(keys)) == 1
    assert len(office.house.history()) == 1


def test_a_test_goes_to_the_caller_alone(office: Site) -> None:
    told = ask(office, "POST", f"{WEEKLY}/test").json()
    assert told["purpose"] == "test"
    assert office.house.work(DELIVERY_LANE) == ["delivered"]
    assert office.house.addressees() == ["ada@example.org"]


def test_refusals_are_recorded_with_what_was_asked_and_nothing_else(office: Site) -> None:
    for path in (WEEKLY, f"{SCHEDULES}/zed"):
        assert ask(office, "POST", f"{path}/run-now", "bob").status_code == 404
    with office.house.backends.database.across.read() as connection:
        rows = connection.execute(
            sa.text(
                "SELECT attempted, code, subject_kind, subject_id, person_id FROM audit_events"
                " WHERE action = 'refused'"
            )
        ).all()
    weekly, bob = office.house.schedule().id, office.house.person("bob")
    assert sorted(map(tuple, rows), key=str) == sorted(
        [
            ("run_launched", "not_found", "schedule", weekly, bob),
            ("run_launched", "not_found", "schedule", None, bob),
        ],
        key=str,
    )


@pytest.mark.parametrize("verb", ["pause", "repin", "transfer", "run-now"])
def test_an_unknown_key_of_a_body_is_refused(office: Site, verb: str) -> None:
    answer = ask(office, "POST", f"{WEEKLY}/{verb}", json={"surprise": 1})
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")


def test_an_ended_schedule_runs_no_more(office: Site) -> None:
    assert create(office, ends_on="2027-01-12").status_code == 201
    path = f"{SCHEDULES}/mondays"
    office.house.deliver(MONDAY + timedelta(days=14))
    assert ask(office, "GET", path).json()["state"] == "ended"
    answer = ask(office, "POST", f"{path}/run-now")
    assert (answer.status_code, answer.json()["code"]) == (409, "schedule_ended")
    assert faults(create(office, "never", starts_on="2027-01-12", ends_on="2027-01-13"))
