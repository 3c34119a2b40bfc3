"""Whatever the database, its encoding or its settings: the texts are those of docs/formats.md."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import Any
from zoneinfo import ZoneInfo

import psycopg2
import pytest
from sqlalchemy import make_url

from queries_orchestration.exports.column_texts import column_texts
from queries_orchestration.exports.csv_file import CsvFile
from queries_orchestration.exports.file_writer import FileFormat, FileOptions
from queries_orchestration.exports.sources import read_snapshot
from queries_orchestration.exports.text_form import TextForm
from queries_orchestration.exports.text_pages import text_pages
from queries_orchestration.model.compile import CompiledQuery
from queries_orchestration.model.errors import InvalidRuntimeValue, SourceBroken
from queries_orchestration_tests.exports.query_files import csv_of, file_of
from queries_orchestration_tests.exports.read_back import BERLIN, Sink, calamine_rows, read_csv
from queries_orchestration_tests.model.definitions import (
    POSTGRESQL,
    SQLITE,
    a_dataset,
    compiled,
    fill,
    snapshot_engine,
)
from queries_orchestration_tests.postgres import PostgresServer

BOTH: list[FileFormat] = ["csv", "xlsx"]

EVERYTHING = {
    "a": ("text", "text", ["é", "=1", "\\d\\.", "'", 'say "hi"', ""]),
    "i": ("integer", "bigint", [-42, 0, 2**63 - 1, 1, 2, 3]),
    "n": ("decimal", "numeric", ["-0.50", "0.00000000", "1e20", "NaN", "1", "2"]),
    "x": ("float", "double precision", [0.1, 1 / 3, -1e-7, "NaN", "-Infinity", 1e15]),
    "r": ("float", "real", [0.1, 16777216, 1e20, "Infinity", "-0", 1.5]),
    "b": ("boolean", "boolean", [True, False] * 3),
    "d": (
        "date",
        "date",
        ["2027-07-01", "0044-03-15 BC", "10000-01-01", "infinity", "-infinity", "1900-02-28"],
    ),
    "w": (
        "timestamp",
        "timestamp",
        [
            "2027-07-01 00:30:00.123456",
            "0044-03-15 12:30:00 BC",
            "12000-01-01",
            "infinity",
            "-infinity",
            "1900-01-01",
        ],
    ),
    "z": (
        "timestamptz",
        "timestamptz",
        [
            "2027-07-01 00:30:00.5+02",
            "2027-10-31 00:30:00+00",
            "2027-10-31 01:30:00+00",
            "1800-01-01 00:00+00",
            "infinity",
            "-infinity",
        ],
    ),
    "h": ("time", "time", ["00:30:00.5", "24:00", "23:59", "0:00", "1:00", "2:00"]),
    "u": ("uuid", "uuid", ["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"] * 6),
    "j": ("json", "jsonb", ['{"a": null}', "-1.50", "[]", '"é"', "null", "1e2"]),
    "y": ("bytes", "bytea", [b"\xde\xad", b"", b"\\", b"=", b"\0", b"\xff"]),
    "v": (
        "text",
        "interval",
        ["1 year 2 days 03:04:05.5", "-1 day", "0", "1 month", "-01:00", "1 day"],
    ),
    "l": ("text", "text[]", ['{x,"y,z",NULL}', "{}", '{"\\\\"}', '{""}', "{é}", "{{1},{2}}"]),
    "p": ("text", "tstzrange", ["[2027-01-01 00:00+00,)"] * 6),
}
"""Of each column its type in the catalog, its type in the database, and six values."""

TYPES = {"id": "integer"} | {name: types[0] for name, types in EVERYTHING.items()}


def everything(url: str) -> None:
    """Make and fill a table of every type."""
    declared = ", ".join(f"{name} {types[1]}" for name, types in EVERYTHING.items())
    rows = [
        (number, *values)
        for number, values in enumerate(
            zip(*(types[2] for types in EVERYTHING.values()), strict=True)
        )
    ]
    fill(
        url,
        f"CREATE TABLE t (id integer PRIMARY KEY, {declared})",
        (f"INSERT INTO t VALUES ({', '.join('?' * len(TYPES))})", rows),  # noqa: S608
        ("INSERT INTO t (id) VALUES (?)", [(99,)]),
    )


def all_columns(*sort: str, **rest: Any) -> CompiledQuery:
    return compiled(
        a_dataset(TYPES, not_null=["id"]),
        *EVERYTHING,
        sort=[{"field": name, "direction": "asc"} for name in sort],
        **rest,
    )


@pytest.fixture(scope="module")
def url(postgres: PostgresServer) -> Iterator[str]:
    made = postgres.create_database()
    everything(made)
    yield made
    postgres.drop(made)


SETTINGS = {
    "DateStyle": "German, DMY",
    "IntervalStyle": "sql_standard",
    "extra_float_digits": "-15",
    "TimeZone": "Asia/Kathmandu",
    "bytea_output": "escape",
    "client_encoding": "LATIN1",
    "standard_conforming_strings": "off",
    "search_path": "elsewhere, public, pg_catalog",
    "default_transaction_isolation": "read committed",
    "enable_indexscan": "off",
}


@pytest.mark.parametrize("file_format", BOTH)
@pytest.mark.parametrize("sort", [(), ("x",), ("z",), ("y",), ("v",)])
def test_the_settings_of_a_role_change_nothing_in_a_file(
    url: str, file_format: FileFormat, sort: tuple[str, ...]
) -> None:
    query = all_columns(
        *sort,
        filters=[
            {"field": "a", "op": "ne", "value": "\\' OR true --"},
            {"field": "z", "op": "lt", "value": "2027-10-31T02:30:00+01:00"},
        ],
    )
    plain = file_of(url, query, file_format, page_rows=2)
    with role_with(url, SETTINGS) as theirs:
        as_role = file_of(theirs, query, file_format, page_rows=2)

    assert as_role == plain
    assert plain.written.rows == 4


@contextmanager
def role_with(url: str, settings: dict[str, str]) -> Iterator[str]:
    """Make a role with settings of its own, for as long as it is needed."""
    fill(
        url,
        "CREATE ROLE odd LOGIN SUPERUSER PASSWORD 'odd'",
        "CREATE SCHEMA elsewhere",
        # What stands before pg_catalog on the path would be found in its place.
        "CREATE FUNCTION elsewhere.to_json(timestamp) RETURNS text LANGUAGE sql AS 'SELECT ''no'''",
        *(
            f"ALTER ROLE odd SET {name} TO {setting if name == 'search_path' else repr(setting)}"
            for name, setting in settings.items()
        ),
    )
    yield (make_url(url).set(username="odd", password="odd").render_as_string(hide_password=False))
    fill(url, "DROP SCHEMA elsewhere CASCADE", "DROP ROLE odd")


@contextmanager
def database_in(postgres: PostgresServer, encoding: str) -> Iterator[str]:
    """Make a database that keeps its texts in an encoding."""
    usual = postgres.create_database()
    name = f"{make_url(usual).database}_{encoding.lower()}"
    with autocommit(usual) as cursor:
        cursor.execute(
            f"CREATE DATABASE {name} TEMPLATE template0 ENCODING '{encoding}'"
            " LC_COLLATE 'C' LC_CTYPE 'C'"
        )
    theirs = make_url(usual).set(database=name).render_as_string(hide_password=False)
    yield theirs
    postgres.drop(theirs)
    postgres.drop(usual)


@contextmanager
def autocommit(url: str) -> Iterator[Any]:
    """Open a cursor of which each statement is a transaction."""
    driver_url = make_url(url).set(drivername="postgresql")
    connection = psycopg2.connect(driver_url.render_as_string(hide_password=False))
    connection.autocommit = True
    with connection.cursor() as cursor:
        yield cursor
    connection.close()


@pytest.mark.parametrize("encoding", ["LATIN1", "EUC_JP", "SQL_ASCII"])
def test_a_database_in_another_encoding_gives_the_same_files(
    postgres: PostgresServer, url: str, encoding: str
) -> None:
    query = all_columns("i")
    with database_in(postgres, encoding) as theirs:
        everything(f"{theirs}?client_encoding=utf8")
        for file_format in BOTH:
            plain = file_of(url, query, file_format, page_rows=2)
            assert file_of(theirs, query, file_format, page_rows=2) == plain
            assert plain.written.rows == 7


def test_a_database_of_bytes_that_are_no_unicode_is_named(postgres: PostgresServer) -> None:
    query = compiled(a_dataset({"id": "integer", "a": "text"}), "a")
    with database_in(postgres, "SQL_ASCII") as theirs:
        fill(theirs, "CREATE TABLE t (id integer PRIMARY KEY, a text)")
        with autocommit(theirs) as cursor:
            cursor.execute(b"INSERT INTO t VALUES (1, 'secret \xfc')")
        for file_format in BOTH:
            with pytest.raises(SourceBroken, match=r"dataset things .* encoding") as caught:
                file_of(theirs, query, file_format)
            assert "secret" not in caught.value.message


@pytest.mark.parametrize("op", ["eq", "in", "contains"])
def test_a_text_that_the_databases_encoding_lacks_is_named_as_what_was_asked(
    postgres: PostgresServer, op: str
) -> None:
    asked = {"field": "a", "op": op, "value": ["\U0001f600"] if op == "in" else "\U0001f600"}
    query = compiled(a_dataset({"id": "integer", "a": "text"}), "a", filters=[asked])
    with database_in(postgres, "LATIN1") as theirs:
        fill(theirs, "CREATE TABLE t (id integer PRIMARY KEY, a text)")
        with pytest.raises(InvalidRuntimeValue, match=r"22P05.* asked with the filter on a: give"):
            file_of(theirs, query)


def test_a_zone_that_postgresql_does_not_know_gives_the_same_texts(url: str) -> None:
    with (files("tzdata.zoneinfo") / "Europe" / "Berlin").open("rb") as rules:
        unknown = ZoneInfo.from_file(rules, key="Nowhere/Berlin")
    columns = [name for name in EVERYTHING if name != "p"]  # which the database prints in UTC then
    query = compiled(a_dataset(TYPES, not_null=["id"]), *columns)
    sink = Sink()
    with snapshot_engine(url) as engine, read_snapshot(engine, 30) as connection:
        texts = column_texts(connection, query, TextForm(unknown))
        assert not texts.are_all_rendered
        writer = CsvFile(sink, query.columns, BERLIN)
        for page in text_pages(connection, texts, 2):
            writer.write_page(page)
    assert sink.content == file_of(url, query).content


def test_an_instant_beyond_python_in_an_unknown_zone_is_in_utc(url: str) -> None:
    with (files("tzdata.zoneinfo") / "Europe" / "Berlin").open("rb") as rules:
        unknown = ZoneInfo.from_file(rules, key="Nowhere/Berlin")
    fill(
        url,
        "CREATE TABLE far (id integer PRIMARY KEY, z timestamptz)",
        "INSERT INTO far VALUES (1, '12000-07-01 00:00+00'), (2, '0044-03-15 12:30+00 BC')",
    )
    query = compiled(a_dataset({"id": "integer", "z": "timestamptz"}, relation="far"), "z")
    with snapshot_engine(url) as engine, read_snapshot(engine, 30) as connection:
        texts = column_texts(connection, query, TextForm(unknown))
        (page,) = text_pages(connection, texts)
    assert [list(texts) for texts in page] == [
        ["12000-07-01T00:00:00+00:00", "0044-03-15T12:30:00+00:00 BC"]
    ]


@POSTGRESQL
@pytest.mark.parametrize(
    ("type_", "in_database", "literal", "expected"),
    [
        ("integer", "text", "'many'", "many"),
        ("integer", "numeric", "1.5", "1.5"),
        ("integer", "integer[]", "'{1,NULL}'", "{1,NULL}"),
        ("decimal", "double precision", "1e-7", "0.0000001"),
        ("decimal", "money", "1.5::numeric", "$1.50"),
        ("float", "numeric", "'NaN'", "NaN"),
        ("boolean", "integer", "2", "2"),
        ("boolean", "integer", "1", "true"),
        ("date", "timestamptz", "'2027-07-01 01:00+00'", "2027-07-01 03:00:00+02"),
        ("date", "timestamp", "'2027-07-01'", "2027-07-01"),
        ("timestamp", "date", "'2027-07-01'", "2027-07-01T00:00:00"),
        ("timestamp", "tstzrange", "'empty'", "empty"),
        ("timestamptz", "bigint", "5", "5"),
        ("time", "interval", "'1 day 02:00'", "1 day 02:00:00"),
        ("time", "timetz", "'23:59+05:30'", "23:59:00+05:30"),
        ("time", "timetz", "'24:00+00'", "24:00:00+00"),
        ("uuid", "jsonb", "'{\"a\": [true]}'", '{"a": [true]}'),
        ("bytes", "text", "'=1'", "'=1"),
        ("json", "hstore_like", "(1, 'x')", "(1,x)"),
    ],
)
def test_a_column_of_another_type_than_the_catalog_says_is_told_as_printed(
    source_url: str, type_: str, in_database: str, literal: str, expected: str
) -> None:
    fill(
        source_url,
        "CREATE TYPE hstore_like AS (n integer, s text)",
        f"CREATE TABLE t (id integer PRIMARY KEY, a {in_database})",
        f"INSERT INTO t VALUES (1, {literal})",  # noqa: S608 - a literal of this test
    )
    query = compiled(a_dataset({"id": "integer", "a": type_}), "a")
    assert csv_of(source_url, query) == [[expected]]
    file_of(source_url, query, "xlsx")


LONGEST_CELL = 32_767
NOT_OF_THE_TYPE = [
    ("integer", "many", "many", "many"),
    ("integer", 1.5, "1.5", "1.5"),
    ("integer", "007", "7", 7),
    ("integer", b"\xde\xad", "\\xdead", "\\xdead"),
    ("integer", 1e20, "100000000000000000000", "100000000000000000000"),
    ("integer", float("inf"), "Infinity", "Infinity"),
    ("decimal", "1,5", "1,5", "1,5"),
    ("decimal", "1e-3", "0.001", 0.001),
    ("decimal", 0.1, "0.1", 0.1),
    ("decimal", "1e131071", "1" + "0" * 131_071, None),
    ("decimal", "1E131072", "1E131072", "1E131072"),
    ("decimal", "10e131071", "10e131071", "10e131071"),
    ("decimal", "-1e999999999", "-1e999999999", "-1e999999999"),
    ("decimal", "1e99999999999999999999", "1e99999999999999999999", None),
    ("decimal", "1e-16383", "0." + "0" * 16_382 + "1", "0." + "0" * 16_382 + "1"),
    ("decimal", "1e-16384", "1e-16384", "1e-16384"),
    ("decimal", "10e-16384", "10e-16384", "10e-16384"),
    ("decimal", "1e-999999999", "1e-999999999", "1e-999999999"),
    ("decimal", "0e999999999", "0e999999999", "0e999999999"),
    ("float", "1e308", "1e+308", 1e308),
    ("float", "1e400", "1e400", "1e400"),
    ("float", "-1e999999999", "-1e999999999", "-1e999999999"),
    ("float", "1e-400", "1e-400", "1e-400"),
    ("float", "0e-400", "0", 0),
    ("float", "fast", "fast", "fast"),
    ("float", 2**53, "9.007199254740992e+15", 2**53),
    ("boolean", 2, "2", "2"),
    ("boolean", "yes", "yes", "yes"),
    ("boolean", "true", "true", True),
    ("date", "01.07.2027", "01.07.2027", "01.07.2027"),
    ("date", "2027-02-30", "2027-02-30", "2027-02-30"),
    ("date", "2027-07-01 00:30", "2027-07-01 00:30", "2027-07-01 00:30"),
    ("date", 20270701, "20270701", "20270701"),
    ("timestamp", "2027-07-01T00:30:00+02:00", "2027-07-01T00:30:00+02:00", None),
    ("timestamp", "2027-07-01 00:30:00.1234567", "2027-07-01 00:30:00.1234567", None),
    ("timestamp", "12000-07-01 00:00:00", "12000-07-01 00:00:00", None),
    ("timestamptz", "soon", "soon", "soon"),
    ("timestamptz", 2**60, "1152921504606846976", "1152921504606846976"),
    ("timestamptz", "2027-07-01 00:30:00.123456789Z", "2027-07-01 00:30:00.123456789Z", None),
    ("time", "24:00", "24:00", "24:00"),
    ("time", "12:30:00.0000001", "12:30:00.0000001", None),
    ("uuid", "none", "none", "none"),
    ("json", b"\0", "\\x00", "\\x00"),
    ("bytes", "text", "text", "text"),
    ("bytes", 7, "7", "7"),
    ("text", b"=1", "\\x3d31", "\\x3d31"),
    ("text", 10**15, "1000000000000000", "1000000000000000"),
    ("date", "=1+1", "'=1+1", "=1+1"),
    ("integer", "-1e400", "-1e400", "-1e400"),
]


@SQLITE
@pytest.mark.parametrize(("type_", "stored", "told", "cell"), NOT_OF_THE_TYPE)
def test_what_sqlite_keeps_in_a_column_of_another_type_is_told_as_it_is(
    source_url: str, type_: str, stored: object, told: str, cell: object
) -> None:
    fill(
        source_url,
        "CREATE TABLE t (id integer PRIMARY KEY, a)",
        ("INSERT INTO t VALUES (1, ?)", [(stored,)]),
    )
    query = compiled(a_dataset({"id": "integer", "a": type_}), "a")
    made = file_of(source_url, query, "csv", options=FileOptions(time_zone="Europe/Berlin"))

    assert read_csv(made.content)[1] == [told]
    workbook = file_of(source_url, query, "xlsx")
    if workbook.written.cut_cells:
        assert len(told) > LONGEST_CELL
        return
    assert calamine_rows(workbook.content)[1] == [told if cell is None else cell]
