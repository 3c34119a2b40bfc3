"""Inputs that broke the CSV and Excel files of other products, from the source to the file.

Each test names its case; ``CASES`` tells which test holds which.
"""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from typing import Any

import pytest
from sqlalchemy import create_engine, make_url, text
from sqlalchemy.exc import ProgrammingError
from sqlalchemy.pool import NullPool

from queries_orchestration.exports.file_writer import FileFormat, FileOptions
from queries_orchestration.model.columns import Column
from queries_orchestration_tests.exports.query_files import csv_of, file_of
from queries_orchestration_tests.exports.read_back import (
    BERLIN,
    Cell,
    calamine_rows,
    read_csv,
    read_sheet,
    written,
)
from queries_orchestration_tests.model.definitions import (
    POSTGRESQL,
    SQLITE,
    a_dataset,
    compiled,
    fill,
    is_sqlite,
)

BOTH: list[FileFormat] = ["csv", "xlsx"]
LONE = "\N{REPLACEMENT CHARACTER}"


def query_of(types: dict[str, str], **rest: Any) -> Any:
    return compiled(a_dataset({"id": "integer", **types}, not_null=["id"]), *types, **rest)


def test_text_that_a_spreadsheet_would_run_is_inert_and_numbers_are_untouched(
    source_url: str,
) -> None:
    """C01."""
    texts = ["=1+1", "+1", "-1+2", "@SUM(A1)", "\t=1+1", "\r=1+1"]
    numeric = "text" if is_sqlite(source_url) else "numeric(4,2)"
    fill(
        source_url,
        "CREATE TABLE t (id integer PRIMARY KEY, a text, b text, c text, d text, e text, f text,"
        f" i integer, n {numeric}, x double precision)",
        ("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", [(1, *texts, -42, "-0.50", -1e-7)]),
    )
    numbers = {"i": "integer", "n": "decimal", "x": "float"}
    query = query_of(dict.fromkeys("abcdef", "text") | numbers)

    made = file_of(source_url, query, "csv").content
    row = calamine_rows(file_of(source_url, query, "xlsx").content)[1]

    assert made.decode().endswith(",-42,-0.50,-1e-07\n")
    assert read_csv(made)[1][:6] == [f"'{value}" for value in texts]
    assert row == [*texts[:5], "\n=1+1", -42, -0.5, -1e-7]


def test_a_mark_comes_once_and_first_however_many_pages_there_are(source_url: str) -> None:
    """C03."""
    fill(
        source_url,
        "CREATE TABLE t (id integer PRIMARY KEY, ville text)",
        ("INSERT INTO t VALUES (?, ?)", [(n, "Zürich €") for n in range(3001)]),
    )
    query = compiled(a_dataset({"id": "integer", "ville": "text"}), "id", "ville")
    options = FileOptions(time_zone="Europe/Berlin", csv_bom=True)

    with_mark = file_of(source_url, query, options=options).content
    without = file_of(source_url, query).content

    assert with_mark == b"\xef\xbb\xbf" + without
    assert without.startswith("id,ville\n0,Zürich €\n".encode())
    assert b"\xef\xbb\xbf" not in without
    assert without.count(b"\n") == 3002


def test_line_ends_and_quotes_within_a_value_end_no_row(source_url: str) -> None:
    """C04."""
    values = ["a\rb", "a\r\nb", "a\nb", 'say "hi", ok', '"']
    fill(
        source_url,
        "CREATE TABLE t (id integer PRIMARY KEY, a text, b text)",
        ("INSERT INTO t VALUES (?, ?, 'x')", list(enumerate(values))),
    )
    query = query_of({"a": "text", "b": "text"})
    for page_rows in (1, 2, 1000):
        content = file_of(source_url, query, page_rows=page_rows).content
        assert read_csv(content) == [["a", "b"], *([value, "x"] for value in values)]
        assert list(csv.reader(io.StringIO(content.decode(), newline="")))[1:] == [
            [value, "x"] for value in values
        ]


def test_null_the_empty_text_and_the_word_null_are_three_things_in_both_formats(
    source_url: str,
) -> None:
    """C05."""
    rows = [(1, None, ""), (2, "", None), (3, "NULL", "None")]
    fill(
        source_url,
        "CREATE TABLE t (id integer PRIMARY KEY, a text, b text)",
        ("INSERT INTO t VALUES (?, ?, ?)", rows),
    )
    query = query_of({"a": "text", "b": "text"})
    for page_rows in (1, 2, 1000):
        made = file_of(source_url, query, page_rows=page_rows).content
        sheet = read_sheet(file_of(source_url, query, "xlsx", page_rows=page_rows).content)
        assert made == b'a,b\n,""\n"",\nNULL,None\n'
        assert sheet[1:] == [
            [None, Cell("text", "")],
            [Cell("text", ""), None],
            [Cell("text", "NULL"), Cell("text", "None")],
        ]


