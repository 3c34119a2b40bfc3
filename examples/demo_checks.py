"""What the demo must show, checked on the files, the messages and the history themselves."""

from __future__ import annotations

import csv
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from openpyxl import load_workbook

from examples.demo_report import REPORT_CHECKS
from examples.demo_summary import (
    RUN_NOW,
    Summary,
    is_delivered,
    occurrence_of,
    recipients_of,
)


def check(summary: Summary, flights: Path) -> dict[str, bool]:
    """Return for each thing that must have come out whether it did.

    Args:
        summary: what came of the demo.
        flights: the source database.
    """
    return {name: met(summary, flights) for name, met in _CHECKS.items()}


def _csv_delivered(summary: Summary, flights: Path) -> bool:
    one = occurrence_of(summary, "new-york", "all-departures-jfk")
    if not is_delivered(one, "csv"):
        return False
    with Path(one["file"]["location"]).open(encoding="utf-8-sig", newline="") as lines:
        origins = [row["From"] for row in csv.DictReader(lines)]
    return origins == ["JFK"] * _count(flights, "origin = 'JFK'")


def _excel_delivered(summary: Summary, _flights: Path) -> bool:
    one = occurrence_of(summary, "new-york", "airlines")
    if not is_delivered(one, "xlsx"):
        return False
    _, *rows = _excel_rows(one["file"]["location"])
    delays = [row[2] for row in rows]
    return len(rows) == one["file"]["rows"] > 0 and delays == sorted(delays, reverse=True)


def _rows_cut_by_access(summary: Summary, _flights: Path) -> bool:
    whole = occurrence_of(summary, "new-york", "late-departures")
    of_ben = occurrence_of(summary, "new-york", "late-departures-newark")
    if not (is_delivered(whole, "csv") and is_delivered(of_ben, "xlsx")):
        return False
    with Path(whole["file"]["location"]).open(encoding="utf-8-sig", newline="") as lines:
        from_newark = sum(row["From"] == "EWR" for row in csv.DictReader(lines))
    _, *rows = _excel_rows(of_ben["file"]["location"])
    return [row[1] for row in rows] == ["EWR"] * from_newark and from_newark > 0


def _empty_skipped(summary: Summary, _flights: Path) -> bool:
    return occurrence_of(summary, "new-york", "a-day-late")["outcome"] == "skipped_empty" and not (
        recipients_of(summary, "new-york", "a-day-late")
    )


def _access_loss_paused(summary: Summary, _flights: Path) -> bool:
    one = occurrence_of(summary, "new-york", "destinations")
    paused = {
        (schedule["workspace"], schedule["schedule"]): schedule["pause_reason"]
        for schedule in summary["paused_schedules"]
    }
    return (
        (one["outcome"], one["code"]) == ("failed", "access_lost")
        and list(paused) == [("new-york", "destinations")]
        and bool(paused["new-york", "destinations"])
    )


def _recipients_skipped(summary: Summary, _flights: Path) -> bool:
    got = {
        one["person"]: (one["state"], one["code"])
        for one in recipients_of(summary, "new-york", "all-departures-jfk")
    }
    return got == {
        "clara": ("sent", None),
        "dan": ("skipped", "inactive"),
        "erik": ("skipped", "no_address"),
    }


def _run_now_delivered(summary: Summary, flights: Path) -> bool:
    one = occurrence_of(summary, "new-york", "destinations", via=RUN_NOW)
    got = recipients_of(summary, "new-york", "destinations", via=RUN_NOW)
    return (
        is_delivered(one, "csv")
        and one["actor"] == "ada"
        and one["file"]["rows"] == _count(flights, "true", of="DISTINCT destination")
        and {recipient["person"]: recipient["state"] for recipient in got}
        == {"clara": "sent", "fay": "sent"}
    )


def _export_fetched(summary: Summary, _flights: Path) -> bool:
    export = summary["export"]
    with Path(export["out"]).open(encoding="utf-8-sig", newline="") as lines:
        rows = list(csv.DictReader(lines))
    return (
        len(rows) == export["rows"] > 0
        and {row["From"] for row in rows} == {"EWR"}
        and all(float(row["Minutes late at departure"]) >= 120 for row in rows)
        and export["requested_by"] == "ben"
    )


def _workspaces_apart(summary: Summary, flights: Path) -> bool:
    one = occurrence_of(summary, "berlin", "hawaii")
    return is_delivered(one, "csv") and one["file"]["rows"] == _count(
        flights, "destination = 'HNL'"
    )


def _group_and_guest(summary: Summary, _flights: Path) -> bool:
    got = {one["name"]: one["state"] for one in recipients_of(summary, "berlin", "hawaii")}
    return got == {"ada": "sent", "jonas": "sent", "Hotel Aloha": "sent"}


def _one_message_each(summary: Summary, _flights: Path) -> bool:
    files = [one["message_file"] for one in summary["recipients"] if one["state"] == "sent"]
    return None not in files and len(set(files)) == len(files) == summary["messages"] > 0


_CHECKS: Final[Mapping[str, Callable[[Summary, Path], bool]]] = {
    "a CSV file with every departure from JFK was delivered": _csv_delivered,
    "an Excel file of the airlines by average delay was delivered": _excel_delivered,
    "the same query gave Ben, who may see Newark only, Newark only": _rows_cut_by_access,
    "an empty result was skipped: nobody got a message": _empty_skipped,
    "an owner's lost access paused the schedule, with the reason": _access_loss_paused,
    "two recipients were skipped, each with the reason": _recipients_skipped,
    "the other workspace got its own file": _workspaces_apart,
    "a group and an outside address got it": _group_and_guest,
    "Ada ran the paused schedule now, as herself, and its recipients got it": _run_now_delivered,
    "Ben fetched the file that he asked for, with his own value, Newark only": _export_fetched,
    **REPORT_CHECKS,
    "each recipient who was not skipped has exactly one message": _one_message_each,
}


def _count(flights: Path, condition: str, *, of: str = "*") -> int:
    statement = f"SELECT count({of}) FROM flights WHERE {condition}"  # noqa: S608 - our constants
    with closing(sqlite3.connect(flights)) as database:
        found = database.execute(statement).fetchone()
    return int(found[0])


def _excel_rows(location: str) -> list[tuple[Any, ...]]:
    workbook = load_workbook(location, read_only=True)
    with closing(workbook):
        return [row for sheet in workbook for row in sheet.iter_rows(values_only=True)]
