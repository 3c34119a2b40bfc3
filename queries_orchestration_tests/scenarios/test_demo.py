"""The demo, run once as a person runs it; its files are read by a reader that is not ours."""

from __future__ import annotations

import copy
import csv
import sqlite3
from contextlib import closing
from datetime import datetime, timedelta
from email import policy
from email.parser import BytesParser
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from python_calamine import CalamineWorkbook

from examples.demo_checks import check
from examples.flights_data import TABLE, are_current
from queries_orchestration_tests.scenarios.demo_run import Demo, run_demo

NEW_YORK = ZoneInfo("America/New_York")


def test_it_ends_with_every_outcome_it_promises(demo: Demo) -> None:
    assert demo.summary["outcomes"] == {"delivered": 9, "skipped_empty": 1, "failed": 1}
    assert (demo.summary["files"], demo.summary["messages"]) == (9, 17)
    assert demo.summary["recipients_by_state"] == {"sent": 17, "skipped": 2}
    assert len(demo.summary["checks"]) == 14
    assert set(demo.summary["checks"].values()) == {True}


def test_all_flights_of_the_public_data_set_are_in_the_source(demo: Demo) -> None:
    assert demo.summary["flights"] == 336_776
    counts = demo.flights("SELECT origin, count(*) FROM flights GROUP BY origin ORDER BY origin")
    assert counts == [("EWR", 120_835), ("JFK", 111_279), ("LGA", 104_662)]
    assert demo.flights("SELECT sum(cancelled), max(departure_delay) FROM flights") == [
        (8_255, 1_301)
    ]


def test_the_large_csv_file_holds_every_departure_of_its_airport_in_order(demo: Demo) -> None:
    with demo.file("new-york", "all-departures-jfk").open(
        encoding="utf-8-sig", newline=""
    ) as lines:
        rows = list(csv.DictReader(lines))
    expected = demo.flights(
        "SELECT scheduled_departure, flight FROM flights WHERE origin = 'JFK'"
        " ORDER BY scheduled_departure, id"
    )
    assert len(rows) == 111_279 == demo.occurrence("new-york", "all-departures-jfk")["file"]["rows"]
    found = [(datetime.fromisoformat(row["Scheduled departure"]), row["Flight"]) for row in rows]
    assert found == [(datetime.fromisoformat(instant), flight) for instant, flight in expected]


def test_the_excel_file_of_the_airlines_has_the_databases_own_averages(demo: Demo) -> None:
    heading, *rows = _sheet(demo.file("new-york", "airlines"))
    assert heading == ["Airline", "Flights", "Average minutes late", "Longest"]
    assert rows[0][0] == "Frontier Airlines Inc."
    assert rows[0][1:] == [682, pytest.approx(20.215543), 853]
    expected = demo.flights(
        "SELECT airline, count(*), avg(departure_delay), max(departure_delay) FROM flights"
        " WHERE NOT cancelled GROUP BY airline ORDER BY 3 DESC"
    )
    assert [tuple(row) for row in rows] == [
        (airline, flights, pytest.approx(average), longest)
        for airline, flights, average, longest in expected
    ]


def test_the_late_departures_are_those_of_the_month_before_the_slot(demo: Demo) -> None:
    one = demo.occurrence("new-york", "late-departures")
    this_month = (
        datetime.fromisoformat(one["slot"])
        .astimezone(NEW_YORK)
        .replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    )
    last_month = (this_month - timedelta(days=1)).replace(day=1)
    with demo.file("new-york", "late-departures").open(encoding="utf-8-sig", newline="") as lines:
        rows = list(csv.DictReader(lines))
    departures = [datetime.fromisoformat(row["Scheduled departure"]) for row in rows]
    assert all(last_month <= departure < this_month for departure in departures)
    late = [
        instant
        for (instant,) in demo.flights(
            "SELECT scheduled_departure FROM flights WHERE departure_delay >= 30"
        )
        if last_month <= datetime.fromisoformat(instant) < this_month
    ]
    assert len(rows) == len(late) > 100
    assert {row["From"] for row in rows} == {"EWR", "JFK", "LGA"}


def test_the_same_query_shows_ben_the_rows_of_newark_only(demo: Demo) -> None:
    with demo.file("new-york", "late-departures").open(encoding="utf-8-sig", newline="") as lines:
        of_newark = [row["Flight"] for row in csv.DictReader(lines) if row["From"] == "EWR"]
    _, *rows = _sheet(demo.file("new-york", "late-departures-newark"))
    assert {row[1] for row in rows} == {"EWR"}
    assert [row[4] for row in rows] == of_newark
    assert demo.occurrence("new-york", "late-departures-newark")["actor"] == "ben"


