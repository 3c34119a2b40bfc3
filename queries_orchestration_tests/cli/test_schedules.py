"""``queries schedules``: look, pause, resume, repin, preview."""

from __future__ import annotations

from datetime import datetime

import pytest

from queries_orchestration.model.clock import system_clock
from queries_orchestration_tests.cli.conftest import Call, Place
from queries_orchestration_tests.house import CATALOG, House

WITH_PARAMETER = CATALOG.replace(
    "fields: [{field: id, label: Order}, {field: region, label: Region}, {field: amount}]",
    "fields: [{field: id}]\n"
    "    filters: [{field: region, op: eq, value: {parameter: region}}]\n"
    "    parameters: [{name: region, type: text, required: false}]",
)
VERBS = ("show", "pause", "resume", "repin", "preview")


def test_they_are_listed_with_state_next_slot_and_version(house: House, call: Call) -> None:
    house.apply(WITH_PARAMETER)

    (one,) = call(house.environment, "schedules", "list", "--json").json()["schedules"]

    assert one == {
        "workspace": "acme",
        "schedule": "weekly",
        "title": "Weekly orders",
        "state": "active",
        "pause_code": None,
        "pause_reason": None,
        "paused_at": None,
        "next_slot": "2027-01-04T07:00:00+00:00",
        "failure_streak": 0,
        "cron": "0 8 * * 1",
        "time_zone": "Europe/Berlin",
        "last_day": False,
        "starts_on": None,
        "ends_on": None,
        "source": "all-orders",
        "kind": "query",
        "version": 1,
        "current_version": 2,
        "values": {},
        "format": "csv",
        "owner": "ada",
        "recipients": [
            {"person": name, "outside": None, "title": title, "group": None}
            for name, title in (("bob", "Bob Buyer"), ("dan", "Dan Gone"), ("cyd", "Cyd Clerk"))
        ],
        "unsubscribed": [],
        "skip_empty": False,
        "missed_slots": "latest",
        "lateness_limit": None,
        "written_by": "file",
    }
    assert call(house.environment, "schedules", "show", "weekly", "--json").json() == one
    text = call(house.environment, "schedules", "list").out.splitlines()
    assert " ".join(text[1].split()) == "weekly active 2027-01-04 08:00 CET all-orders 1 of 2 ada"
    shown = call(house.environment, "schedules", "show", "weekly").out
    assert "recipients    bob, dan, cyd\n" in shown
    assert "next          2027-01-04 08:00 CET\n" in shown


def test_pause_and_resume_go_there_and_back(house: House, call: Call) -> None:
    paused = call(
        house.environment, "schedules", "pause", "weekly", "--reason", "holiday", "--json"
    ).json()
    told = call(house.environment, "schedules", "show", "weekly").out
    twice = call(house.environment, "schedules", "pause", "weekly")
    resumed = call(house.environment, "schedules", "resume", "weekly", "--json").json()

    assert (paused["state"], paused["pause_code"], paused["pause_reason"]) == (
        "paused",
        "paused",
        "holiday",
    )
    assert (paused["next_slot"], paused["written_by"]) == (None, "other")
    assert "reason        paused: holiday\n" in told
    assert (twice.status, twice.err) == (
        2,
        "already_paused: It is paused already, with paused: holiday\n",
    )
    assert (resumed["state"], resumed["pause_code"]) == ("active", None)
    next_slot = datetime.fromisoformat(resumed["next_slot"])
    assert next_slot > system_clock()
    assert (next_slot - house.schedule().created_at).total_seconds() % 60 == 0
    assert call(house.environment, "schedules", "resume", "weekly").err == (
        "not_paused: The schedule is not paused.\n"
    )


