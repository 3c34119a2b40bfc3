"""``queries tick`` without ``--work``: what is due, what waits, and what it refuses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from queries_orchestration.model.clock import system_clock
from queries_orchestration.store import claims, dispatchers
from queries_orchestration_tests.cli.conftest import Call, Place
from queries_orchestration_tests.house import MONDAY, WEEK, House

DEMO = {"QUERIES_DEMO": "1"}


def test_it_admits_what_is_due_and_names_what_waits(house: House, call: Call) -> None:
    at = (MONDAY + WEEK).isoformat()
    first = call({**house.environment, **DEMO}, "tick", "--at", at, "--json").json()
    second = call({**house.environment, **DEMO}, "tick", "--at", at, "--json").json()

    missed, waiting = house.history()
    assert (missed.outcome, waiting.state) == ("missed", "waiting")
    assert first == {
        "at": at,
        "held_by": None,
        "stopped": None,
        "admitted": 1,
        "missed": 1,
        "recovered": 0,
        "worked": [],
        "exports": [],
        "waiting": [
            {
                "occurrence": waiting.key,
                "schedule": "weekly",
                "why": "an earlier slot of its schedule, or its turn",
                "until": None,
            }
        ],
    }
    assert second == {**first, "admitted": 0, "missed": 0}
    assert house.messages() == []


def test_people_read_slots_by_the_clocks_of_the_schedule(small_house: House, call: Call) -> None:
    environment = {**small_house.environment, **DEMO}

    told = call(environment, "tick", "--at", "2027-01-04T09:30:00+02:30")

    assert (
        told.out
        == """\
As of 2027-01-04 07:00 UTC: 1 admitted, 0 missed, 0 recovered.

Not settled yet:
  acme/weekly 2027-01-04 08:00 CET waits for an earlier slot of its schedule, or its turn
"""
    )


def test_without_an_instant_it_is_as_of_now(place: Place, call: Call) -> None:
    call(place.environment, "init")
    before = system_clock()

    told = call(place.environment, "tick", "--json").json()

    assert before <= datetime.fromisoformat(told["at"]) <= system_clock()


def test_a_future_instant_is_refused_outside_demo_mode(small_house: House, call: Call) -> None:
    soon = (system_clock() + timedelta(minutes=2)).isoformat()
    environment = dict(small_house.environment)

    for mode in ({}, {"QUERIES_DEMO": "0"}):
        refused = call(environment | mode, "tick", "--at", soon)
        assert (refused.status, refused.out) == (2, "")
        assert refused.err == (
            "future_instant: --at may not lie in the future: deliveries would go out early.\n"
        )
    assert small_house.history() == []
    assert call(environment | DEMO, "tick", "--at", soon).status == 0


def test_a_past_instant_needs_no_demo_mode(small_house: House, call: Call) -> None:
    past = datetime(2020, 1, 1, tzinfo=UTC).isoformat()

    told = call(small_house.environment, "tick", "--at", past, "--json").json()

    assert (told["at"], told["admitted"]) == (past, 0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("2027-01-04T08:00", "needs an offset, as in 2027-01-04T08:00+01:00"),
        ("2027-01-04", "needs an offset"),
        ("tomorrow", "is not an ISO 8601 instant"),
        ("1799046000", "is not an ISO 8601 instant"),
        ("2027-02-30T08:00Z", "is not an ISO 8601 instant"),
        ("0001-01-01T00:00+14:00", "is not between the years 1900 and 9000"),
        ("", "is not an ISO 8601 instant"),
    ],
)
def test_an_instant_without_an_offset_or_that_is_none_is_refused(
    text: str, said: str, small_house: House, call: Call
) -> None:
    refused = call({**small_house.environment, **DEMO}, "tick", "--at", text)

    assert refused.status == 2
    assert refused.err.startswith("usage: Invalid value for '--at': ")
    assert said in refused.err
    assert small_house.history() == []


@contextmanager
def _another_pass(house: House) -> Iterator[None]:
    with dispatchers.only_pass(house.backends.database) as alone:
        assert alone
        with house.backends.database.across.transaction() as connection:
            dispatchers.begin_pass(connection, dispatchers.DELIVERY_DISPATCHER, "process 7 on here")
        yield


def test_a_second_pass_ends_at_once_and_says_who_holds_the_first(house: House, call: Call) -> None:
    with _another_pass(house):
        held = call(house.environment, "tick", "--json")
        assert held.status == 1
        assert held.refusal() == {
            "code": "pass_held",
            "message": "Another dispatcher pass is at work: process 7 on here. Try again.",
        }
    assert call(house.environment, "tick").status == 0


def test_a_second_pass_that_is_to_work_too_works_what_may_start(house: House, call: Call) -> None:
    environment = {**house.environment, **DEMO}
    call(environment, "tick", "--at", MONDAY.isoformat())
    with _another_pass(house):
        at = (MONDAY + WEEK).isoformat()
        told = call(environment, "tick", "--at", at, "--work", "--json").json()
        text = call(environment, "tick", "--at", at, "--work")

    assert (told["held_by"], told["admitted"]) == ("process 7 on here", 0)
    assert [one["outcome"] for one in told["worked"]] == ["delivered"]
    assert text.status == 0
    assert (
        "Another dispatcher pass was at work, and admits what is due: process 7 on here.\n"
        in text.out
    )
    assert [one.outcome for one in house.history()] == ["delivered"]


def test_what_waits_is_named_with_why_and_until(small_house: House, call: Call) -> None:
    environment = {**small_house.environment, "QUERIES_HEARTBEAT_SILENCE": "600"}
    patient = replace(small_house.backends.settings, offer_lease=600)
    backends = replace(small_house.backends, settings=patient)
    (offer,) = small_house.with_backends(backends).dispatch(MONDAY).offers

    (offered,) = call(environment, "tick", "--json").json()["waiting"]
    with small_house.backends.database.across.transaction() as connection:
        receive = claims.start(
            connection,
            offer.workspace_id,
            offer.key,
            offer_number=offer.number,
            run_id="test",
        )
    assert receive is not None
    (running,) = call(environment, "tick", "--json").json()["waiting"]
    with small_house.backends.database.across.transaction() as connection:
        claims.wait_again(connection, receive, code="source_unavailable", delay=60)
    (again,) = call(environment, "tick", "--json").json()["waiting"]
    text = call(environment, "tick", "--work")

    assert offered["why"] == "the run it was offered to"
    assert running["why"] == "its worker, or the worker's heartbeat to fall silent"
    assert again["why"] == "its next receive"
    now = system_clock()
    for one, seconds in ((offered, 600), (running, 600), (again, 60)):
        left = datetime.fromisoformat(one["until"]) - now
        assert timedelta(seconds=seconds - 10) < left <= timedelta(seconds=seconds)
    # Nothing may start now, so no lane was started either.
    assert "waits for its next receive, until 2" in text.out
    assert text.err == ""
    assert not (small_house.folder / "home" / "delivery.log").exists()


def test_without_keys_nothing_is_admitted_that_could_not_be_sent(
    small_house: House, call: Call
) -> None:
    environment = {**small_house.environment, **DEMO}
    del environment["QUERIES_LINK_KEYS"]

    refused = call(environment, "tick", "--at", MONDAY.isoformat(), "--work")

    assert refused.status == 2
    assert refused.err.startswith("invalid_settings: There are no keys to sign links.")
    assert small_house.history() == []
