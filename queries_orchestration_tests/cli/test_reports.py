"""Reports through the command: exported, run now, delivered by a tick, told in the history."""

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest
import yaml
from pypdf import PdfReader
from python_calamine import CalamineWorkbook

from queries_orchestration.settings import MAX_RECEIVES, REPORT_LANE
from queries_orchestration_tests.cli.conftest import Call, Place, answer_of
from queries_orchestration_tests.cli.watched import children, wait_for_upload
from queries_orchestration_tests.house import MONDAY, House
from queries_orchestration_tests.report_house import (
    SALES,
    SCHEDULE,
    SECTIONS,
    build_report_house,
    rendering,
    report_catalog,
    waiting,
)

WORKBOOK = {**SCHEDULE, "format": "xlsx"}


@pytest.fixture
def report_place(place: Place, call: Call) -> Place:
    """A home with the report, as PDF and as workbook, both due at the same slot."""
    place.catalog.write_text(report_catalog(schedules={"as-workbook": WORKBOOK}))
    assert call(place.environment, "init").status == 0
    assert call(place.environment, "catalog", "apply", place.catalog).status == 0
    return place


@pytest.fixture
def report_house(tmp_path: Path, sqlite_template: Path) -> House:
    store = tmp_path / "store.db"
    store.write_bytes(sqlite_template.read_bytes())
    return build_report_house(tmp_path, f"sqlite:///{store}", f"sqlite:///{tmp_path / 'source.db'}")


def test_a_tick_renders_and_delivers_reports_in_both_lanes_at_once(
    report_place: Place, call: Call
) -> None:
    environment = report_place.environment
    schedules = call(environment, "schedules", "list", "--json").json()["schedules"]
    (slot,) = {one["next_slot"] for one in schedules}

    told = call(environment, "tick", "--at", slot, "--work", "--json").json()

    assert {one["schedule"]: one["outcome"] for one in told["worked"]} == {
        "weekly": "delivered",
        "as-workbook": "delivered",
    }
    assert [(one["source"], one["state"]) for one in told["exports"]] == [("sales", "ready")] * 2
    assert told["waiting"] == []
    history = call(environment, "history", "--json").json()["occurrences"]
    assert {one["receives"] for one in history} == {1}
    for one in history:
        assert one["file"]["rows"] == 7 + 101
        head = Path(one["file"]["location"]).read_bytes()[:4]
        assert head == (b"%PDF" if one["file"]["format"] == "pdf" else b"PK\x03\x04")


def test_a_render_whose_process_was_killed_is_found_again_while_its_delivery_waits(
    report_place: Place, call: Call
) -> None:
    environment = report_place.environment
    environment.update(
        QUERIES_HEARTBEAT_INTERVAL="0.5",
        QUERIES_HEARTBEAT_SILENCE="2",
        QUERIES_RETRY_DELAY="0.001",
    )
    schedules = call(environment, "schedules", "list", "--json").json()["schedules"]
    (slot,) = {one["next_slot"] for one in schedules}
    with closing(sqlite3.connect(report_place.folder / "shop.db", isolation_level=None)) as shop:
        shop.execute("BEGIN EXCLUSIVE")  # whoever reads the source waits
        command = report_place.start("tick", "--at", slot, "--work")
        wait_for_upload(report_place, command)
        (lane,) = [one for one in children(command.pid) if REPORT_LANE in _words_of(one)]
        os.kill(lane, signal.SIGKILL)
    killed = answer_of(command)

    assert killed.status == 1
    assert killed.err.splitlines()[-1].startswith(
        "lane_failed: The process of the report lane ended with status -9"
    )
    history = call(environment, "history", "--json").json()["occurrences"]
    assert [(one["outcome"], one["receives"]) for one in history] == [("delivered", 1)] * 2
    with closing(sqlite3.connect(report_place.home / "queries.db")) as store:
        renders = store.execute("SELECT receive_number FROM claims WHERE lane = 'report'")
        assert sorted(renders) == [(1,), (2,)]


