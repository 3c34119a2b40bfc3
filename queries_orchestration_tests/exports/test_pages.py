"""Paging: every row exactly once, in order, as of one moment, from both kinds of database."""

from __future__ import annotations

import json
from datetime import date, datetime
from decimal import Decimal

import pytest
from sqlalchemy import text

from queries_orchestration.exports.pages import read_pages
from queries_orchestration.exports.sources import read_snapshot
from queries_orchestration.model.errors import (
    SourceBroken,
)
from queries_orchestration_tests.model.definitions import (
    POSTGRESQL,
    SQLITE,
    a_dataset,
    compiled,
    fill,
    is_sqlite,
    read_all,
    rows_of_ids,
    snapshot_engine,
)

SORT_BY_V = [{"field": "v", "direction": "asc"}]


@pytest.mark.parametrize(("count", "page_sizes"), [(2500, [1000]), (5, [1, 2])])
def test_rows_that_tie_come_once_whatever_the_directions(
    source_url: str, count: int, page_sizes: list[int]
) -> None:
    fill(
        source_url,
        "CREATE TABLE t (id integer PRIMARY KEY, v text NOT NULL)",
        ("INSERT INTO t VALUES (?, '2026-01-01')", rows_of_ids(range(count))),
    )
    dataset = a_dataset({"id": "integer", "v": "text"}, not_null=["v"])
    for tie, last in (("asc", "asc"), ("desc", "asc"), ("asc", "desc"), ("desc", "desc")):
        sort = [{"field": "v", "direction": tie}, {"field": "id", "direction": last}]
        expected = rows_of_ids(sorted(range(count), reverse=last == "desc"))
        for page_rows in page_sizes:
            assert read_all(source_url, compiled(dataset, "id", sort=sort), page_rows) == expected


@pytest.mark.parametrize("direction", ["asc", "desc"])
def test_rows_without_a_sort_value_come_last_at_every_page_size(
    source_url: str, direction: str
) -> None:
    rows = [(number, None if number % 3 == 0 else number % 4) for number in range(15)]
    fill(
        source_url,
        "CREATE TABLE t (id integer PRIMARY KEY, v integer)",
        ("INSERT INTO t VALUES (?, ?)", rows),
    )
    query = compiled(
        a_dataset({"id": "integer", "v": "integer"}),
        "id",
        "v",
        sort=[{"field": "v", "direction": direction}],
    )
    sign = -1 if direction == "desc" else 1
    expected = sorted(rows, key=lambda row: (row[1] is None, sign * (row[1] or 0), row[0]))
    for page_rows in [*range(1, 8), 15]:
        assert read_all(source_url, query, page_rows) == expected


def test_half_of_three_thousand_rows_without_a_sort_value_are_all_read(source_url: str) -> None:
    rows = [(number, None if number % 2 else number) for number in range(3000)]
    fill(
        source_url,
        "CREATE TABLE t (id integer PRIMARY KEY, v integer)",
        ("INSERT INTO t VALUES (?, ?)", rows),
    )
    query = compiled(a_dataset({"id": "integer", "v": "integer"}), "id", sort=SORT_BY_V)
    read = read_all(source_url, query)
    assert read == rows_of_ids([*range(0, 3000, 2), *range(1, 3000, 2)])


@pytest.mark.parametrize("direction", ["asc", "desc"])
def test_a_cursor_keeps_microseconds_and_goes_through_json(source_url: str, direction: str) -> None:
    type_ = "text" if is_sqlite(source_url) else "timestamptz"
    moments = ["2026-01-01 00:00:00.123456+00:00"] * 6 + ["2026-01-01 00:00:00.123999+00:00"] * 3
    rows = [(number, moment) for number, moment in enumerate(moments)]
    fill(
        source_url,
        f"CREATE TABLE t (id integer PRIMARY KEY, v {type_} NOT NULL)",
        ("INSERT INTO t VALUES (?, ?)", rows),
    )
    query = compiled(
        a_dataset({"id": "integer", "v": "timestamptz"}),
        "id",
        "v",
        sort=[{"field": "v", "direction": direction}],
    )
    read: list[tuple[object, ...]] = []
    cursor: list[object] | None = None
    with snapshot_engine(source_url) as engine, read_snapshot(engine, 30) as connection:
        while True:
            statement = query.page_after(cursor, 2) if cursor else query.first_page(2)
            page = connection.execute(statement).all()
            if not page:
                break
            read += [query.cells(row) for row in page]
            cursor = json.loads(json.dumps(query.cursor(page[-1])))
    sign = -1 if direction == "desc" else 1
    ordered = sorted(rows, key=lambda row: (sign * (1 if "999" in row[1] else 0), row[0]))
    assert read == [(number, datetime.fromisoformat(moment)) for number, moment in ordered]


