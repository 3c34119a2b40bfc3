"""What a page costs at the beginning and at the end of a table, in a started process."""

from __future__ import annotations

import json
import sys
import time
from zoneinfo import ZoneInfo

from benchmarks.place import COLUMNS
from queries_orchestration.exports.column_texts import column_texts
from queries_orchestration.exports.copy_formats import csv_options
from queries_orchestration.exports.copy_pages import copy_pages
from queries_orchestration.exports.sources import engine_of, read_snapshot
from queries_orchestration.exports.text_form import TextForm
from queries_orchestration_tests.model.definitions import a_dataset, compiled

PAGES = 200
"""Pages at each end of which the mean counts, as two are made at once."""
WARMING_UP = 10


def main() -> None:
    """Print the seconds of a page at the beginning and at the end, as JSON."""
    task = json.loads(sys.argv[1])
    query = compiled(a_dataset(COLUMNS, not_null=["id"], relation="mixed"), *COLUMNS)
    taken = [time.perf_counter()]

    def take(_lines: bytes, _rows: int) -> None:
        taken.append(time.perf_counter())

    with read_snapshot(engine_of(task["url"]), 3_600) as connection:
        texts = column_texts(connection, query, TextForm(ZoneInfo("Europe/Berlin")))
        copy_pages(connection, texts, take, options=csv_options(","), is_guarded=True)
    first, last = taken[WARMING_UP : WARMING_UP + PAGES + 1], taken[-PAGES - 1 :]
    told = {"first": (first[-1] - first[0]) / PAGES, "last": (last[-1] - last[0]) / PAGES}
    sys.stdout.write(json.dumps(told))


if __name__ == "__main__":
    main()
