"""Exports: CSV and Excel of a million rows and of five, beside what others take."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from benchmarks.measure import Measure, Result, Run, keep, take_all
from benchmarks.place import Place, export, in_child, postgresql_place, sqlite_place
from queries_orchestration_tests.storage.s3_server import running_s3_server

MILLION: Final = 1_000_000
BOOK_ROWS: Final = 200_000
PANDAS_ROWS: Final = 200_000
OPENPYXL_ROWS: Final = 50_000
FEW: Final = 100_000
MANY: Final = 5_000_000
MOST_ADDED: Final = 100.0
"""Megabytes that a worker may take above its idle size."""
MOST_GROWN: Final = 20.0
"""Megabytes that it may take more for many rows than for few."""

GROUPED: Final = (
    "SELECT customer, sum(amount) AS amount, count(*) FROM mixed GROUP BY customer"
    " ORDER BY amount DESC, customer"
)


def main() -> None:
    """Take all measures of exports."""
    with tempfile.TemporaryDirectory(prefix="queries-bench-") as made:
        folder = Path(made)
        with postgresql_place(folder / "million", MILLION) as place:
            take_all(_csv(place))
        with running_s3_server() as server:
            # Also for this process, which removes each file.
            os.environ.update(server.environment)
            storage = {"QUERIES_STORAGE_URL": server.url("bench"), **server.environment}
            with postgresql_place(folder / "s3", MILLION, **storage) as place:
                take_all([_csv_against_psql(place, "csv into S3 / psql COPY", bar=0.5)])
        with postgresql_place(folder / "book", BOOK_ROWS) as place:
            take_all(_excel(place))
        take_all([_excel_of_sqlite(sqlite_place(folder / "sqlite", BOOK_ROWS))])
        with (
            postgresql_place(folder / "few", FEW) as few,
            postgresql_place(folder / "many", MANY) as many,
        ):
            for file_format in ("csv", "xlsx"):
                keep(_memory(file_format, few, many))


def _csv(place: Place) -> Iterator[Measure]:
    yield _csv_against_psql(place, "csv into a file / psql COPY", bar=0.7)
    yield Measure(
        name="csv / pandas",
        ours=_ours(place, "csv"),
        baseline=_theirs(place, "pandas", PANDAS_ROWS),
        bar=8.0,
    )
    costs: list[dict[str, float]] = []

    def last() -> Run:
        costs.append(in_child("pages", {"url": place.url}))
        return Run(value=costs[-1]["last"] * 1_000_000)

    yield Measure(
        name="page at the end / beginning, microseconds",
        ours=last,
        baseline=lambda: Run(value=costs[-1]["first"] * 1_000_000),
        bar=1.2,
        less_is_better=True,
    )
    yield Measure(
        name="grouped result / unpaged, seconds",
        ours=lambda: Run(value=export(place, "csv", "grouped").seconds),
        baseline=lambda: Run(
            value=in_child("baselines", {"name": "unpaged", "url": place.url, "sql": GROUPED})[
                "seconds"
            ]
        ),
        bar=2.0,
        less_is_better=True,
    )


def _csv_against_psql(place: Place, name: str, *, bar: float) -> Measure:
    return Measure(
        name=name, ours=_ours(place, "csv"), baseline=_theirs(place, "psql", place.rows), bar=bar
    )


def _excel(place: Place) -> Iterator[Measure]:
    for library, bar in (("openpyxl", 10.0), ("xlsxwriter", 6.0)):
        yield Measure(
            name=f"xlsx from PostgreSQL / {library}",
            ours=_ours(place, "xlsx"),
            baseline=_theirs(place, library, OPENPYXL_ROWS),
            bar=bar,
        )


def _excel_of_sqlite(place: Place) -> Measure:
    return Measure(
        name="xlsx from SQLite / openpyxl",
        ours=_ours(place, "xlsx"),
        baseline=_theirs(place, "openpyxl", OPENPYXL_ROWS),
        bar=8.0,
    )


def _memory(file_format: str, few: Place, many: Place) -> Iterator[Result]:
    of_few, of_many = (export(place, file_format).added_mb for place in (few, many))
    for name, ours, baseline, bar in (
        ("MB above idle", of_many, 1.0, MOST_ADDED),
        ("MB more than for 100,000", of_many - of_few, 1.0, MOST_GROWN),
    ):
        yield Result(
            name=f"{file_format} of 5,000,000 rows: {name}",
            ours=ours,
            baseline=baseline,
            ratio=ours / baseline,
            peak_mb=of_many,
            bar=bar,
            holds=ours <= bar,
        )


def _ours(place: Place, file_format: str) -> Callable[[], Run]:
    def run() -> Run:
        worked = export(place, file_format)
        return Run(value=worked.rate, peak_mb=worked.added_mb)

    return run


def _theirs(place: Place, name: str, rows: int) -> Callable[[], Run]:
    def run() -> Run:
        task = {"name": name, "url": place.url, "rows": rows}
        return Run(value=rows / in_child("baselines", task)["seconds"])

    return run


if __name__ == "__main__":
    main()