def test_two_thousand_and_one_rows_of_one_moment_are_all_read(source_url: str) -> None:
    if is_sqlite(source_url):
        series = (
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2001)"
            " SELECT i, CURRENT_TIMESTAMP FROM n"
        )
    else:
        series = "SELECT i, now() FROM generate_series(1, 2001) i"
    fill(
        source_url,
        "CREATE TABLE t (id integer PRIMARY KEY, v timestamp with time zone)",
        f"INSERT INTO t {series}",
    )
    query = compiled(
        a_dataset({"id": "integer", "v": "timestamptz"}),
        "id",
        sort=[{"field": "v", "direction": "desc"}],
    )
    assert read_all(source_url, query) == rows_of_ids(list(range(1, 2002)))


UNPAGED = {
    "asc": "SELECT v FROM t ORDER BY v ASC NULLS LAST, id",
    "desc": "SELECT v FROM t ORDER BY v DESC NULLS LAST, id",
}
LETTERS = [f"{letter}{number}" for number in range(4) for letter in ["a", "B", "_x", "é", "Z"]]


@POSTGRESQL
@pytest.mark.parametrize("collation", ['"C"', '"und-x-icu"', "any_case"])
def test_postgresql_collations_order_and_page_alike(source_url: str, collation: str) -> None:
    words = [*LETTERS, "nord", "NORD", "Nord"]
    fill(
        source_url,
        "CREATE COLLATION any_case"
        " (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
        f"CREATE TABLE t (id integer PRIMARY KEY, v text COLLATE {collation})",
        ("INSERT INTO t VALUES (?, ?)", list(enumerate(words))),
    )
    dataset = a_dataset({"id": "integer", "v": "text"})
    for direction, statement in UNPAGED.items():
        query = compiled(dataset, "v", sort=[{"field": "v", "direction": direction}])
        with snapshot_engine(source_url) as engine, engine.connect() as connection:
            plain = [tuple(row) for row in connection.execute(text(statement))]
        for page_rows in range(1, 8):
            assert read_all(source_url, query, page_rows) == plain


@POSTGRESQL
@pytest.mark.parametrize("direction", ["asc", "desc"])
def test_a_postgresql_enum_pages_in_its_declared_order(source_url: str, direction: str) -> None:
    grades = ["low", "mid", "high"]
    fill(
        source_url,
        "CREATE TYPE grade AS ENUM ('low', 'mid', 'high')",
        "CREATE TABLE t (id integer PRIMARY KEY, v grade NOT NULL)",
        ("INSERT INTO t VALUES (?, ?)", [(n, grades[n % 3]) for n in range(9)]),
    )
    query = compiled(
        a_dataset({"id": "integer", "v": "text"}),
        "v",
        "id",
        sort=[{"field": "v", "direction": direction}],
        filters=[{"field": "v", "op": "ge", "value": "mid"}],
    )
    expected = [(grade, n) for grade in ("mid", "high") for n in range(9) if grades[n % 3] == grade]
    if direction == "desc":
        expected = expected[3:] + expected[:3]
    for page_rows in (1, 2, 3):
        assert read_all(source_url, query, page_rows) == expected


