"""PostgreSQL's COPY, its printed texts and our own conversion make the very same file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any, cast
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings, strategies as st
from sqlalchemy import Connection

from queries_orchestration.exports.column_texts import ColumnTexts, column_texts, to_texts
from queries_orchestration.exports.copy_formats import (
    COLUMNS_OPTIONS,
    columns_of,
    csv_options,
)
from queries_orchestration.exports.copy_pages import copy_pages
from queries_orchestration.exports.csv_file import CsvFile
from queries_orchestration.exports.file_writer import FileOptions
from queries_orchestration.exports.sources import engine_of, read_snapshot
from queries_orchestration.exports.text_form import TextForm
from queries_orchestration.exports.text_pages import text_pages
from queries_orchestration.model.columns import ValueType
from queries_orchestration.model.compile import CompiledQuery
from queries_orchestration_tests.exports.read_back import Sink
from queries_orchestration_tests.exports.typed_rows import VALUES
from queries_orchestration_tests.model.definitions import a_dataset, compiled, fill
from queries_orchestration_tests.postgres import PostgresServer

ZONES = ["UTC", "Europe/Berlin", "America/St_Johns", "Asia/Kathmandu", "Pacific/Apia"]

TYPES = {
    "text": ("text", ["text", "varchar(200)"]),
    "integer": ("integer", ["bigint", "integer", "smallint"]),
    "decimal": ("decimal", ["numeric", "bigint"]),
    "float": ("float", ["double precision", "real"]),
    "boolean": ("boolean", ["boolean"]),
    "date": ("date", ["date"]),
    "timestamp": ("timestamp", ["timestamp"]),
    "timestamptz": ("timestamptz", ["timestamptz"]),
    "time": ("time", ["time"]),
    "uuid": ("uuid", ["uuid"]),
    "json": ("json", ["json", "jsonb"]),
    "bytes": ("bytes", ["bytea"]),
}
"""By type of the catalog, the types that a column of it may have in the database."""

RANGES = {"bigint": 2**63, "integer": 2**31, "smallint": 2**15}


@pytest.fixture(scope="module")
def url(postgres: PostgresServer) -> Iterator[str]:
    made = postgres.create_database()
    yield made
    postgres.drop(made)


def values_of(type_: str, in_database: str) -> st.SearchStrategy[Any]:
    """Values of a type of the catalog that a column of the database can hold."""
    if in_database in RANGES:
        return st.integers(-RANGES[in_database], RANGES[in_database] - 1)
    if in_database == "real":
        return st.floats(width=32, allow_nan=False)
    if in_database == "jsonb":
        return st.recursive(st.none() | st.integers(), st.lists, max_leaves=3).map(json.dumps)
    if in_database == "numeric":
        return VALUES[cast(ValueType, type_)] | st.just(Decimal("NaN"))
    if in_database == "text":
        starts = st.sampled_from([*"=+-@\t\r,\"\n;|'", "\\.", "-1", "NULL", ""])
        return VALUES["text"] | st.tuples(starts, VALUES["text"]).map("".join)  # type: ignore[arg-type]
    return VALUES[cast(ValueType, type_)]


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[tuple[str, str]], list[tuple[Any, ...]]]:
    """One to five columns, each its catalog's and its database's type, and up to seven rows."""
    names = draw(st.lists(st.sampled_from(sorted(TYPES)), min_size=1, max_size=5))
    columns = [(name, draw(st.sampled_from(TYPES[name][1]))) for name in names]
    row = st.tuples(*(st.none() | values_of(*column) for column in columns))
    return columns, draw(st.lists(row, max_size=7))


@settings(max_examples=60)
@given(
    table=tables(),
    zone=st.sampled_from(ZONES),
    delimiter=st.sampled_from([",", ";", "\t", "|"]),
    is_guarded=st.booleans(),
    page_rows=st.integers(1, 8),
    descending=st.booleans(),
)
def test_a_file_has_the_same_bytes_whoever_makes_them(
    url: str,
    table: tuple[list[tuple[str, str]], list[tuple[Any, ...]]],
    zone: str,
    delimiter: str,
    is_guarded: bool,
    page_rows: int,
    descending: bool,
) -> None:
    columns, rows = table
    query = _filled(url, columns, rows, descending=descending)
    options = FileOptions(time_zone=zone, csv_guard=is_guarded, csv_delimiter=delimiter)

    with read_snapshot(engine_of(url), 30) as connection:
        texts = column_texts(connection, query, TextForm(ZoneInfo(zone)))
        assert texts.are_all_rendered
        copied = [
            _copied(connection, texts, options, page_rows, by_key=way) for way in (True, False)
        ]
        printed = [
            way(connection, texts, options, page_rows, by_key=by_key)
            for way in (_written, _columns)
            for by_key in (True, False)
        ]
        ours = _written(connection, _converted_here(texts, zone), options, page_rows, by_key=True)

    assert copied[0] == ours
    assert copied[1] == ours
    assert printed == [ours] * 4


@pytest.mark.parametrize(
    ("type_", "in_database", "literal", "expected"),
    [
        ("date", "date", "'infinity'", "infinity"),
        ("date", "date", "'-infinity'", "-infinity"),
        ("date", "date", "'0044-03-15 BC'", "0044-03-15 BC"),
        ("date", "date", "'10000-01-01'", "10000-01-01"),
        ("timestamp", "timestamp", "'infinity'", "infinity"),
        ("timestamp", "timestamp", "'-infinity'", "-infinity"),
        ("timestamp", "timestamp", "'0044-03-15 12:30 BC'", "0044-03-15T12:30:00 BC"),
        ("timestamptz", "timestamptz", "'-infinity'", "-infinity"),
        ("timestamptz", "timestamptz", "'1969-12-31 23:59:59.5+00'", "1970-01-01T00:59:59.5+01:00"),
        ("timestamptz", "timestamptz", "'2100-01-01 00:00+00'", "2100-01-01T01:00:00+01:00"),
        ("timestamptz", "timestamptz", "'1800-01-01 00:00+00'", "1800-01-01T00:53:28+00:53:28"),
        ("timestamptz", "timestamptz", "'12000-07-01 00:00+00'", "12000-07-01T02:00:00+02:00"),
        ("time", "time", "'24:00'", "24:00:00"),
        ("decimal", "numeric", "'Infinity'", "Infinity"),
        ("decimal", "numeric", "'-Infinity'", "-Infinity"),
        ("float", "double precision", "'-Infinity'", "-Infinity"),
        ("float", "double precision", "'NaN'", "NaN"),
        ("float", "double precision", "1e15", "1e+15"),
        ("float", "double precision", "'-0.0'", "-0"),
        ("float", "real", "16777216", "16777216"),
        ("float", "real", "0.1", "0.1"),
        ("text", "interval", "'1 year 2 days 03:04:05.5'", "1 year 2 days 03:04:05.5"),
        ("text", "interval", "'-1 day'", "'-1 days"),
        ("text", "integer[]", "'{1,NULL,3}'", '"{1,NULL,3}"'),
        ("text", "int4range", "'[1,5)'", '"[1,5)"'),
        ("text", "inet", "'10.0.0.0/8'", "10.0.0.0/8"),
        ("text", "macaddr", "'08:00:2b:01:02:03'", "08:00:2b:01:02:03"),
        ("text", "bit(3)", "'101'", "101"),
        ("text", "money", "'-1.5'::numeric", "'-$1.50"),
        ("text", "xml", "'<a>1</a>'", "<a>1</a>"),
        ("json", "json", "'\t{\"a\":1.50}'", '"\t{""a"":1.50}"'),
        ("json", "jsonb", "'-1.50'", "-1.50"),
    ],
)
def test_values_beyond_python_and_types_that_the_catalog_calls_text_are_as_printed(
    url: str, type_: str, in_database: str, literal: str, expected: str
) -> None:
    fill(
        url,
        "DROP TABLE IF EXISTS t",
        f"CREATE TABLE t (id integer PRIMARY KEY, a {in_database})",
        f"INSERT INTO t VALUES (1, {literal})",  # noqa: S608 - a literal of this test
    )
    query = compiled(a_dataset({"id": "integer", "a": type_}, not_null=["id"]), "a")
    options = FileOptions(time_zone="Europe/Berlin")

    with read_snapshot(engine_of(url), 30) as connection:
        texts = column_texts(connection, query, TextForm(options.zone))
        copied = _copied(connection, texts, options, 5, by_key=True)
        printed = _written(connection, texts, options, 5, by_key=True)
        columns = _columns(connection, texts, options, 5, by_key=True)

    assert texts.are_all_rendered
    assert copied.decode() == f"a\n{expected}\n"
    assert printed == columns == copied


def _filled(
    url: str,
    columns: list[tuple[str, str]],
    rows: list[tuple[Any, ...]],
    *,
    descending: bool,
) -> CompiledQuery:
    names = [f"c{number}" for number in range(len(columns))]
    declared = ", ".join(
        f"{name} {in_database}" for name, (_, in_database) in zip(names, columns, strict=True)
    )
    fill(url, "DROP TABLE IF EXISTS t", f"CREATE TABLE t (id integer PRIMARY KEY, {declared})")
    if rows:
        places = ", ".join("?" * (len(names) + 1))
        numbered = [
            (number, *(str(value) if isinstance(value, Decimal) else value for value in row))
            for number, row in enumerate(rows)
        ]
        fill(url, (f"INSERT INTO t VALUES ({places})", numbered))  # noqa: S608 - placeholders
    fields = {"id": "integer"} | {
        name: type_ for name, (type_, _) in zip(names, columns, strict=True)
    }
    direction = "desc" if descending else "asc"
    return compiled(
        a_dataset(fields, not_null=["id"]), *names, sort=[{"field": "id", "direction": direction}]
    )


def _converted_here(texts: ColumnTexts, zone: str) -> ColumnTexts:
    form = TextForm(ZoneInfo(zone))
    return replace(
        texts,
        oids=(None,) * len(texts.oids),
        converters=tuple(to_texts(column.type, form) for column in texts.query.columns),
    )


def _copied(
    connection: Connection,
    texts: ColumnTexts,
    options: FileOptions,
    page_rows: int,
    *,
    by_key: bool,
) -> bytes:
    sink = Sink()
    writer = CsvFile(sink, texts.query.columns, options)
    copy_pages(
        connection,
        texts,
        writer.write_lines,
        options=csv_options(options.csv_delimiter),
        is_guarded=options.csv_guard,
        page_rows=page_rows,
        by_key=by_key,
    )
    return sink.content


def _written(
    connection: Connection,
    texts: ColumnTexts,
    options: FileOptions,
    page_rows: int,
    *,
    by_key: bool,
) -> bytes:
    sink = Sink()
    writer = CsvFile(sink, texts.query.columns, options)
    for page in text_pages(connection, texts, page_rows, by_key=by_key):
        writer.write_page(page)
    return sink.content


def _columns(
    connection: Connection,
    texts: ColumnTexts,
    options: FileOptions,
    page_rows: int,
    *,
    by_key: bool,
) -> bytes:
    sink = Sink()
    writer = CsvFile(sink, texts.query.columns, options)
    width = len(texts.query.columns)
    copy_pages(
        connection,
        texts,
        lambda lines, _rows: writer.write_page(columns_of(lines, width)),
        options=COLUMNS_OPTIONS,
        is_guarded=False,
        page_rows=page_rows,
        by_key=by_key,
    )
    return sink.content
