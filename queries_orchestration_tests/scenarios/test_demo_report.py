"""The report of the demo: its files, by readers that are not ours, and what the demo checks."""

from __future__ import annotations

import copy
import shutil
import sqlite3
from contextlib import closing
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from openpyxl import load_workbook
from pypdf import PdfReader
from pypdf.generic import Destination
from python_calamine import CalamineWorkbook

from examples.demo_report import REPORT_CHECKS
from queries_orchestration_tests.scenarios.demo_run import Demo

PDF = "a report was delivered as PDF, and prints what the database says"
WORKBOOK = "the same report was delivered as a workbook, with exact numbers"
NEWARK = "Ben's report shows Newark only, in its rows, numbers and totals"


def test_the_pdf_has_its_contents_and_says_as_whom_and_when_it_was_read(demo: Demo) -> None:
    reader = PdfReader(demo.file("new-york", "on-time"))
    first = reader.pages[0].extract_text()
    slot = datetime.fromisoformat(demo.occurrence("new-york", "on-time")["slot"])
    local = slot.astimezone(ZoneInfo("America/New_York"))

    assert reader.metadata is not None
    assert reader.metadata.title == "On time?"
    assert f"{local:%Y-%m-%d} 08:00 America/New_York" in first
    assert "as Ada Okafor may see it" in first
    _, sections = reader.outline
    assert isinstance(sections, list)
    assert [one.title for one in sections if isinstance(one, Destination)] == [
        *("How to read this", "Flights planned", "Minutes late", "Flights cancelled"),
        *("Day by day", "The year behind us", "Who keeps us waiting"),
        *("Airlines at each airport", "More than a day late"),
    ]


def test_the_bars_of_each_day_stand_upon_the_databases_own_counts(demo: Demo) -> None:
    header, *rows = _under_the_chart(demo, "on-time-workbook", "Day by day", "Day")
    counts: dict[date, dict[str, int]] = {}
    for day, status, count in demo.flights(
        "SELECT day, status, count(*) FROM flights GROUP BY day, status"
    ):
        counts.setdefault(date.fromisoformat(day), {})[status] = count
    last_month = _month_before(demo, "on-time-workbook")

    assert header == ["Day", "on time", "late", "cancelled"]
    assert [row[0] for row in rows] == [day for day in sorted(counts) if _is_in(day, last_month)]
    assert [row[1:] for row in rows] == [
        [counts[row[0]].get(status, "") for status in header[1:]] for row in rows
    ]


def test_the_lines_of_the_year_are_twelve_months_of_each_airport(demo: Demo) -> None:
    header, *rows = _under_the_chart(demo, "on-time-workbook", "The year behind us", "Month")
    averages = {
        (date.fromisoformat(month), origin): average
        for month, origin, average in demo.flights(
            "SELECT month, origin, avg(departure_delay) FROM flights GROUP BY month, origin"
        )
    }

    assert header == ["Month", "EWR", "JFK", "LGA"]
    assert len(rows) == 12
    assert rows[-1][0] == _month_before(demo, "on-time-workbook")
    for month, *found in rows:
        assert found == [pytest.approx(averages[month, origin]) for origin in header[1:]]


def test_the_airlines_stand_in_the_order_in_which_they_keep_people_waiting(demo: Demo) -> None:
    _, *rows = _under_the_chart(demo, "on-time-workbook", "Who keeps us waiting", "Airline")
    delays = [delay for _, delay in rows if delay != ""]

    assert len(delays) > 10
    assert delays == sorted(delays, reverse=True)


def test_bens_charts_know_one_airport(demo: Demo) -> None:
    header, *_ = _under_the_chart(demo, "on-time-newark", "The year behind us", "Month")

    assert header == ["Month", "EWR"]
    assert demo.occurrence("new-york", "on-time-newark")["actor"] == "ben"


def test_it_prints_side_by_side_what_two_people_may_see(demo: Demo) -> None:
    ada, ben = (
        _rows(demo, schedule, "Flights planned")[-1][1]
        for schedule in ("on-time-workbook", "on-time-newark")
    )
    (line,) = (one for one in demo.printed.splitlines() if "Flights planned" in one)

    assert line.split()[2:] == [str(int(ada)), str(int(ben))]
    assert ada > ben > 0