def test_an_empty_result_is_skipped_and_nobody_gets_a_message(demo: Demo) -> None:
    one = demo.occurrence("new-york", "a-day-late")
    assert (one["outcome"], one["file"]["rows"]) == ("skipped_empty", 0)
    assert [r for r in demo.summary["recipients"] if r["schedule"] == "a-day-late"] == []


def test_lost_access_fails_the_occurrence_and_pauses_its_schedule(demo: Demo) -> None:
    one = demo.occurrence("new-york", "destinations")
    assert (one["outcome"], one["code"], one["file"]) == ("failed", "access_lost", None)
    (paused,) = demo.summary["paused_schedules"]
    assert (paused["schedule"], paused["pause_code"]) == ("destinations", "access_lost")
    assert "has no access to the dataset departures" in paused["pause_reason"]


def test_a_paused_schedule_is_run_now_with_the_access_of_who_asks(demo: Demo) -> None:
    one = demo.run_now("new-york", "destinations")
    assert (one["outcome"], one["actor"], one["slot"]) == ("delivered", "ada", None)
    with Path(one["file"]["location"]).open(encoding="utf-8-sig", newline="") as lines:
        rows = [(row["To"], int(row["Flights"])) for row in csv.DictReader(lines)]
    assert sorted(rows) == demo.flights(
        "SELECT destination, count(*) FROM flights GROUP BY destination ORDER BY destination"
    )
    got = {r["person"]: r["state"] for r in demo.summary["recipients"] if r["via"] == "run-now"}
    assert got == {"clara": "sent", "fay": "sent"}