def test_repin_moves_to_a_version_with_values(house: House, call: Call) -> None:
    house.apply(WITH_PARAMETER)
    repin = ("schedules", "repin", "weekly", "--json")

    moved = call(house.environment, *repin, "--set", "region=r1").json()
    kept = call(house.environment, *repin).json()
    refused = call(house.environment, *repin, "--version", "1")
    back = call(house.environment, *repin, "--version", "1", "--no-values").json()

    assert (moved["version"], moved["values"]) == (2, {"region": "r1"})
    assert kept == moved
    assert (refused.status, refused.refusal()["code"]) == (2, "invalid_value")
    assert (back["version"], back["values"]) == (1, {})
    both = call(house.environment, *repin, "--set", "region=r1", "--no-values")
    assert both.refusal()["code"] == "usage"


@pytest.mark.parametrize("verb", VERBS)
def test_an_unknown_schedule_or_workspace_is_told_so(
    verb: str, small_house: House, call: Call
) -> None:
    unknown = call(small_house.environment, "schedules", verb, "nothing")
    elsewhere = call(small_house.environment, "schedules", verb, "weekly", "--workspace", "x")

    assert (unknown.status, elsewhere.status) == (2, 2)
    assert unknown.err == (
        "not_found: There is no schedule 'nothing' in the workspace 'acme';"
        " `queries schedules list` lists them all.\n"
    )
    assert elsewhere.err == "not_found: There is no workspace 'x'.\n"


def test_the_next_slots_of_a_schedule_are_shown_by_its_clocks_and_in_utc(
    house: House, call: Call
) -> None:
    told = call(
        house.environment,
        *("schedules", "preview", "weekly", "--after", "2027-03-15T00:00Z", "--count", "3"),
    )

    assert told.out == (
        "LOCAL TIME                 UTC\n"
        "Mon 2027-03-15 08:00 CET   2027-03-15 07:00 UTC\n"
        "Mon 2027-03-22 08:00 CET   2027-03-22 07:00 UTC\n"
        "Mon 2027-03-29 08:00 CEST  2027-03-29 06:00 UTC\n"
    )


def test_a_bare_rule_needs_no_database_and_shows_what_clock_changes_do(
    place: Place, call: Call
) -> None:
    rule = ("schedules", "preview", "--time-zone", "Europe/Berlin", "--cron")

    spring = call(
        place.environment, *rule, "30 2 * * *", "--after", "2027-03-27T12:00Z", "--count", "1"
    )
    autumn = call(
        place.environment,
        *(*rule, "30 * * * *", "--after", "2027-10-31T00:00Z", "--count", "2", "--json"),
    ).json()

    assert spring.out.splitlines()[1] == (
        "Sun 2027-03-28 03:30 CEST  2027-03-28 01:30 UTC  02:30 does not exist on that day"
    )
    assert autumn == {
        "cron": "30 * * * *",
        "time_zone": "Europe/Berlin",
        "slots": [
            {
                "slot": "2027-10-31T00:30:00+00:00",
                "local": "2027-10-31T02:30:00+02:00",
                "named": "2027-10-31T02:30:00",
                "reading": "first_of_two",
            },
            {
                "slot": "2027-10-31T01:30:00+00:00",
                "local": "2027-10-31T02:30:00+01:00",
                "named": "2027-10-31T02:30:00",
                "reading": "second_of_two",
            },
        ],
    }
    assert not place.home.exists()


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--cron", "0 0 30 2 *", "--time-zone", "UTC"], "invalid_recurrence"),
        (["--cron", "* * * * *", "--time-zone", "UTC"], "invalid_recurrence"),
        (["--cron", "0 8 * * 1", "--time-zone", "CET"], "unknown_time_zone"),
        (["--cron", "0 8 * * 1"], "usage"),
        (["weekly", "--cron", "0 8 * * 1", "--time-zone", "UTC"], "usage"),
        ([], "usage"),
        (["--cron", "0 8 * * 1", "--time-zone", "UTC", "--after", "2027-01-01"], "usage"),
        (["weekly"], "not_initialised"),
    ],
)
def test_a_preview_that_makes_no_sense_is_refused(
    words: list[str], code: str, place: Place, call: Call
) -> None:
    refused = call(place.environment, "schedules", "preview", *words, "--json")

    assert (refused.status, refused.refusal()["code"]) == (2, code)
