"""Random tables of all types: both files hold what the database holds, and agree on every value.

The files are made as the worker makes them, and read by readers that share nothing with the
writers. PostgreSQL's own text of each value is the measure; of SQLite, which has few types, the
value itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings, strategies as st
from sqlalchemy import create_engine, make_url
from sqlalchemy.pool import NullPool

from queries_orchestration.exports.file_writer import FileOptions
from queries_orchestration.exports.paging import is_paged_by_key
from queries_orchestration.exports.sources import read_snapshot
from queries_orchestration.model.columns import ValueType
from queries_orchestration_tests.exports.query_files import TextRows, file_of
from queries_orchestration_tests.exports.read_back import calamine_rows, meaning, read_csv
from queries_orchestration_tests.exports.typed_rows import VALUES
from queries_orchestration_tests.model.definitions import (
    a_dataset,
    compiled,
    fill,
    snapshot_engine,
    sqlite_url,
)
from queries_orchestration_tests.postgres import PostgresServer

NO_GUARD = FileOptions(time_zone="Europe/Berlin", csv_guard=False)
NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")

Table = tuple[list[tuple[str, str]], list[tuple[Any, ...]]]
"""Of each column its types in the catalog and in the database; and the rows."""

INTERVALS = st.builds(
    lambda months, days, seconds: f"{months} months {days} days {seconds} seconds",
    st.integers(-30, 30),
    st.integers(-400, 400),
    st.decimals(-(10**5), 10**5, places=6),
)
BEYOND_PYTHON = st.sampled_from(["infinity", "-infinity", "0044-03-15 BC", "12000-07-01"])
INTEGERS = st.integers(-(2**31), 2**31 - 1)
NULLABLE_INTEGERS = st.lists(INTEGERS | st.just("NULL"), max_size=4)

POSTGRESQL_TYPES: dict[tuple[ValueType, str], st.SearchStrategy[Any]] = {
    ("text", "text"): VALUES["text"] | st.sampled_from(["\\.", "=1", "\r\n", "_x0041_"]),
    ("text", "varchar(20)"): VALUES["text"],
    ("text", "char(5)"): st.text("ab ", max_size=5),
    ("text", "code"): VALUES["text"],
    ("text", "mood"): st.sampled_from(["sad", "so, so", "happy"]),
    ("text", "interval"): INTERVALS,
    ("text", "integer[]"): NULLABLE_INTEGERS.map(lambda items: f"{{{','.join(map(str, items))}}}"),
    ("text", "text[]"): st.lists(VALUES["text"] | st.none(), max_size=3),
    ("text", "int4range"): st.integers(-9, 9).map(lambda start: f"[{start},{start + 5})"),
    ("text", "numrange"): st.sampled_from(["empty", "(,1.50]", "[0.5,)"]),
    ("text", "tstzrange"): st.sampled_from(["(,)", "[2027-07-01 00:00+00,infinity)"]),
    ("text", "inet"): st.ip_addresses().map(str),
    ("text", "cidr"): st.ip_addresses().map(str),
    ("text", "macaddr"): st.just("08:00:2b:01:02:03"),
    ("text", "bit varying"): st.text("01", max_size=8),
    ("text", "point"): st.just("(1.5,-2)"),
    ("text", "tsvector"): st.sampled_from(["a b", "'it''s' 1"]),
    ("text", "pair"): st.sampled_from(["(1,)", '(,"a b")']),
    ("integer", "smallint"): st.integers(-(2**15), 2**15 - 1),
    ("integer", "integer"): INTEGERS,
    ("integer", "bigint"): st.integers(-(2**63), 2**63 - 1),
    ("integer", "whole"): INTEGERS,
    ("decimal", "numeric"): VALUES["decimal"].map(str) | st.sampled_from(["NaN", "Infinity"]),
    ("decimal", "money_of_ours"): st.decimals(-(10**9), 10**9, places=2).map(str),
    ("float", "double precision"): st.floats(),
    ("float", "real"): st.floats(width=32),
    ("boolean", "boolean"): st.booleans(),
    ("date", "date"): VALUES["date"] | BEYOND_PYTHON,
    ("timestamp", "timestamp"): VALUES["timestamp"] | BEYOND_PYTHON,
    ("timestamptz", "timestamptz"): VALUES["timestamptz"] | BEYOND_PYTHON,
    ("time", "time"): VALUES["time"] | st.just("24:00"),
    ("time", "time with time zone"): st.sampled_from(["23:59:00.5+05:30", "01:00-08"]),
    ("uuid", "uuid"): st.uuids().map(str),
    ("json", "json"): VALUES["json"],
    ("json", "jsonb"): st.recursive(st.none() | INTEGERS, st.lists, max_leaves=3).map(json.dumps),
    ("bytes", "bytea"): VALUES["bytes"],
}
SQLITE_TYPES: dict[tuple[ValueType, str], st.SearchStrategy[Any]] = {
    ("text", "text"): VALUES["text"],
    ("integer", "integer"): st.integers(-(2**63), 2**63 - 1),
    ("decimal", "text"): VALUES["decimal"].map(str),
    ("float", "real"): st.floats(allow_nan=False),
    ("boolean", "boolean"): st.booleans(),
    ("date", "text"): st.dates().map(str),
    ("timestamp", "text"): VALUES["timestamp"].map(str),
    ("timestamptz", "text"): VALUES["timestamptz"].map(str),
    ("time", "text"): st.times().map(str),
    ("uuid", "text"): VALUES["uuid"],
    ("json", "text"): VALUES["json"],
    ("bytes", "blob"): VALUES["bytes"],
}


@st.composite
def tables(draw: st.DrawFn, types: dict[tuple[ValueType, str], st.SearchStrategy[Any]]) -> Table:
    columns = draw(st.lists(st.sampled_from(sorted(types)), min_size=1, max_size=6))
    row = st.tuples(*(st.none() | types[column] for column in columns))
    return list(columns), draw(st.lists(row, max_size=7))


@pytest.fixture(scope="module")
def postgresql_url(postgres: PostgresServer) -> Iterator[str]:
    url = postgres.create_database()
    fill(
        url,
        "CREATE DOMAIN code AS text",
        "CREATE DOMAIN whole AS integer",
        "CREATE DOMAIN money_of_ours AS numeric(12,2)",
        "CREATE TYPE mood AS ENUM ('sad', 'so, so', 'happy')",
        "CREATE TYPE pair AS (n integer, s text)",
        # Small as the tables are, an index is to give their order.
        f"ALTER DATABASE {make_url(url).database} SET enable_sort TO off",
    )
    yield url
    postgres.drop(url)


@pytest.fixture(scope="module")
def sqlite_file(tmp_path_factory: pytest.TempPathFactory) -> str:
    return sqlite_url(tmp_path_factory.mktemp("random"))


@settings(max_examples=15)
@given(table=tables(POSTGRESQL_TYPES), page_rows=st.integers(1, 8), has_index=st.booleans())
def test_both_files_hold_what_postgresql_prints(
    postgresql_url: str, table: Table, page_rows: int, has_index: bool
) -> None:
    columns, _ = table
    told, cells = both_files(postgresql_url, table, page_rows, has_index=has_index)
    names = [f"c{number}" for number in range(len(columns))]
    engine = create_engine(postgresql_url, poolclass=NullPool)
    with engine.connect() as connection:
        connection.exec_driver_sql("SET TimeZone = 'Europe/Berlin'")
        selected = ", ".join(
            f"{name}::text::float8::text" if of == "real" else f"{name}::text"
            for name, (_, of) in zip(names, columns, strict=True)
        )
        own = connection.exec_driver_sql(f"SELECT {selected} FROM t ORDER BY id").all()  # noqa: S608
    assert told == [
        [documented(type_, value) for (type_, _), value in zip(columns, row, strict=True)]
        for row in own
    ]
    assert_agree(columns, told, cells)


@settings(max_examples=15)
@given(table=tables(SQLITE_TYPES), page_rows=st.integers(1, 8), has_index=st.booleans())
def test_both_files_hold_what_sqlite_keeps(
    sqlite_file: str, table: Table, page_rows: int, has_index: bool
) -> None:
    columns, rows = table
    told, cells = both_files(sqlite_file, table, page_rows, has_index=has_index)
    for row, line in zip(rows, told, strict=True):
        for (type_, _), stored, text in zip(columns, row, line, strict=True):
            assert (stored is None) == (text is None)
            if text is not None:
                assert meaning(type_, text) == meaning_of_stored(type_, stored)
    assert_agree(columns, told, cells)


def both_files(
    url: str, table: Table, page_rows: int, *, has_index: bool
) -> tuple[TextRows, list[list[object]]]:
    """Write a table into the database, and make and read both files of it."""
    columns, rows = table
    names = [f"c{number}" for number in range(len(columns))]
    declared = [
        f"{name} {in_database}" for name, (_, in_database) in zip(names, columns, strict=True)
    ]
    key = "integer PRIMARY KEY" if has_index else "integer"
    placeholders = ", ".join("?" * (len(names) + 1))
    fill(
        url,
        "DROP TABLE IF EXISTS t",
        f"CREATE TABLE t ({', '.join([f'id {key}', *declared])})",
        (
            f"INSERT INTO t VALUES ({placeholders})",  # noqa: S608
            [(number, *row) for number, row in enumerate(rows)],
        ),
    )
    fields = {"id": "integer"} | {
        name: type_ for name, (type_, _) in zip(names, columns, strict=True)
    }
    query = compiled(a_dataset(fields), *names)
    with snapshot_engine(url) as engine, read_snapshot(engine, 30) as connection:
        assert is_paged_by_key(connection, query) == (has_index and len(rows) > 0)
    made = file_of(url, query, "csv", options=NO_GUARD, page_rows=page_rows)
    book = file_of(url, query, "xlsx", page_rows=page_rows)
    assert made.written.rows == book.written.rows == len(rows)
    told = read_csv(made.content)[1:]
    if not any(cell is not None for row in told for cell in row):
        return told, [[""] * len(columns)] * len(rows)  # for the reader such rows are not there
    cells = calamine_rows(book.content)[1:]
    return told, cells + [[""] * len(columns)] * (len(rows) - len(cells))


def documented(type_: str, text: str | None) -> str | None:
    """Return what docs/formats.md makes of PostgreSQL's own text."""
    if text is None or type_ not in ("timestamp", "timestamptz", "time"):
        return text
    with_t = text if type_ == "time" else text.replace(" ", "T", 1)
    return re.sub(r"(:[0-9.]+[+-][0-9]{2})(?= BC|$)", r"\1:00", with_t)