def _words_of(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/cmdline").read_text().split("\0")


def test_run_now_renders_the_report_and_delivers_it(report_place: Place) -> None:
    answer = report_place.queries("run-now", "weekly", "--as", "ada", "--work", "--json")

    told = answer.json()
    assert (told["outcome"], told["via"], told["receives"]) == ("delivered", "run-now", 1)
    assert told["file"]["format"] == "pdf"
    assert {one["person"]: one["state"] for one in told["deliveries"]} == {
        "bob": "sent",
        "cyd": "sent",
        "dan": "skipped",
    }


@pytest.mark.parametrize("file_format", ["pdf", "xlsx"])
def test_a_report_is_exported_with_the_values_that_were_asked_for(
    report_place: Place, file_format: str
) -> None:
    out = report_place.folder / f"sales.{file_format}"
    words = ("--as", "ada", "--format", file_format, "--set", "at_least=2498", "--out", out)

    told = report_place.queries("export", "sales", *words, "--work", "--json").json()

    assert (told["source"], told["kind"], told["rows"]) == ("sales", "report", 7 + 3)
    assert told["values"] == {"at_least": 2_498}
    if file_format == "pdf":
        text = "".join(page.extract_text() for page in PdfReader(out).pages)
        assert "2,498" in text
        assert "2,497" not in text
    else:
        rows = CalamineWorkbook.from_path(out).get_sheet_by_name("Large orders").to_python()
        assert [row[0] for row in rows if row[1:2] and str(row[1]).startswith("r")][-3:] == [
            2_498,
            2_499,
            2_500,
        ]


def test_a_format_that_the_source_is_not_made_as_is_refused(
    report_place: Place, call: Call
) -> None:
    words = ("--as", "ada", "--no-wait", "--json")
    for source, file_format in (("sales", "csv"), ("all-orders", "pdf")):
        answer = call(report_place.environment, "export", source, "--format", file_format, *words)
        assert answer.status == 2
        assert answer.refusal()["code"] == "format_not_offered"
    assert call(report_place.environment, "exports", "list", "--as", "ada", "--json").json() == {
        "exports": []
    }


def test_the_history_says_that_the_report_changed_and_that_its_file_came_too_late(
    report_house: House, call: Call
) -> None:
    report_house.apply(
        yaml.safe_dump(
            {
                "workspace": {"name": "acme"},
                "reports": {"sales": {**SALES, "sections": SECTIONS[1:]}},
            }
        )
    )
    house = waiting(report_house)
    house.deliver(MONDAY)
    while house.claim(house.history()[0].key).receive_number < MAX_RECEIVES:
        house.work("delivery")
    house.clock.at = MONDAY.replace(hour=9, minute=30)
    house.work(REPORT_LANE)

    (told,) = call(house.environment, "history", "--json").json()["occurrences"]
    text = " ".join(call(house.environment, "history").out.split())

    assert (told["outcome"], told["code"]) == ("failed", "render_unfinished")
    assert told["source_changed"]
    assert told["late_file"] == {
        "export": house.export(told["occurrence"]).id,
        "completed_at": "2027-01-04T09:30:00+00:00",
        "state": "ready",
    }
    assert told["file"]["rows"] == 7 + 101
    assert "its source has changed since the schedule was set up" in text
    assert "its report was rendered later, at 2027-01-04 09:30 UTC, and is kept: export " in text


def test_a_delivery_in_time_has_no_late_file(report_house: House, call: Call) -> None:
    rendering(report_house).deliver(MONDAY)

    (told,) = call(report_house.environment, "history", "--json").json()["occurrences"]

    assert (told["outcome"], told["late_file"]) == ("delivered", None)
    assert not told["source_changed"]


def test_to_move_a_schedule_of_a_report_takes_its_change_as_seen(
    report_house: House, call: Call
) -> None:
    environment: Mapping[str, str] = report_house.environment
    report_house.apply(
        yaml.safe_dump(
            {
                "workspace": {"name": "acme"},
                "reports": {"sales": {**SALES, "sections": SECTIONS[1:]}},
            }
        )
    )
    told = call(environment, "schedules", "show", "weekly", "--json").json()
    assert (told["source"], told["kind"], told["version"], told["current_version"]) == (
        "sales",
        "report",
        1,
        2,
    )
    refused = call(environment, "schedules", "repin", "weekly", "--version", "1", "--json")
    assert refused.refusal()["code"] == "report_not_current"

    moved = call(environment, "schedules", "repin", "weekly", "--json").json()

    assert (moved["version"], moved["values"]) == (2, {"at_least": 2_400})
    rendering(report_house).deliver(MONDAY)
    assert not report_house.history()[0].source_changed
    shown = call(environment, "schedules", "show", "weekly").out
    assert "sales, version 2" in shown
    assert "if empty" not in shown


def test_a_schedule_whose_owner_lost_a_section_is_not_resumed(
    report_house: House, call: Call
) -> None:
    environment: Mapping[str, str] = report_house.environment
    assert call(environment, "schedules", "pause", "weekly").status == 0
    regions = yaml.safe_load(report_catalog())["datasets"]["regions"]
    regions["access"] = [{"who": {"roles": ["administrator"]}, "fields": "all", "rows": "all"}]
    report_house.apply(
        yaml.safe_dump({"workspace": {"name": "acme"}, "datasets": {"regions": regions}})
    )

    refused = call(environment, "schedules", "resume", "weekly", "--json").refusal()

    assert refused["code"] == "access_lost"
    assert 'Section "Amounts by region"' in refused["message"]
    assert report_house.schedule().state == "paused"