@pytest.mark.parametrize(
    ("origin", "months_before", "noticed"),
    [
        ("EWR", 1, {PDF, WORKBOOK, NEWARK}),
        ("EWR", 2, {PDF, WORKBOOK, NEWARK}),
        ("JFK", 1, {PDF, WORKBOOK}),
        ("JFK", 2, {PDF, WORKBOOK}),
        ("EWR", 3, set()),
    ],
)
def test_it_notices_one_flight_that_the_report_has_otherwise(
    demo: Demo, tmp_path: Path, origin: str, months_before: int, noticed: set[str]
) -> None:
    source = tmp_path / "flights.db"
    shutil.copy(demo.source, source)
    month = _month_before(demo, "on-time", months_before)
    with closing(sqlite3.connect(source)) as database, database:
        changed = database.execute(
            "UPDATE flights SET cancelled = 1 - cancelled WHERE id ="
            " (SELECT min(id) FROM flights WHERE origin = ? AND month = ?)",
            (origin, month.isoformat()),
        )
        assert changed.rowcount == 1

    assert _unmet(demo.summary, source) == noticed


@pytest.mark.parametrize(
    ("schedule", "other", "noticed"),
    [
        ("on-time-newark", "on-time-workbook", NEWARK),
        ("on-time-workbook", "on-time-newark", WORKBOOK),
        ("on-time-workbook", "airlines", WORKBOOK),
        ("on-time-newark", "airlines", NEWARK),
    ],
)
def test_it_notices_a_file_that_is_somebody_elses(
    demo: Demo, schedule: str, other: str, noticed: str
) -> None:
    summary = copy.deepcopy(demo.summary)
    _file_of(summary, schedule)["location"] = str(demo.file("new-york", other))

    assert _unmet(summary, demo.source) == {noticed}


@pytest.mark.parametrize(
    ("sheet", "row"),
    [
        ("Flights planned", 3),
        ("Minutes late", 3),
        ("Minutes late", 4),
        ("Flights cancelled", 3),
        ("Flights cancelled", 4),
        ("Airlines at each airport", 5),
        ("More than a day late", 4),
    ],
)
def test_it_notices_a_cell_that_is_another(
    demo: Demo, tmp_path: Path, sheet: str, row: int
) -> None:
    summary = copy.deepcopy(demo.summary)
    book = load_workbook(demo.file("new-york", "on-time-workbook"))
    for cell in book[sheet][row]:
        cell.value = 1.5
    book.save(tmp_path / "changed.xlsx")
    _file_of(summary, "on-time-workbook")["location"] = str(tmp_path / "changed.xlsx")

    assert _unmet(summary, demo.source) == {WORKBOOK}


def _unmet(summary: dict[str, Any], source: Path) -> set[str]:
    return {name for name, met in REPORT_CHECKS.items() if not met(summary, source)}


def _file_of(summary: dict[str, Any], schedule: str) -> dict[str, Any]:
    (one,) = (one for one in summary["occurrences"] if one["schedule"] == schedule)
    file: dict[str, Any] = one["file"]
    return file


def _rows(demo: Demo, schedule: str, sheet: str) -> list[Any]:
    book = CalamineWorkbook.from_path(demo.file("new-york", schedule))
    return book.get_sheet_by_name(sheet).to_python()


def _under_the_chart(demo: Demo, schedule: str, sheet: str, x: str) -> list[Any]:
    """Return the header and the rows that the chart of a section draws."""
    rows = _rows(demo, schedule, sheet)
    first = next(number for number, row in enumerate(rows) if row[0] == x)
    return rows[first:]


def _month_before(demo: Demo, schedule: str, months: int = 1) -> date:
    """Return the first day of the month that lies so many before that of the slot."""
    slot = datetime.fromisoformat(demo.occurrence("new-york", schedule)["slot"])
    month = slot.astimezone(ZoneInfo("America/New_York")).date().replace(day=1)
    for _ in range(months):
        month = (month - timedelta(days=1)).replace(day=1)
    return month


def _is_in(day: date, month: date) -> bool:
    return (day.year, day.month) == (month.year, month.month)