EXACT = [
    ("numeric(20,8)", "0", "0.00000000", 0.0),
    ("numeric", "1e20", "100000000000000000000", "100000000000000000000"),
    ("bigint", "9007199254740993", "9007199254740993", "9007199254740993"),
    ("bigint", "9223372036854775807", "9223372036854775807", "9223372036854775807"),
    (
        "numeric(38,10)",
        "12345678901234567890.0123456789",
        "12345678901234567890.0123456789",
        "12345678901234567890.0123456789",
    ),
    ("numeric(5,2)", "1.50", "1.50", 1.5),
]


@POSTGRESQL
@pytest.mark.parametrize(("type_", "literal", "expected", "cell"), EXACT)
def test_a_number_is_the_text_of_the_database_digit_for_digit(
    source_url: str, type_: str, literal: str, expected: str, cell: object
) -> None:
    """C07."""
    fill(
        source_url,
        f"CREATE TABLE t (id integer PRIMARY KEY, n {type_})",
        f"INSERT INTO t VALUES (1, {literal})",  # noqa: S608 - a literal of this test
    )
    engine = create_engine(source_url, poolclass=NullPool)
    with engine.connect() as connection:
        told = connection.scalar(text("SELECT n::text FROM t"))
    query = query_of({"n": "integer" if type_ == "bigint" else "decimal"})

    assert csv_of(source_url, query) == [[told]] == [[expected]]
    assert calamine_rows(file_of(source_url, query, "xlsx").content)[1] == [cell]


@SQLITE
@pytest.mark.parametrize(("type_", "stored", "expected", "cell"), EXACT)
def test_a_number_that_sqlite_keeps_exactly_is_told_digit_for_digit(
    source_url: str, type_: str, stored: str, expected: str, cell: object
) -> None:
    """C07; SQLite keeps integers of 64 bits, and any decimals as text."""
    is_integer = type_ == "bigint"
    fill(
        source_url,
        f"CREATE TABLE t (id integer PRIMARY KEY, n {'integer' if is_integer else 'text'})",
        ("INSERT INTO t VALUES (1, ?)", [(int(expected) if is_integer else expected,)]),
    )
    query = query_of({"n": "integer" if is_integer else "decimal"})

    assert csv_of(source_url, query) == [[expected]]
    assert calamine_rows(file_of(source_url, query, "xlsx").content)[1] == [cell]


def test_no_type_ends_a_file_or_becomes_a_repr(source_url: str) -> None:
    """C08."""
    uuid = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"
    if is_sqlite(source_url):
        columns, row = (
            "j text, l text, y blob, u text, yes boolean, no boolean",
            """'{"a": null, "ok": true}', '{x,"y,z",NULL}', x'deadbeef', '%s', true, false""",
        )
    else:
        columns, row = (
            "j jsonb, l text[], y bytea, u uuid, yes boolean, no boolean",
            """'{"a":null,"ok":true}', '{x,"y,z",NULL}', '\\xdeadbeef', '%s', true, false""",
        )
    fill(
        source_url,
        f"CREATE TABLE t (id integer PRIMARY KEY, {columns})",
        "INSERT INTO t VALUES (1, " + row % uuid + ")",  # noqa: S608 - of this test
    )
    query = query_of(
        {
            "j": "json",
            "l": "text",
            "y": "bytes",
            "u": "uuid",
            "yes": "boolean",
            "no": "boolean",
        }
    )
    texts = ['{"a": null, "ok": true}', '{x,"y,z",NULL}', "\\xdeadbeef", uuid]

    (told,) = csv_of(source_url, query)
    cells = calamine_rows(file_of(source_url, query, "xlsx").content)[1]

    assert told == [*texts, "true", "false"]
    assert json.loads(told[0] or "") == {"a": None, "ok": True}
    assert cells == [*texts, True, False]


@pytest.mark.parametrize("file_format", BOTH)
def test_columns_of_one_name_each_have_their_own_values(
    source_url: str, file_format: FileFormat
) -> None:
    """C09: ``SELECT 1 AS a, 2 AS a, 3 AS "A"``, and a join of which both sides have a ``v``."""
    columns = [Column("a", "integer"), Column("a", "integer"), Column("A", "integer")]
    assert rows_of(written(file_format, columns, [(1, 2, 3)]), file_format) == [
        ["a", "a", "A"],
        ["1", "2", "3"],
    ]
    fill(
        source_url,
        "CREATE TABLE t1 (k integer PRIMARY KEY, v text)",
        "CREATE TABLE t2 (k integer PRIMARY KEY, v text)",
        ("INSERT INTO t1 VALUES (?, ?)", [(1, "left 1"), (2, "left 2")]),
        ("INSERT INTO t2 VALUES (?, ?)", [(1, "right 2"), (2, "right 1")]),
        "CREATE VIEW t AS SELECT t1.k, t1.v, t2.v AS other FROM t1 JOIN t2 USING (k)",
    )
    dataset = a_dataset({"k": "integer", "v": "text", "other": "text"}, key=["k"])
    query = compiled(
        dataset,
        {"field": "v", "label": "v"},
        {"field": "other", "label": "v"},
        sort=[{"field": "other", "direction": "asc"}],
    )
    for page_rows in (1, 2):
        content = file_of(source_url, query, file_format, page_rows=page_rows).content
        assert rows_of(content, file_format) == [
            ["v", "v"],
            ["left 2", "right 1"],
            ["left 1", "right 2"],
        ]