@SQLITE
def test_a_sqlite_collation_orders_and_pages_alike(source_url: str) -> None:
    fill(
        source_url,
        "CREATE TABLE t (id integer PRIMARY KEY, v text COLLATE NOCASE)",
        ("INSERT INTO t VALUES (?, ?)", list(enumerate(["b", "A", "B", "a", "C", "b"]))),
    )
    dataset = a_dataset({"id": "integer", "v": "text"})
    for page_rows in range(1, 7):
        read = read_all(source_url, compiled(dataset, "v", sort=SORT_BY_V), page_rows)
        assert read == [("A",), ("a",), ("b",), ("B",), ("b",), ("C",)]
        groups = compiled(dataset, "v", {"aggregate": "count", "label": "n"})
        counts = [row[1] for row in read_all(source_url, groups, page_rows)]
        assert counts == [2, 3, 1]


@POSTGRESQL
@pytest.mark.parametrize("direction", ["asc", "desc"])
@pytest.mark.parametrize("type_", ["real", "double precision", "numeric"])
def test_postgresql_floats_and_nan_page_without_a_loss(
    source_url: str, direction: str, type_: str
) -> None:
    numbers = ["NaN", "0.1", "NaN", "-1.7", "0.1", None, "Infinity", "0.30000001", "NaN", "-0"]
    fill(
        source_url,
        f"CREATE TABLE t (id integer PRIMARY KEY, v {type_})",
        ("INSERT INTO t VALUES (?, ?)", list(enumerate(numbers))),
    )
    query = compiled(
        a_dataset({"id": "integer", "v": "decimal" if type_ == "numeric" else "float"}),
        "id",
        sort=[{"field": "v", "direction": direction}],
    )
    ascending = [[3], [9], [1, 4], [7], [6], [0, 2, 8]]
    blocks = ascending if direction == "asc" else list(reversed(ascending))
    expected = [number for block in blocks for number in block] + [5]
    for page_rows in (1, 2, 3, 4):
        assert read_all(source_url, query, page_rows) == rows_of_ids(expected)


@POSTGRESQL
def test_postgresql_moments_that_python_cannot_hold_page_but_are_refused_as_cells(
    source_url: str,
) -> None:
    moments = ["-infinity", "0044-03-15 BC", "2026-01-01", "infinity", "infinity"]
    fill(
        source_url,
        "CREATE TABLE t (id integer PRIMARY KEY, v timestamp, d date)",
        ("INSERT INTO t VALUES (?, ?, '9999-12-31')", list(enumerate(moments))),
    )
    dataset = a_dataset({"id": "integer", "v": "timestamp", "d": "date"})
    ids = read_all(source_url, compiled(dataset, "id", "d", sort=SORT_BY_V), 1)
    assert ids == [(number, date(9999, 12, 31)) for number in range(5)]
    for number in (0, 1, 3):
        query = compiled(dataset, "v", filters=[{"field": "id", "op": "eq", "value": number}])
        with pytest.raises(SourceBroken, match="column 'v'"):
            read_all(source_url, query)


def test_changes_between_two_pages_are_not_seen(source_url: str) -> None:
    fill(
        source_url,
        *(["PRAGMA journal_mode=WAL"] if is_sqlite(source_url) else []),
        "CREATE TABLE t (id integer PRIMARY KEY)",
        ("INSERT INTO t VALUES (?)", rows_of_ids(list(range(1, 3001)))),
    )
    query = compiled(a_dataset({"id": "integer"}), "id")
    with snapshot_engine(source_url) as engine, read_snapshot(engine, 30) as connection:
        pages = read_pages(connection, query)
        read = next(pages)
        fill(
            source_url,
            "UPDATE t SET id = 9999 WHERE id = 5",
            "DELETE FROM t WHERE id = 2500",
            "INSERT INTO t VALUES (0)",
        )
        for page in pages:
            read += page
    assert read == rows_of_ids(list(range(1, 3001)))


def test_a_result_of_any_size_is_read_whole(source_url: str) -> None:
    query = compiled(a_dataset({"id": "integer"}), "id")
    for count in (0, 1, 999, 1000, 1001, 2000, 2001):
        fill(
            source_url,
            "DROP TABLE IF EXISTS t",
            "CREATE TABLE t (id integer PRIMARY KEY)",
            ("INSERT INTO t VALUES (?)", rows_of_ids(range(count))),
        )
        with snapshot_engine(source_url) as engine, read_snapshot(engine, 30) as connection:
            pages = list(read_pages(connection, query))
        assert [row for page in pages for row in page] == rows_of_ids(range(count))
        assert all(len(page) == 1000 for page in pages[:-1])


