"""``queries history``: both forms, on both databases."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from queries_orchestration_tests.cli.conftest import Call, Place
from queries_orchestration_tests.house import CATALOG, MONDAY, WEEK, House

NO_ORDERS = """\
workspace: {name: acme}
schedules:
  empty:
    title: Orders of nobody
    query: no-orders
    owner: ada
    cron: 0 8 * * 1
    time_zone: America/New_York
    format: xlsx
    skip_empty: true
    recipients: [bob]
"""
ADA_LEFT = """\
workspace: {name: acme}
people:
  ada: {title: Ada Owner, address: ada@example.org, roles: [author], active: false}
"""


def test_each_slot_is_told_with_what_each_recipient_got(house: House, call: Call) -> None:
    assert house.deliver(MONDAY) == ["delivered"]
    (occurrence,) = house.history()

    told = call(house.environment, "history", "weekly", "--json").json()

    export = house.export(occurrence.key)
    assert export.completed_at is not None
    (one,) = told["occurrences"]
    got = {delivery.pop("person"): delivery for delivery in one.pop("deliveries")}
    assert {person: (what["state"], what["code"]) for person, what in got.items()} == {
        "bob": ("sent", None),
        "cyd": ("sent", None),
        "dan": ("skipped", "inactive"),
    }
    assert {message["Message-ID"] for message in house.messages()} == {
        got["bob"]["message_id"],
        got["cyd"]["message_id"],
    }
    (attempt,) = one.pop("attempts")
    assert (attempt["receive"], attempt["run"], attempt["code"]) == (1, "test", None)
    assert attempt["started_at"] <= attempt["ended_at"]
    file = one.pop("file")
    assert Path(file["location"]).read_bytes() == house.file(occurrence.key)
    assert file == {
        "export": export.id,
        "format": "csv",
        "rows": 2_500,
        "size": len(house.file(occurrence.key)),
        "sha256": export.sha256,
        "location": file["location"],
        "expires_at": (MONDAY + timedelta(days=9)).isoformat(),
    }
    assert one == {
        "occurrence": occurrence.key,
        "workspace": "acme",
        "schedule": "weekly",
        "slot": "2027-01-04T07:00:00+00:00",
        "via": "recurrence",
        "purpose": "delivery",
        "resend_of": None,
        "requested_by": None,
        "reason": None,
        "admitted_at": "2027-01-04T07:00:00+00:00",
        "notices": [],
        "state": "settled",
        "outcome": "delivered",
        "code": None,
        "message": None,
        "actor": "ada",
        "receives": 1,
        "source_changed": False,
        "message_fault": None,
        "late_file": None,
        "settled_at": "2027-01-04T07:00:00+00:00",
    }
    assert told["schedules"] == [
        {
            "workspace": "acme",
            "schedule": "weekly",
            "state": "active",
            "pause_code": None,
            "pause_reason": None,
            "next_slot": "2027-01-11T07:00:00+00:00",
            "failure_streak": 0,
            "transfers": [],
            "months": [],
        }
    ]


def test_people_read_it_by_the_clocks_of_the_schedule(small_house: House, call: Call) -> None:
    small_house.apply(NO_ORDERS)
    small_house.deliver(MONDAY + timedelta(hours=6))
    (weekly,), (empty,) = small_house.history(), small_house.history("empty")

    told = call(small_house.environment, "history")

    assert (
        told.out
        == f"""\
acme/empty: Orders of nobody
  2027-01-11 08:00 EST  next
  2027-01-04 08:00 EST  skipped_empty     {empty.key}
      0 rows as xlsx for ada

acme/weekly: Weekly orders
  2027-01-11 08:00 CET  next
  2027-01-04 08:00 CET  delivered         {weekly.key}
      2,500 rows as csv for ada: bob sent, cyd sent, dan skipped (inactive)