def test_a_file_that_ben_asks_for_has_his_rows_and_his_value(demo: Demo) -> None:
    export = demo.summary["export"]
    requested = datetime.fromisoformat(export["created_at"]).astimezone(NEW_YORK)
    this_month = requested.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    last_month = (this_month - timedelta(days=1)).replace(day=1)
    late = [
        (instant, flight)
        for instant, flight in demo.flights(
            "SELECT scheduled_departure, flight FROM flights"
            " WHERE departure_delay >= 120 AND origin = 'EWR' ORDER BY scheduled_departure, id"
        )
        if last_month <= datetime.fromisoformat(instant) < this_month
    ]
    with (demo.folder / "asked-for.csv").open(encoding="utf-8-sig", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert len(rows) == len(late) == export["rows"] > 10
    assert [row["Flight"] for row in rows] == [flight for _, flight in late]
    assert export["values"]["minutes"] == 120
    assert Path(export["out"]) == demo.folder / "asked-for.csv"


def test_the_history_says_why_two_recipients_got_nothing(demo: Demo) -> None:
    got = {
        one["person"]: (one["state"], one["code"], one["message_file"] is not None)
        for one in demo.summary["recipients"]
        if one["schedule"] == "all-departures-jfk"
    }
    assert got == {
        "clara": ("sent", None, True),
        "dan": ("skipped", "inactive", False),
        "erik": ("skipped", "no_address", False),
    }


def test_the_other_workspace_sees_its_own_rows_on_its_own_clock(demo: Demo) -> None:
    with demo.file("berlin", "hawaii").open(encoding="utf-8-sig", newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert len(rows) == 707
    assert {row["Abflug"][-6:] for row in rows} == {"+01:00", "+02:00"}
    assert demo.file("berlin", "hawaii").parent != demo.file("new-york", "airlines").parent


def test_each_message_goes_to_its_recipient_alone_with_a_link_of_its_own(demo: Demo) -> None:
    messages = {}
    for one in demo.summary["recipients"]:
        if one["state"] == "sent":
            with Path(one["message_file"]).open("rb") as content:
                message = BytesParser(policy=policy.default).parse(content)
            body = message.get_body(preferencelist=("plain",))
            assert body is not None
            (link,) = [line for line in body.get_content().splitlines() if "/d/" in line]
            messages[link] = (one["workspace"], one["person"], message["To"].addresses)
    mailbox = [path.name for path in (demo.folder / "mailbox").glob("*.eml")]
    # Its owner and an administrator are told of the schedule that was paused.
    assert sum(name.startswith("notice.paused.") for name in mailbox) == 2
    assert len(messages) == 17 == len(mailbox) - 2
    domains = {"new-york": "example.org", "berlin": "example.com"}
    for workspace, person, addresses in messages.values():
        own = f"{person}@{domains[workspace]}" if person else "rezeption@hotel.example"
        assert [address.addr_spec for address in addresses] == [own]


def test_what_is_printed_says_where_files_and_messages_lie_and_what_comes_next(demo: Demo) -> None:
    delivered = [one for one in demo.summary["occurrences"] if one["outcome"] == "delivered"]
    for place in (
        *(one["file"]["location"] for one in delivered),
        *(one["message_file"] for one in demo.summary["recipients"] if one["message_file"]),
        str(demo.folder / "summary.json"),
        str(demo.folder / "asked-for.csv"),
    ):
        assert place in demo.printed
    for words in ("skipped: inactive", "skipped: no_address", "access_lost", "make dev"):
        assert words in demo.printed


@pytest.mark.parametrize(
    ("schedule", "change", "noticed"),
    [
        ("all-departures-jfk", {"outcome": "failed"}, "a CSV file with every departure from JFK"),
        ("airlines", {"file": None}, "an Excel file of the airlines by average delay"),
        ("late-departures-newark", {"outcome": "failed"}, "the same query gave Ben"),
        ("a-day-late", {"outcome": "delivered"}, "an empty result was skipped"),
        ("destinations", {"code": "source_broken"}, "an owner's lost access paused"),
        ("hawaii", {"outcome": "no_recipients"}, "the other workspace got its own file"),
        ("on-time", {"outcome": "failed"}, "a report was delivered as PDF"),
        ("on-time-workbook", {"file": None}, "the same report was delivered as a workbook"),
        ("on-time-newark", {"actor": "ada"}, "Ben's report shows Newark only"),
    ],
)
def test_it_notices_what_did_not_come_out(
    demo: Demo, schedule: str, change: dict[str, Any], noticed: str
) -> None:
    summary = copy.deepcopy(demo.summary)
    (one,) = (
        one
        for one in summary["occurrences"]
        if (one["schedule"], one["via"]) == (schedule, "recurrence")
    )
    one |= change
    unmet = [name for name, met in check(summary, demo.source).items() if not met]
    assert [name[: len(noticed)] for name in unmet] == [noticed]


@pytest.mark.parametrize(
    ("person", "change", "noticed"),
    [
        ("dan", {"state": "sent"}, {"two recipients were skipped", "each recipient who"}),
        ("erik", {"code": None}, {"two recipients were skipped"}),
        ("jonas", {"message_file": None}, {"each recipient who"}),
        ("Hotel Aloha", {"state": "uncertain"}, {"a group and an outside", "each recipient who"}),
    ],
)
def test_it_notices_a_recipient_who_got_something_else(
    demo: Demo, person: str, change: dict[str, Any], noticed: set[str]
) -> None:
    summary = copy.deepcopy(demo.summary)
    (one,) = (one for one in summary["recipients"] if one["name"] == person)
    one |= change
    unmet = [name for name, met in check(summary, demo.source).items() if not met]
    assert len(unmet) == len(noticed)
    assert all(name.startswith(tuple(noticed)) for name in unmet)


@pytest.mark.parametrize(
    ("part", "change", "noticed"),
    [
        ("run_now", {"outcome": "failed"}, "Ada ran the paused schedule now"),
        ("run_now", {"actor": "fay"}, "Ada ran the paused schedule now"),
        ("export", {"rows": 1}, "Ben fetched the file"),
        ("export", {"requested_by": "ada"}, "Ben fetched the file"),
    ],
)
def test_it_notices_what_was_asked_for_and_did_not_come(
    demo: Demo, part: str, change: dict[str, Any], noticed: str
) -> None:
    summary = copy.deepcopy(demo.summary)
    (run,) = (one for one in summary["occurrences"] if one["via"] == "run-now")
    (run if part == "run_now" else summary["export"]).update(change)
    unmet = [name for name, met in check(summary, demo.source).items() if not met]
    assert [name[: len(noticed)] for name in unmet] == [noticed]


def test_make_dev_keeps_the_source_unless_its_columns_are_others(
    demo: Demo, tmp_path: Path
) -> None:
    other = tmp_path / "flights.db"
    assert are_current(demo.source)
    assert not are_current(other)

    with closing(sqlite3.connect(other)) as database:
        database.execute(TABLE.replace("status TEXT NOT NULL,", ""))

    assert not are_current(other)


def test_a_folder_that_no_demo_made_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    done = run_demo("--into", str(tmp_path))
    assert done.returncode == 1
    assert "was not made by the demo" in done.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["mine.txt"]


def _sheet(file: Path) -> list[list[Any]]:
    return CalamineWorkbook.from_path(file).get_sheet_by_index(0).to_python()
