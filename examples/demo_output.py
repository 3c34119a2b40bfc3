"""How the demo tells a person what came of it."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from email import policy
from email.parser import BytesParser
from itertools import islice
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo

import click
import yaml
from openpyxl import load_workbook

from examples.demo_report import NUMBERS, number_on, sheets_of
from examples.demo_summary import SLOT, Summary, occurrence_of, recipients_of
from examples.place import CATALOG, shown

WIDTH: Final = 100
CELL_WIDTH: Final = 25
_COLOURS: Final = {"delivered": "green", "skipped_empty": "cyan", "failed": "red"}


class Names:
    """Titles and time zones, as the files of the catalog have them."""

    def __init__(self) -> None:
        documents = [yaml.safe_load(file.read_text(encoding="utf-8")) for file in CATALOG]
        self.documents = {document["workspace"]["name"]: document for document in documents}

    def local(self, workspace: str, instant: str) -> str:
        """Return an instant as the clock of the workspace shows it."""
        zone = ZoneInfo(self.documents[workspace]["workspace"]["time_zone"])
        return f"{datetime.fromisoformat(instant).astimezone(zone):%a %d %b %Y %H:%M %Z}"

    def title(self, workspace: str, schedule: str) -> str:
        """Return the title of a schedule."""
        return str(self.documents[workspace]["schedules"][schedule]["title"])


def heading(text: str) -> None:
    click.echo()
    click.secho(text, bold=True)


def line(text: str = "", *, indent: int = 3) -> None:
    click.echo(" " * indent + text if text else "")


def tell_catalog(names: Names) -> None:
    for name, document in names.documents.items():
        about = document["workspace"]
        people, schedules = len(document["people"]), len(document["schedules"])
        counts = f"{people} people, {schedules} schedule{'s' * (schedules > 1)}"
        line(f"{name:<9} {about['title']:<18} {counts}, on the clock of {about['time_zone']}")


def tell_occurrences(summary: Summary, names: Names) -> None:
    """Tell of each occurrence how it ended, and what each of its recipients got."""
    for one in summary["occurrences"]:
        outcome = one["outcome"] or "unsettled"
        line()
        line(
            f"{click.style(names.title(one['workspace'], one['schedule']), bold=True)}"
            f"  {click.style(outcome, fg=_COLOURS.get(outcome, 'yellow'))}"
            f"  {click.style(_origin(one, names), dim=True)}"
        )
        if one["code"]:
            line(f"{one['code']}: {one['message']}", indent=6)
        for paused in summary["paused_schedules"]:
            names_of_paused = (paused["workspace"], paused["schedule"])
            if one["via"] == SLOT and names_of_paused == (one["workspace"], one["schedule"]):
                line("The schedule is paused until somebody resumes it.", indent=6)
        if outcome == "skipped_empty":
            line("0 rows: no message to anybody", indent=6)
        elif one["file"]:
            line(f"{_size(one['file'])}  {shown(one['file']['location'])}", indent=6)
        for recipient in recipients_of(summary, one["workspace"], one["schedule"], via=one["via"]):
            why = f": {recipient['code']}" if recipient["code"] else ""
            message = shown(recipient["message_file"]) if recipient["message_file"] else ""
            line(f"{recipient['name']:<7} {recipient['state']}{why}  {message}".rstrip(), indent=6)


def tell_asked_for(run: Mapping[str, Any], export: Mapping[str, Any]) -> None:
    """Tell of a schedule that was run now, and of a file that was asked for."""
    got = ", ".join(f"{one['person']} {one['state']}" for one in run["deliveries"])
    line(f"Ada, an administrator, runs Fay's paused schedule once, as herself: {got}.")
    line(f"Ben asks for the flights that left two hours late: {_size(export)}, Newark only.")
    line(shown(export["out"]), indent=6)


def tell_inside(summary: Summary) -> None:
    """Show the beginning of a CSV file and of an Excel file, a report's numbers, and a message."""
    for schedule, rows in (
        ("all-departures-jfk", _csv_rows),
        ("airlines", _excel_rows),
    ):
        file = occurrence_of(summary, "new-york", schedule)["file"]
        if file:
            line(click.style(Path(file["location"]).name, dim=True))
            _table(rows(Path(file["location"])))
            line()
    _tell_report(summary)
    for recipient in recipients_of(summary, "new-york", "late-departures-newark"):
        if recipient["message_file"]:
            _tell_message(Path(recipient["message_file"]))


