"""``queries retention`` and ``queries erase-person``: told first, done when it is said."""

from __future__ import annotations

from datetime import timedelta

import pytest
import sqlalchemy as sa

from queries_orchestration.exports.expire import expire_files
from queries_orchestration.model.clock import system_clock
from queries_orchestration_tests.cli.conftest import Call
from queries_orchestration_tests.deliveries.wider_house import execute
from queries_orchestration_tests.house import House
from queries_orchestration_tests.retention.retained import NOTHING
from queries_orchestration_tests.retention.test_files import stray


@pytest.fixture
def old_house(small_house: House) -> House:
    """The small house, whose one delivery is two years old today."""
    today = system_clock()
    small_house.clock.at = today - timedelta(days=737)
    small_house.apply(
        "workspace: {name: acme}\n"
        "schedules:\n  daily: {title: Daily, query: all-orders, owner: ada, cron: 0 12 * * *,"
        " time_zone: UTC, format: csv, recipients: [bob, cyd]}\n"
    )
    with small_house.backends.database.across.transaction() as connection:
        connection.execute(sa.text("UPDATE schedules SET next_slot = NULL, state = 'ended'"))
        connection.execute(
            sa.text("UPDATE schedules SET next_slot = :at, state = 'active' WHERE name = 'daily'"),
            {"at": (today - timedelta(days=730)).isoformat(timespec="microseconds")[:26] + "Z"},
        )
    small_house.deliver(today - timedelta(days=730))
    small_house.clock.at = today - timedelta(days=700)
    expire_files(small_house.backends)
    small_house.clock.at = today
    return small_house


def test_it_counts_first_and_removes_when_it_is_told(old_house: House, call: Call) -> None:
    told = call(old_house.environment, "retention", "--json").json()
    assert told["removed"] is False
    counted = {one["kind"]: one["count"] for one in told["found"]}
    assert counted == NOTHING | {"occurrences": 1, "audit_events": 2}
    assert len(old_house.history("daily")) == 1

    told = call(old_house.environment, "retention", "--do", "--json").json()
    assert told["removed"] is True
    assert {one["kind"]: one["count"] for one in told["found"]} == counted
    assert old_house.history("daily") == []

    (told,) = call(old_house.environment, "history", "daily", "--json").json()["schedules"]
    (month,) = told["months"]
    assert (month["outcome"], month["occurrences"], month["sent"]) == ("delivered", 1, 2)
    assert month["month"] == f"{system_clock() - timedelta(days=730):%Y-%m}"
    lines = call(old_house.environment, "history", "daily").out
    assert f"{month['month']}, past its age: 1 delivered, 2 sent" in lines


def test_people_are_told_which_files_do_not_match(old_house: House, call: Call) -> None:
    key = stray(old_house, at=system_clock() - timedelta(days=3))
    answer = call(old_house.environment, "retention")
    assert answer.status == 0
    lines = [line.split() for line in answer.out.splitlines()]
    assert ["occurrences", "1"] in lines
    assert ["files_without_row", "1"] in lines
    assert f"files_without_row: {key}" in answer.out
    assert "queries retention --do" in answer.out


def test_what_cannot_be_looked_at_is_told_and_ends_with_one(old_house: House, call: Call) -> None:
    files = old_house.folder / "home" / "files"
    files.rename(old_house.folder / "elsewhere")
    files.write_text("no folder")
    answer = call(old_house.environment, "retention")
    assert answer.status == 1
    assert "files_without_row: storage_unavailable: " in answer.err
    assert ["occurrences", "1"] in [line.split() for line in answer.out.splitlines()]


def test_a_person_is_erased_when_it_is_told(old_house: House, call: Call) -> None:
    bob = old_house.person("bob")
    execute(old_house, "UPDATE people SET address = 'bob@example.org' WHERE name = 'cyd'")
    told = call(old_house.environment, "erase-person", "bob", "--json").json()
    assert told == {
        "erased": False,
        "id": bob,
        "is_person": True,
        "messages": 1,
        "also": ["cyd"],
    }
    assert old_house.person("bob") == bob
    assert "Nothing was changed" in call(old_house.environment, "erase-person", "bob").out

    answer = call(old_house.environment, "erase-person", "bob", "--do")
    assert answer.status == 0
    assert bob in answer.out
    assert "catalog files" in answer.out
    assert "that of cyd, too" in answer.out
    refusal = call(old_house.environment, "erase-person", "bob", "--do", "--json").refusal()
    assert refusal["code"] == "not_found"


def test_who_owns_schedules_is_not_erased(old_house: House, call: Call) -> None:
    refusal = call(old_house.environment, "erase-person", "ada", "--do", "--json").refusal()
    assert refusal["code"] == "owns_schedules"
