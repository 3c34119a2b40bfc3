"""The report of the demo, read back from its files and held against the source database."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any, Final

from openpyxl import load_workbook
from pypdf import PdfReader

from examples.demo_summary import Summary, is_delivered, occurrence_of
from examples.flights_data import NEW_YORK

NUMBERS: Final = ("Flights planned", "Minutes late", "Flights cancelled")
"""Titles of the sections that are one number."""

TABLE: Final = "Airlines at each airport"
EMPTY: Final = "More than a day late"

_TOTALS: Final = (
    "SELECT count(*), avg(departure_delay), sum(cancelled) FROM flights"
    " WHERE scheduled_departure >= ? AND scheduled_departure < ? AND origin LIKE ?"
)
_ROWS: Final = (
    "SELECT origin, airline, count(*), sum(cancelled), avg(departure_delay), max(departure_delay)"
    " FROM flights WHERE scheduled_departure >= ? AND scheduled_departure < ? AND origin LIKE ?"
    " GROUP BY origin, airline ORDER BY origin, airline"
)

Row = Sequence[Any]
Sheets = Mapping[str, list[tuple[Any, ...]]]


@dataclass(frozen=True, slots=True)
class Truth:
    """What the database says.

    Args:
        month: flights, average minutes late and cancelled flights of the month before the slot.
        before: the same of the month before that one.
        rows: of the table.
    """

    month: Row
    before: Row
    rows: list[Row]


def sheets_of(occurrence: Mapping[str, Any]) -> Sheets:
    """Return the rows of each sheet of an occurrence's workbook, by the name of the sheet."""
    workbook = load_workbook(occurrence["file"]["location"])
    with closing(workbook):
        return {sheet.title: list(sheet.iter_rows(values_only=True)) for sheet in workbook}


def number_on(sheets: Sheets, title: str) -> Any:
    """Return the one number that a section of that title shows; None if there is none."""
    return next((row[1] for row in sheets.get(title, [])[2:]), None)


def _pdf_delivered(summary: Summary, flights: Path) -> bool:
    one = occurrence_of(summary, "new-york", "on-time")
    if not is_delivered(one, "pdf"):
        return False
    pages = PdfReader(one["file"]["location"]).pages
    text = "".join("".join(page.extract_text().split()) for page in pages)
    truth = _truth(flights, one)
    planned, late, cancelled = truth.month
    _, late_before, cancelled_before = truth.before
    said = [
        "as Ada Okafor may see it",
        f"{NUMBERS[0]} {planned:,}",
        f"{NUMBERS[1]} {_printed(late).removesuffix('.0')}",
        f"Previous period: {_printed(late_before).removesuffix('.0')}",
        f"{NUMBERS[2]} {cancelled:,}",
        f"Previous period: {cancelled_before:,}",
        *(
            f"{origin} {airline} {count:,} {gone:,} {_printed(average)} {_printed(longest, '1')}"
            for origin, airline, count, gone, average, longest in truth.rows
        ),
        f"Total {planned:,} {cancelled:,}",
        "No rows",
    ]
    return all("".join(words.split()) in text for words in said)


def _workbook_delivered(summary: Summary, flights: Path) -> bool:
    one = occurrence_of(summary, "new-york", "on-time-workbook")
    return is_delivered(one, "xlsx") and _holds(sheets_of(one), _truth(flights, one))


def _newark_delivered(summary: Summary, flights: Path) -> bool:
    one = occurrence_of(summary, "new-york", "on-time-newark")
    if not is_delivered(one, "xlsx") or one["actor"] != "ben":
        return False
    sheets = sheets_of(one)
    origins = {row[0] for row in sheets.get(TABLE, [])[3:-1]}
    return origins == {"EWR"} and _holds(sheets, _truth(flights, one, origin="EWR"))


REPORT_CHECKS: Final[Mapping[str, Callable[[Summary, Path], bool]]] = {
    "a report was delivered as PDF, and prints what the database says": _pdf_delivered,
    "the same report was delivered as a workbook, with exact numbers": _workbook_delivered,
    "Ben's report shows Newark only, in its rows, numbers and totals": _newark_delivered,
}


def _holds(sheets: Sheets, truth: Truth) -> bool:
    """Tell whether a workbook has the numbers, the comparisons, the table, and nothing else."""
    facts = [[row[1] for row in sheets.get(title, [])[2:4]] for title in NUMBERS]
    (planned, late, cancelled), (_, late_before, cancelled_before) = truth.month, truth.before
    *rows, totals = sheets.get(TABLE, [])[3:] or [()]
    return (
        _are_alike(facts, [[planned], [late, late_before], [cancelled, cancelled_before]])
        and _are_alike(rows, truth.rows)
        and _are_alike(totals, ["Total", None, planned, cancelled, None, None])
        and [row[0] for row in sheets.get(EMPTY, [])[3:]] == ["No rows"]
    )


def _truth(flights: Path, one: Mapping[str, Any], *, origin: str = "%") -> Truth:
    """Ask the source database, in words of our own, what the report of a slot has to say."""
    local = datetime.fromisoformat(one["slot"]).astimezone(NEW_YORK)
    ends = [local.replace(day=1, hour=0, minute=0, second=0, microsecond=0)]
    for _ in range(2):
        ends.append((ends[-1] - timedelta(days=1)).replace(day=1))
    this_month, month, before = (end.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ") for end in ends)
    with closing(sqlite3.connect(flights)) as database:
        return Truth(
            database.execute(_TOTALS, (month, this_month, origin)).fetchone(),
            database.execute(_TOTALS, (before, month, origin)).fetchone(),
            database.execute(_ROWS, (month, this_month, origin)).fetchall(),
        )


def _are_alike(found: Any, expected: Any) -> bool:
    """Compare values; averages may differ in their last digits, by the order they are added in."""
    if isinstance(expected, list | tuple):
        return len(found) == len(expected) and all(map(_are_alike, found, expected))
    if isinstance(expected, float):
        return isinstance(found, int | float) and math.isclose(found, expected, rel_tol=1e-12)
    return bool(found == expected)


def _printed(value: float | None, digits: str = "0.1") -> str:
    if value is None:
        return "\N{EN DASH}"
    rounded = Decimal(repr(value)).quantize(Decimal(digits), ROUND_HALF_UP)
    return f"{rounded or abs(rounded):,}"