@POSTGRESQL
def test_a_relation_of_which_two_columns_have_one_name_cannot_be(source_url: str) -> None:
    """C09: a query names the columns of a relation, of which PostgreSQL lets no two be the same."""
    fill(source_url, "CREATE TABLE t1 (k integer, v text)", "CREATE TABLE t2 (k integer, v text)")
    with pytest.raises(ProgrammingError, match="more than once"):
        fill(source_url, "CREATE VIEW t AS SELECT t1.v, t2.v FROM t1 JOIN t2 USING (k)")


BROKEN = [
    ("a\0b", f"a{LONE}b", 1),
    (b"a\xed\xa0\x80b", f"a{LONE * 3}b", 3),  # what would be half of a surrogate pair
    (b"a\xfcb", f"a{LONE}b", 1),  # Latin-1
]


@SQLITE
@pytest.mark.parametrize("file_format", BOTH)
@pytest.mark.parametrize(("stored", "expected", "count"), BROKEN)
def test_a_broken_character_in_row_1500_is_replaced_and_counted(
    source_url: str, file_format: FileFormat, stored: str | bytes, expected: str, count: int
) -> None:
    """C11."""
    fill(
        source_url,
        "CREATE TABLE t (id integer PRIMARY KEY, v text)",
        ("INSERT INTO t VALUES (?, 'x')", [(n,) for n in range(1, 2001)]),
    )
    with sqlite3.connect(make_url(source_url).database or "") as connection:
        connection.execute("UPDATE t SET v = CAST(? AS TEXT) WHERE id = 1500", (stored,))
    connection.close()

    made = file_of(source_url, query_of({"v": "text"}), file_format)

    rows = rows_of(made.content, file_format)
    assert (len(rows), rows[1500], rows[1501]) == (2001, [expected], ["x"])
    assert (made.written.rows, made.written.replaced_characters) == (2000, count)


@POSTGRESQL
def test_an_escaped_nul_in_json_stays_escaped(source_url: str) -> None:
    """C11: PostgreSQL keeps no NUL and no half of a surrogate pair, but JSON may spell them."""
    fill(
        source_url,
        "CREATE TABLE t (id integer PRIMARY KEY, j json)",
        ("INSERT INTO t VALUES (1, ?)", [('["a\\u0000b", "\\ud800"]',)]),
    )
    made = file_of(source_url, query_of({"j": "json"}))
    assert read_csv(made.content)[1] == ['["a\\u0000b", "\\ud800"]']
    assert made.written.replaced_characters == 0


def test_an_instant_is_the_same_in_both_files_and_wall_times_are_not_shifted(
    source_url: str,
) -> None:
    """C12."""
    columns = (
        "z text, w text, h text"
        if is_sqlite(source_url)
        else "z timestamptz, w timestamp, h time with time zone"
    )
    fill(
        source_url,
        f"CREATE TABLE t (id integer PRIMARY KEY, {columns})",
        "INSERT INTO t VALUES (1, '2027-07-01 00:30:00.123456+02:00', '2027-07-01 00:30:00',"
        " '23:59:00+00:00')",
    )
    query = query_of({"z": "timestamptz", "w": "timestamp", "h": "time"})

    assert csv_of(source_url, query) == [
        ["2027-07-01T00:30:00.123456+02:00", "2027-07-01T00:30:00", "23:59:00+00:00"]
    ]
    header, row = calamine_rows(file_of(source_url, query, "xlsx").content)
    assert header == ["z (Europe/Berlin)", "w", "h"]
    assert [str(cell)[:23] for cell in row] == [
        "2027-07-01 00:30:00.123",
        "2027-07-01 00:30:00",
        "23:59:00+00:00",
    ]


def rows_of(content: bytes, file_format: FileFormat) -> list[list[str | None]]:
    """The texts of a file of whole numbers and texts."""
    if file_format == "csv":
        return read_csv(content, BERLIN.csv_delimiter)
    return [
        [f"{cell:g}" if isinstance(cell, float) else str(cell) for cell in row]
        for row in calamine_rows(content)
    ]


CASES = {
    "C01": test_text_that_a_spreadsheet_would_run_is_inert_and_numbers_are_untouched,
    "C03": test_a_mark_comes_once_and_first_however_many_pages_there_are,
    "C04": test_line_ends_and_quotes_within_a_value_end_no_row,
    "C05": test_null_the_empty_text_and_the_word_null_are_three_things_in_both_formats,
    "C07": test_a_number_is_the_text_of_the_database_digit_for_digit,
    "C08": test_no_type_ends_a_file_or_becomes_a_repr,
    "C09": test_columns_of_one_name_each_have_their_own_values,
    "C11": test_a_broken_character_in_row_1500_is_replaced_and_counted,
    "C12": test_an_instant_is_the_same_in_both_files_and_wall_times_are_not_shifted,
}
IDS = "C01 C03 C04 C05 C07 C08 C09 C11 C12"


def test_no_case_is_missing() -> None:
    assert list(CASES) == IDS.split()
    for case, test in CASES.items():
        assert case in (test.__doc__ or "")
