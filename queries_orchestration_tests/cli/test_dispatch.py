"""``queries dispatch``: the switch, and how loudly `tick` and `check` speak of it."""

from __future__ import annotations

import json

from queries_orchestration_tests.cli.conftest import Call
from queries_orchestration_tests.house import MONDAY, House

DEMO = {"QUERIES_DEMO": "1"}
WHO = ("--by", "root", "--reason", "Too much mail.")


def test_it_is_stopped_shown_and_started(house: House, call: Call) -> None:
    before = call(house.environment, "dispatch", "show", "--json").json()
    stopped = call(house.environment, "dispatch", "stop", *WHO, "--json").json()
    twice = call(house.environment, "dispatch", "stop", *WHO)
    shown = call(house.environment, "dispatch", "show")
    started = call(
        house.environment, "dispatch", "start", "--by", "eve", "--reason", "It is well.", "--json"
    ).json()

    assert before == {"stopped": False, "stops": []}
    assert (stopped["stopped"], stopped["stops"][0]["stopped_by"]) == (True, "root")
    assert (twice.status, twice.err.split(":")[0]) == (2, "already_stopped")
    assert "by root: Too much mail." in shown.out
    assert started["stopped"] is False
    assert started["stops"][0]["start_reason"] == "It is well."
    told = call(house.environment, "dispatch", "show").out
    assert told.startswith("Dispatching goes on.\n")
    assert "by eve: It is well." in told


def test_who_and_why_must_be_said(small_house: House, call: Call) -> None:
    assert call(small_house.environment, "dispatch", "stop", "--by", "root").status == 2
    blank = call(small_house.environment, "dispatch", "stop", "--by", " ", "--reason", "x")
    assert (blank.status, blank.err.split(":")[0]) == (2, "incomplete_stop")


def test_tick_and_check_say_so_loudly_and_name_what_waits(house: House, call: Call) -> None:
    environment = {**house.environment, **DEMO}
    house.dispatch(MONDAY)
    call(environment, "dispatch", "stop", *WHO)

    told = call(environment, "tick", "--at", MONDAY.isoformat())
    document = json.loads(call(environment, "tick", "--at", MONDAY.isoformat(), "--json").out)
    found = call(environment, "check")

    assert told.status == 0
    assert "dispatch_stopped: All dispatching is stopped since" in told.err
    assert document["stopped"]["reason"] == "Too much mail."
    assert found.status == 1
    assert found.out.startswith("dispatch_stopped: All dispatching is stopped since")


def test_work_does_nothing_while_it_is_stopped(small_house: House, call: Call) -> None:
    environment = {**small_house.environment, **DEMO}
    small_house.dispatch(MONDAY)
    call(environment, "dispatch", "stop", *WHO)

    told = call(environment, "tick", "--work", "--at", MONDAY.isoformat(), "--json").json()

    assert (told["admitted"], told["worked"]) == (0, [])
    assert small_house.history()[0].outcome is None


def test_what_waits_for_the_start_says_so(small_house: House, call: Call) -> None:
    small_house.clock.at = MONDAY
    small_house.ask_export()
    call(small_house.environment, "dispatch", "stop", *WHO)

    told = call(small_house.environment, "tick", "--json").json()

    (waiting,) = [one for one in told["waiting"] if "export" in one]
    assert waiting["why"] == "all dispatching to be started again (`queries dispatch start`)"