"""
    )


def test_a_failure_tells_why_and_a_paused_schedule_what_to_do(
    small_house: House, call: Call
) -> None:
    small_house.apply(ADA_LEFT)
    small_house.deliver(MONDAY)
    (occurrence,) = small_house.history()

    told = call(small_house.environment, "history")
    machine = call(small_house.environment, "history", "--json").json()

    lines = told.out.splitlines()
    assert lines[0] == "acme/weekly: Weekly orders"
    assert lines[1].startswith("  paused with actor_inactive: ")
    assert "then resume the schedule." in " ".join(lines)
    assert f"  2027-01-04 08:00 CET  failed            {occurrence.key}" in lines
    assert any(line.startswith("      actor_inactive: ") for line in lines)
    assert machine["schedules"][0]["pause_code"] == "actor_inactive"
    assert machine["occurrences"][0]["code"] == "actor_inactive"


def test_a_mailbox_that_cannot_be_written_is_told_after_three_receives(
    small_house: House, call: Call
) -> None:
    (small_house.folder / "home").mkdir(exist_ok=True)
    (small_house.folder / "home" / "mailbox").write_text("in the way")
    for minute in range(3):
        small_house.deliver(MONDAY + timedelta(minutes=minute))

    told = call(small_house.environment, "history")

    text = " ".join(told.out.split())
    assert "failed" in text
    assert "for ada in 3 receives: bob unsent (communications_unavailable" in text
    assert "communications_unavailable: the mailbox folder" in text
    assert "example.org" not in text


def test_no_line_is_wider_than_a_terminal_and_no_address_is_shown(
    small_house: House, call: Call
) -> None:
    small_house.apply(NO_ORDERS)
    small_house.apply(ADA_LEFT)
    for week in range(3):
        small_house.deliver(MONDAY + week * WEEK)

    told = call(small_house.environment, "history")

    assert max(map(len, told.out.splitlines())) <= 100
    assert "@example.org" not in told.out


def test_each_entry_ends_with_its_runs_where_dagster_has_an_address(
    house: House, call: Call
) -> None:
    house.deliver(MONDAY)
    settings = {**house.environment, "QUERIES_DAGSTER_URL": "http://dagster.example.org:3000/"}

    told = call(settings, "history")

    assert told.out.endswith(
        "      receive 1 in Dagster: http://dagster.example.org:3000/runs/test\n"
    )
    assert "in Dagster" not in call(house.environment, "history").out


def test_the_newest_come_first_and_no_more_than_asked_for(house: House, call: Call) -> None:
    house.apply(f"{CATALOG}    missed_slots: all\n")
    house.dispatch(MONDAY + 3 * WEEK)

    told = call(house.environment, "history", "--limit", "2", "--json").json()

    assert [one["slot"] for one in told["occurrences"]] == [
        "2027-01-25T07:00:00+00:00",
        "2027-01-18T07:00:00+00:00",
    ]
    assert [one["state"] for one in told["occurrences"]] == ["waiting", "waiting"]


def test_two_workspaces_may_use_one_name(small_house: House, call: Call) -> None:
    small_house.apply(
        CATALOG.replace("name: acme", "name: zeta").replace("Weekly orders", "Theirs")
    )

    both = call(small_house.environment, "history", "weekly", "--json").json()
    text = call(small_house.environment, "history", "weekly")
    one = call(small_house.environment, "history", "weekly", "--workspace", "zeta", "--json").json()

    assert [plan["workspace"] for plan in both["schedules"]] == ["acme", "zeta"]
    assert [line for line in text.out.splitlines() if line and line[0] != " "] == [
        "acme/weekly: Weekly orders",
        "zeta/weekly: Theirs",
    ]
    assert [plan["workspace"] for plan in one["schedules"]] == ["zeta"]


def test_an_unknown_schedule_or_workspace_is_refused(small_house: House, call: Call) -> None:
    for words, message in (
        (["monthly"], "There is no schedule 'monthly'; `queries history` lists them all."),
        (["--workspace", "zeta"], "There is no workspace 'zeta'."),
        (["weekly", "--workspace", "zeta"], "There is no workspace 'zeta'."),
    ):
        refused = call(small_house.environment, "history", *words, "--json")
        assert refused.status == 2
        assert refused.refusal() == {"code": "not_found", "message": message}


@pytest.mark.parametrize("json", [[], ["--json"]])
def test_an_empty_house_is_no_fault(json: list[str], place: Place, call: Call) -> None:
    call(place.environment, "init")

    told = call(place.environment, "history", *json)

    assert told.status == 0
    if not json:
        assert told.out == "There are no schedules yet: `queries catalog apply` brings them in.\n"