def meaning_of_stored(type_: str, stored: Any) -> object:
    """Return the value that SQLite was given."""
    match type_:
        case "decimal":
            return Decimal(stored)
        case "date" | "timestamp" | "timestamptz" | "time":
            return meaning(type_, stored)
        case "uuid":
            return str(UUID(stored))
        case _:
            return stored


def assert_agree(
    columns: Sequence[tuple[str, str]], told: TextRows, cells: list[list[object]]
) -> None:
    """See that a workbook's cells are the values of a CSV file's fields."""
    assert len(cells) == len(told)
    for line, row in zip(told, cells, strict=True):
        for (type_, _), text, cell in zip(columns, line, row, strict=True):
            assert agree(type_, text, cell), (type_, text, cell)


def agree(type_: str, text: str | None, cell: object) -> bool:
    if isinstance(cell, str):
        lines = re.sub("\r\n?", "\n", text or "")
        return cell == NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", lines)
    if text is None:
        return False
    if isinstance(cell, bool):
        return cell == {"true": True, "false": False}[text]
    if isinstance(cell, float):
        number = Decimal(text)
        digits = number.as_tuple().digits
        return cell == float(text) and (
            type_ == "float" or len("".join(map(str, digits)).strip("0")) <= 15
        )
    if isinstance(cell, timedelta | time):
        of_day = time.fromisoformat(text)
        return nearly(seconds_of(of_day), seconds_of(cell))
    if isinstance(cell, datetime):
        wall = datetime.fromisoformat(text).replace(tzinfo=UTC)
        return nearly(wall.timestamp(), cell.replace(tzinfo=UTC).timestamp())
    midnight = "" if type_ == "date" else "T00:00:00"
    return isinstance(cell, date) and text[:19] == f"{cell.isoformat()}{midnight}"


def seconds_of(of_day: timedelta | time) -> float:
    if isinstance(of_day, timedelta):
        return of_day.total_seconds()
    return of_day.hour * 3600 + of_day.minute * 60 + of_day.second + of_day.microsecond / 1e6


def nearly(seconds: float, others: float) -> bool:
    """Tell whether two moments are the same for a reader that rounds to milliseconds."""
    return abs(seconds - others) < 0.002