def test_a_key_that_is_no_key_is_an_error_and_not_a_lost_row(source_url: str) -> None:
    fill(source_url, "CREATE TABLE t (id integer)", ("INSERT INTO t VALUES (?)", [(1,)] * 3))
    query = compiled(a_dataset({"id": "integer"}), "id")
    assert read_all(source_url, query, 3) == [(1,), (1,), (1,)]
    with pytest.raises(SourceBroken, match="key of the dataset things") as caught:
        read_all(source_url, query, 2)
    assert caught.value.code == "source_key_not_unique"


@pytest.mark.parametrize("direction", ["asc", "desc"])
def test_null_in_a_field_that_is_declared_not_null_is_an_error(
    source_url: str, direction: str
) -> None:
    fill(
        source_url,
        "CREATE TABLE t (id integer PRIMARY KEY, v integer)",
        ("INSERT INTO t VALUES (?, ?)", [(1, 1), (2, None), (3, None), (4, 2)]),
    )
    query = compiled(
        a_dataset({"id": "integer", "v": "integer"}, not_null=["v"]),
        "id",
        sort=[{"field": "v", "direction": direction}],
    )
    assert len(read_all(source_url, query, 4)) == 4
    with pytest.raises(SourceBroken, match=r"NULL .*\(v, id\)"):
        read_all(source_url, query, 1)


def test_columns_of_one_name_keep_their_own_values_and_order(source_url: str) -> None:
    fill(
        source_url,
        'CREATE TABLE t (id integer PRIMARY KEY, a integer, "A b%s:x""?" integer)',
        ("INSERT INTO t VALUES (?, ?, ?)", [(n, n * 2, n * 3) for n in range(3)]),
    )
    dataset = a_dataset({"id": "integer", "a": "integer", 'A b%s:x"?': "integer"})
    query = compiled(
        dataset,
        {"field": "a", "label": "a"},
        {"field": 'A b%s:x"?', "label": "a"},
        {"field": "a", "label": "a"},
        {"field": "id", "label": "A"},
        sort=[{"field": 'A b%s:x"?', "direction": "desc"}],
    )
    assert [column.label for column in query.columns] == ["a", "a", "a", "A"]
    for page_rows in (1, 2, 5):
        assert read_all(source_url, query, page_rows) == [(4, 6, 4, 2), (2, 3, 2, 1), (0, 0, 0, 0)]


def test_groups_page_by_an_aggregate_and_by_their_own_values(source_url: str) -> None:
    rows = [
        (1, "a", "1.10"),
        (2, "a", "2.20"),
        (3, None, "0.10"),
        (4, "b", "3.30"),
        (5, "c", None),
        (6, None, "10.20"),
    ]
    type_ = "text" if is_sqlite(source_url) else "numeric"
    fill(
        source_url,
        f"CREATE TABLE t (id integer PRIMARY KEY, g text, v {type_})",
        ("INSERT INTO t VALUES (?, ?, ?)", rows),
    )
    query = compiled(
        a_dataset({"id": "integer", "g": "text", "v": "decimal"}),
        "g",
        {"aggregate": "sum", "field": "v", "label": "total"},
        {"aggregate": "count", "label": "rows"},
        {"aggregate": "count", "field": "v", "label": "known"},
        {"aggregate": "max", "field": "v", "label": "most"},
        sort=[{"label": "total", "direction": "desc"}],
    )
    expected = [
        (None, Decimal("10.30"), 2, 2, Decimal("10.2")),
        ("a", Decimal("3.30"), 2, 2, Decimal("2.2")),
        ("b", Decimal("3.30"), 1, 1, Decimal("3.3")),
        ("c", None, 1, 0, None),
    ]
    for page_rows in (1, 2, 3, 4):
        assert read_all(source_url, query, page_rows) == expected