def tell_checks(checks: Mapping[str, bool]) -> None:
    for name, met in checks.items():
        sign = click.style("✓", fg="green") if met else click.style("✗ NOT SO:", fg="red")
        line(f"{sign} {name}")


def tell_next(folder: Path) -> None:
    home = shown(folder)
    for what, where in (
        ("the same in the Dagster UI, a delivery every five minutes", "make dev"),
        ("the messages, which any mail program opens too", f"less {home}/mailbox/*.eml"),
        ("the files, a folder for each workspace", f"ls -R {home}/files"),
        ("the history of every slot", f"QUERIES_HOME={home} .venv/bin/queries history"),
        ("all of the above, for programs", f"{home}/summary.json"),
        ("what is behind each line", "docs/demo.md"),
    ):
        line(f"{where:<54}  {click.style(what, dim=True)}")


def _origin(one: Mapping[str, Any], names: Names) -> str:
    actor = f", as {one['actor']}" if one["actor"] else ""
    moment = names.local(one["workspace"], one["slot"]) if one["slot"] else "run now"
    return f"{one['workspace']}, {moment}{actor}"


def _size(file: Mapping[str, Any]) -> str:
    size = file["size"]
    amount = f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.1f} kB"
    return f"{file['format']}  {file['rows']:,} rows  {amount}"


def _csv_rows(file: Path) -> list[list[str]]:
    with file.open(encoding="utf-8-sig", newline="") as lines:
        return list(islice(csv.reader(lines), 4))


def _excel_rows(file: Path) -> list[list[str]]:
    workbook = load_workbook(file, read_only=True)
    rows = islice(workbook.worksheets[0].iter_rows(values_only=True), 5)
    found = [[_cell(value) for value in row] for row in rows]
    workbook.close()
    return found


def _cell(value: object) -> str:
    return f"{value:.2f}".removesuffix(".00") if isinstance(value, float) else str(value)


def _table(rows: Sequence[Sequence[str]]) -> None:
    cut = [[_shortened(text, CELL_WIDTH) for text in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cut, strict=True)]
    for row in cut:
        cells = "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True))
        line(_shortened(cells.rstrip(), WIDTH), indent=6)


def _tell_report(summary: Summary) -> None:
    """Show side by side the numbers of the one report as two people may see them."""
    readers = {
        name: occurrence_of(summary, "new-york", schedule)
        for name, schedule in (("for Ada", "on-time-workbook"), ("for Ben", "on-time-newark"))
    }
    sheets = {name: sheets_of(one) for name, one in readers.items() if one["file"]}
    line(click.style("the report On time?", dim=True))
    _table(
        [
            ["", *sheets],
            *(
                [title, *(_cell(number_on(found, title)) for found in sheets.values())]
                for title in NUMBERS
            ),
        ]
    )
    line()


def _tell_message(file: Path) -> None:
    with file.open("rb") as content:
        message = BytesParser(policy=policy.default).parse(content)
    body = message.get_body(preferencelist=("plain",))
    text: Iterable[str] = body.get_content().splitlines() if body else ()
    line(click.style(file.name, dim=True))
    for header in ("From", "To", "Subject"):
        line(f"{header}: {message[header]}", indent=6)
    line()
    for part in text:
        line(_shortened(part, WIDTH), indent=6)


def _shortened(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"
