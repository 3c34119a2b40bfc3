"""Inputs on which the paging of other products lost or repeated rows, from the source to the file.

Each test names its case; ``CASES`` tells which test holds which. ``test_pages`` holds the same of
the exact values that reports are made of.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from sqlalchemy import create_engine
from sqlalchemy.pool import NullPool

from queries_orchestration.exports.file_writer import FileFormat
from queries_orchestration.exports.sources import read_snapshot
from queries_orchestration.model.compile import CompiledQuery
from queries_orchestration_tests.exports.query_files import (
    csv_of,
    file_of,
    read_every_way,
)
from queries_orchestration_tests.exports.read_back import calamine_rows, read_csv
from queries_orchestration_tests.model.definitions import (
    POSTGRESQL,
    SQLITE,
    a_dataset,
    compiled,
    fill,
    is_sqlite,
    rows_of_ids,
    snapshot_engine,
)

BOTH: list[FileFormat] = ["csv", "xlsx"]


def sorted_by_v(
    type_: str, direction: str, *, last: str = "asc", is_nullable: bool = True
) -> CompiledQuery:
    return compiled(
        a_dataset({"id": "integer", "v": type_}, not_null=[] if is_nullable else ["v"]),
        "id",
        sort=[{"field": "v", "direction": direction}, {"field": "id", "direction": last}],
    )


def told(ids: Any) -> list[list[str | None]]:
    return [[str(number)] for number in ids]


@pytest.mark.parametrize("is_indexed", [False, True])
@pytest.mark.parametrize(("count", "page_sizes"), [(2500, [1000]), (5, [1, 2])])
def test_rows_that_tie_come_once_whatever_the_directions(
    source_url: str, count: int, page_sizes: list[int], is_indexed: bool
) -> None:
    """K01."""
    fill(
        source_url,
        "CREATE TABLE t (id integer PRIMARY KEY, v timestamp NOT NULL)",
        ("INSERT INTO t VALUES (?, '2026-01-01 00:00:00')", rows_of_ids(range(count))),
        *(["CREATE INDEX i ON t (v DESC, id)"] if is_indexed else []),
    )
    for direction, last in (("asc", "asc"), ("desc", "asc"), ("asc", "desc"), ("desc", "desc")):
        query = sorted_by_v("timestamp", direction, last=last, is_nullable=False)
        expected = told(sorted(range(count), reverse=last == "desc"))
        for page_rows in page_sizes:
            assert read_every_way(source_url, query, page_rows) == expected
        assert csv_of(source_url, query, page_rows=page_rows) == expected


@pytest.mark.parametrize("direction", ["asc", "desc"])
def test_rows_without_a_sort_value_come_last_at_every_page_size(
    source_url: str, direction: str
) -> None:
    """K02."""
    rows = [(number, None if number % 3 == 0 else number % 4) for number in range(15)]
    fill(
        source_url,
        "CREATE TABLE t (id integer PRIMARY KEY, v integer)",
        ("INSERT INTO t VALUES (?, ?)", rows),
    )
    query = sorted_by_v("integer", direction)
    sign = -1 if direction == "desc" else 1
    ordered = sorted(rows, key=lambda row: (row[1] is None, sign * (row[1] or 0), row[0]))
    expected = told(number for number, _ in ordered)
    for page_rows in [*range(1, 8), 15]:
        assert read_every_way(source_url, query, page_rows) == expected
    assert csv_of(source_url, query, page_rows=4) == expected


@pytest.mark.parametrize("file_format", BOTH)
def test_half_of_three_thousand_rows_without_a_sort_value_are_all_in_the_file(
    source_url: str, file_format: FileFormat
) -> None:
    """K02."""
    rows = [(number, None if number % 2 else number) for number in range(3000)]
    fill(
        source_url,
        "CREATE TABLE t (id integer PRIMARY KEY, v integer)",
        "CREATE INDEX i ON t (v, id)",
        ("INSERT INTO t VALUES (?, ?)", rows),
    )
    for direction, evens in (("asc", range(0, 3000, 2)), ("desc", range(2998, -1, -2))):
        query = sorted_by_v("integer", direction)
        made = file_of(source_url, query, file_format)
        assert ids_in(made.content, file_format) == [*evens, *range(1, 3000, 2)]
        assert made.written.rows == 3000


@pytest.mark.parametrize("direction", ["asc", "desc"])
def test_a_cursor_keeps_microseconds_and_goes_through_json(source_url: str, direction: str) -> None:
    """K03."""
    moments = ["2026-01-01 00:00:00.123456+00:00"] * 6 + ["2026-01-01 00:00:00.123999+00:00"] * 3
    fill(
        source_url,
        "CREATE TABLE t (id integer PRIMARY KEY,"
        f" v {'text' if is_sqlite(source_url) else 'timestamptz'} NOT NULL)",
        ("INSERT INTO t VALUES (?, ?)", list(enumerate(moments))),
    )
    query = sorted_by_v("timestamptz", direction, is_nullable=False)
    order = range(9) if direction == "asc" else [*range(6, 9), *range(6)]
    for page_rows in (1, 2, 4):
        assert read_every_way(source_url, query, page_rows) == told(order)
    cursors: list[Any] = [None]
    read: list[Any] = []
    with snapshot_engine(source_url) as engine, read_snapshot(engine, 30) as connection:
        for _ in range(9):
            kept = json.loads(json.dumps(cursors[-1]))
            page = query.first_page(1) if kept is None else query.page_after(kept, 1)
            row = connection.execute(page).one()
            read += query.cells(row)
            cursors.append(query.cursor(row))
    assert read == list(order)


def test_two_thousand_and_one_rows_of_one_moment_are_all_in_the_file(source_url: str) -> None:
    """K03."""
    if is_sqlite(source_url):
        series = (
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2001)"
            " SELECT i, CURRENT_TIMESTAMP FROM n"
        )
    else:
        series = "SELECT i, now() FROM generate_series(1, 2001) i"
    fill(
        source_url,
        "CREATE TABLE t (id integer PRIMARY KEY, v timestamp with time zone NOT NULL)",
        "CREATE INDEX i ON t (v, id)",
        f"INSERT INTO t {series}",
    )
    for direction in ("asc", "desc"):
        query = sorted_by_v("timestamptz", direction, is_nullable=False)
        assert read_every_way(source_url, query, 1000) == told(range(1, 2002))
        assert csv_of(source_url, query) == told(range(1, 2002))


WORDS = [f"{word}{n}" for n in range(3) for word in ["a", "B", "_x", "é", "Z"]]
NORDS = ["nord", "NORD", "Nord"] * 3


@POSTGRESQL
@pytest.mark.parametrize("direction", ["asc", "desc"])
@pytest.mark.parametrize(
    ("collation", "words"),
    [('"C"', WORDS), ('"und-x-icu"', WORDS), ("any_case", NORDS), ("any_case", WORDS)],
)
def test_rows_are_ordered_and_compared_by_the_collation_of_the_column(
    source_url: str, collation: str, words: list[str], direction: str
) -> None:
    """K04; the second key is a number, for equal words are told apart by nothing else."""
    fill(
        source_url,
        "CREATE COLLATION any_case"
        " (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
        f"CREATE TABLE t (id integer PRIMARY KEY, v text COLLATE {collation} NOT NULL)",
        "CREATE INDEX i ON t (v, id)",
        ("INSERT INTO t VALUES (?, ?)", list(enumerate(words))),
    )
    engine = create_engine(source_url, poolclass=NullPool)
    with engine.connect() as connection:
        plain = connection.exec_driver_sql(f"SELECT id FROM t ORDER BY v {direction}, id").all()  # noqa: S608 - of this test
    query = sorted_by_v("text", direction, is_nullable=False)
    for page_rows in range(1, 8):
        assert read_every_way(source_url, query, page_rows) == told(row[0] for row in plain)


@POSTGRESQL
@pytest.mark.parametrize("direction", ["asc", "desc"])
def test_an_enum_is_ordered_as_it_was_declared(source_url: str, direction: str) -> None:
    """K04."""
    grades = ["low", "mid", "high"]
    fill(
        source_url,
        "CREATE TYPE grade AS ENUM ('low', 'mid', 'high')",
        "CREATE TABLE t (id integer PRIMARY KEY, v grade NOT NULL)",
        ("INSERT INTO t VALUES (?, ?)", [(n, grades[n % 3]) for n in range(9)]),
    )
    order = [0, 3, 6, 1, 4, 7, 2, 5, 8] if direction == "asc" else [2, 5, 8, 1, 4, 7, 0, 3, 6]
    for page_rows in (1, 2, 3, 4):
        query = sorted_by_v("text", direction, is_nullable=False)
        assert read_every_way(source_url, query, page_rows) == told(order)


@SQLITE
@pytest.mark.parametrize("direction", ["asc", "desc"])
def test_a_collation_of_sqlite_orders_and_compares_alike(source_url: str, direction: str) -> None:
    """K04."""
    words = ["b", "A", "B", "a", "C", "b"]
    fill(
        source_url,
        "CREATE TABLE t (id integer PRIMARY KEY, v text COLLATE NOCASE NOT NULL)",
        "CREATE INDEX i ON t (v, id)",
        ("INSERT INTO t VALUES (?, ?)", list(enumerate(words))),
    )
    order = [1, 3, 0, 2, 5, 4] if direction == "asc" else [4, 0, 2, 5, 1, 3]
    for page_rows in range(1, 7):
        query = sorted_by_v("text", direction, is_nullable=False)
        assert read_every_way(source_url, query, page_rows) == told(order)


@pytest.mark.parametrize("file_format", BOTH)
@pytest.mark.parametrize("is_indexed", [True, False])
def test_changes_while_a_file_is_made_are_not_in_it(
    source_url: str, file_format: FileFormat, is_indexed: bool
) -> None:
    """K07, paged by key and through one cursor."""
    fill(
        source_url,
        *(["PRAGMA journal_mode=WAL"] if is_sqlite(source_url) else []),
        f"CREATE TABLE t (id integer {'PRIMARY KEY' if is_indexed else ''})",
        ("INSERT INTO t VALUES (?)", rows_of_ids(range(1, 3001))),
        *([] if is_sqlite(source_url) else ["ANALYZE t"]),
    )
    done: list[int] = []

    def change(rows: int) -> None:
        done.append(rows)
        if len(done) == 1:
            fill(
                source_url,
                "UPDATE t SET id = 9999 WHERE id = 5",
                "DELETE FROM t WHERE id = 2500",
                "INSERT INTO t VALUES (0)",
            )

    query = compiled(a_dataset({"id": "integer"}), "id")
    made = file_of(source_url, query, file_format, progress=change)
    after = file_of(source_url, query, file_format)

    assert len(done) > 2
    assert done[-1] == 3000
    assert ids_in(made.content, file_format) == list(range(1, 3001))
    assert ids_in(after.content, file_format) == [
        *(number for number in range(3001) if number not in (5, 2500)),
        9999,
    ]


@pytest.mark.parametrize("file_format", BOTH)
@pytest.mark.parametrize("is_indexed", [True, False])
def test_a_file_has_as_many_rows_as_the_query(
    source_url: str, file_format: FileFormat, is_indexed: bool
) -> None:
    """K09."""
    query = compiled(a_dataset({"id": "integer"}), "id")
    fill(source_url, f"CREATE TABLE t (id integer {'PRIMARY KEY' if is_indexed else ''})")
    there = 0
    for count in (0, 1, 999, 1000, 1001, 2000, 2001):
        fill(source_url, ("INSERT INTO t VALUES (?)", rows_of_ids(range(there, count))))
        there = count
        made = file_of(source_url, query, file_format)
        assert ids_in(made.content, file_format) == list(range(count))
        assert made.written.rows == count


@pytest.mark.parametrize("file_format", BOTH)
def test_no_row_of_fifty_thousand_and_one_is_missing(
    source_url: str, file_format: FileFormat
) -> None:
    """K09."""
    fill(
        source_url,
        "CREATE TABLE t (id integer PRIMARY KEY)",
        "INSERT INTO t WITH RECURSIVE n(i) AS"
        " (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 50000) SELECT i FROM n",
        *([] if is_sqlite(source_url) else ["ANALYZE t"]),
    )
    made = file_of(source_url, compiled(a_dataset({"id": "integer"}), "id"), file_format)
    assert ids_in(made.content, file_format) == list(range(50_001))
    assert made.written.rows == 50_001


def ids_in(content: bytes, file_format: FileFormat) -> list[int]:
    """Read the whole numbers of a file of one column."""
    rows = read_csv(content) if file_format == "csv" else calamine_rows(content)
    return [int(str(row[0]).removesuffix(".0")) for row in rows[1:]]


CASES = {
    "K01": test_rows_that_tie_come_once_whatever_the_directions,
    "K02": test_rows_without_a_sort_value_come_last_at_every_page_size,
    "K03": test_a_cursor_keeps_microseconds_and_goes_through_json,
    "K04": test_rows_are_ordered_and_compared_by_the_collation_of_the_column,
    "K07": test_changes_while_a_file_is_made_are_not_in_it,
    "K09": test_a_file_has_as_many_rows_as_the_query,
}


def test_no_case_is_missing() -> None:
    assert list(CASES) == ["K01", "K02", "K03", "K04", "K07", "K09"]
    for case, test in CASES.items():
        assert case in (test.__doc__ or "")
