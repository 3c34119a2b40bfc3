"""Cells are exact values of their type, and totals keep every digit."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from uuid import UUID

import pytest

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
)


def test_an_aggregate_of_no_rows_is_one_row(source_url: str) -> None:
    fill(source_url, "CREATE TABLE t (id integer PRIMARY KEY, v integer)")
    query = compiled(
        a_dataset({"id": "integer", "v": "integer"}),
        {"aggregate": "count", "label": "n"},
        {"aggregate": "sum", "field": "v", "label": "s"},
    )
    assert read_all(source_url, query, 1) == [(0, None)]


def test_sums_are_exact_and_the_same_whatever_the_order(source_url: str) -> None:
    money = "text" if is_sqlite(source_url) else "numeric"
    large = "12345678901234567890.0000000001"
    rows = [(1, 0.1, large, 2**62), (2, 0.2, "0.2", 3), (3, 1e16, "0.3", 1), (4, -1e16, "0", 1)]
    fill(
        source_url,
        f"CREATE TABLE t (id integer PRIMARY KEY, f double precision, d {money}, i bigint)",
        ("INSERT INTO t VALUES (?, ?, ?, ?)", rows),
    )
    query = compiled(
        a_dataset({"id": "integer", "f": "float", "d": "decimal", "i": "integer"}),
        {"aggregate": "sum", "field": "d", "label": "d"},
        {"aggregate": "sum", "field": "i", "label": "i"},
        {"aggregate": "avg", "field": "i", "label": "a"},
        {"aggregate": "sum", "field": "f", "label": "f"},
    )
    total, integers, average, floats = read_all(source_url, query)[0]
    assert total == Decimal("12345678901234567890.5000000001")
    assert integers == 2**62 + 5
    assert type(integers) is int
    assert isinstance(average, Decimal)
    assert abs(average - Decimal(2**62 + 5) / 4) < Decimal("0.3")
    assert isinstance(floats, float)
    if not is_sqlite(source_url):
        assert floats == 0.3


@POSTGRESQL
def test_cells_have_the_exact_type_of_their_column_on_postgresql(source_url: str) -> None:
    fill(
        source_url,
        "CREATE TABLE t (id bigint PRIMARY KEY, x text, n numeric(38,10), f real, b boolean,"
        " d date, w timestamp, z timestamptz, h time, u uuid, j json, y bytea, l text[])",
        "INSERT INTO t (id) VALUES (2)",
        "INSERT INTO t VALUES (9007199254740993, 'é', 12345678901234567890.0123456789, 0.1, true,"
        " '2026-01-31', '2026-01-31 01:02:03.000004', '2026-01-31 01:02:03.000004+02', '23:59',"
        " '00000000-0000-0000-0000-00000000002a', '{\"a\": 1.50}', '\\xdeadbeef',"
        " ARRAY['x', 'y,z', NULL])",
    )
    types = {
        "id": "integer",
        "x": "text",
        "n": "decimal",
        "f": "float",
        "b": "boolean",
        "d": "date",
        "w": "timestamp",
        "z": "timestamptz",
        "h": "time",
        "u": "uuid",
        "j": "json",
        "y": "bytes",
        "l": "text",
    }
    empty, full = read_all(source_url, compiled(a_dataset(types), *types))
    assert empty == (2, *[None] * 12)
    assert full == (
        9007199254740993,
        "é",
        Decimal("12345678901234567890.0123456789"),
        0.1,
        True,
        date(2026, 1, 31),
        datetime(2026, 1, 31, 1, 2, 3, 4),  # noqa: DTZ001  # a wall time
        datetime(2026, 1, 30, 23, 2, 3, 4, UTC),
        datetime(2026, 1, 1, 23, 59, tzinfo=UTC).time(),
        UUID(int=42),
        '{"a": 1.50}',
        b"\xde\xad\xbe\xef",
        '{x,"y,z",NULL}',
    )


@SQLITE
def test_what_sqlite_stores_is_sorted_as_stored_and_read_as_the_type(source_url: str) -> None:
    fill(
        source_url,
        "CREATE TABLE t (id integer PRIMARY KEY, w timestamp, z text, n decimal(10,2), m text)",
        (
            "INSERT INTO t VALUES (?, ?, ?, ?, ?)",
            [
                (1, "2026-01-02 00:00:00", "2026-01-01T00:00:00Z", "1.50", "9.90"),
                (2, "2026-01-01 00:00:00.000001", "2026-01-01 02:00:00+02:00", 2, "10.00"),
                (3, "2026-01-01", "2026-01-01 00:00:00", 0.1, "-1"),
            ],
        ),
    )
    types = {
        "id": "integer",
        "w": "timestamp",
        "z": "timestamptz",
        "n": "decimal",
        "m": "decimal",
    }
    dataset = a_dataset(types)
    by_w = read_all(source_url, compiled(dataset, "id", "w", sort=[{"field": "w"}]), 1)
    assert [row[0] for row in by_w] == [3, 2, 1]
    assert by_w[1][1] == datetime(2026, 1, 1, 0, 0, 0, 1)  # noqa: DTZ001  # a wall time
    same = read_all(source_url, compiled(dataset, "z"), 1)
    assert same == [(datetime(2026, 1, 1, tzinfo=UTC),)] * 3
    by_m = read_all(source_url, compiled(dataset, "m", "n", sort=[{"field": "m"}]), 1)
    assert by_m == [
        (Decimal("-1"), Decimal("0.1")),
        (Decimal("9.90"), Decimal("1.5")),
        (Decimal("10.00"), Decimal(2)),
    ]


@SQLITE
def test_a_stored_value_that_is_not_of_the_type_names_the_column_and_not_the_value(
    source_url: str,
) -> None:
    fill(
        source_url,
        "CREATE TABLE t (id integer PRIMARY KEY, d)",
        "INSERT INTO t VALUES (1, 'secret')",
    )
    for type_ in ("date", "integer", "decimal", "timestamptz", "boolean", "uuid", "bytes"):
        query = compiled(
            a_dataset({"id": "integer", "d": type_}), {"field": "d", "label": "Due day"}
        )
        with pytest.raises(SourceBroken, match="'Due day'") as caught:
            read_all(source_url, query)
        assert "secret" not in caught.value.message
