"""More inputs that broke the files of other products: delimiters, blanks and line ends.

Each test names its case; ``CASES`` tells which test holds which.
"""

from __future__ import annotations

import io

import openpyxl
import pytest

from queries_orchestration.exports.file_writer import FileOptions
from queries_orchestration.model.compile import CompiledQuery
from queries_orchestration.model.errors import InvalidSettings
from queries_orchestration_tests.exports.query_files import csv_of, file_of
from queries_orchestration_tests.exports.read_back import calamine_rows
from queries_orchestration_tests.model.definitions import a_dataset, compiled, fill, is_sqlite


def query_of(types: dict[str, str]) -> CompiledQuery:
    return compiled(a_dataset({"id": "integer", **types}, not_null=["id"]), *types)


def test_the_delimiter_is_a_setting_and_quoting_follows_it(source_url: str) -> None:
    """A01."""
    numeric = "text" if is_sqlite(source_url) else "numeric"
    fill(
        source_url,
        f"CREATE TABLE t (id integer PRIMARY KEY, a text, b text, n {numeric})",
        "INSERT INTO t VALUES (1, '1,5', 'a;b', '1.5')",
    )
    query = query_of({"a": "text", "b": "text", "n": "decimal"})
    told = {
        ",": b'a,b,n\n"1,5",a;b,1.5\n',
        ";": b'a;b;n\n1,5;"a;b";1.5\n',
        "\t": b"a\tb\tn\n1,5\ta;b\t1.5\n",
        "|": b"a|b|n\n1,5|a;b|1.5\n",
    }
    for delimiter, expected in told.items():
        options = FileOptions(time_zone="UTC", csv_delimiter=delimiter)
        assert file_of(source_url, query, options=options).content == expected
    with pytest.raises(InvalidSettings, match="csv_delimiter"):
        FileOptions(time_zone="UTC", csv_delimiter="sep=;")


def test_blanks_around_a_text_are_kept_in_both_formats(source_url: str) -> None:
    """A02."""
    values = ["  a  ", "\tb\t", "\nc"]
    fill(
        source_url,
        "CREATE TABLE t (id integer PRIMARY KEY, a text)",
        ("INSERT INTO t VALUES (?, ?)", list(enumerate(values))),
    )
    query = query_of({"a": "text"})
    told = csv_of(source_url, query, options=FileOptions(time_zone="UTC", csv_guard=False))
    content = file_of(source_url, query, "xlsx").content
    book = openpyxl.load_workbook(io.BytesIO(content))

    assert told == [[value] for value in values]
    assert calamine_rows(content)[1:] == [[value] for value in values]
    assert [row[0].value for row in book.worksheets[0].iter_rows(min_row=2)] == values


def test_line_ends_in_excel_are_its_own_and_never_escapes(source_url: str) -> None:
    """A03."""
    fill(
        source_url,
        "CREATE TABLE t (id integer PRIMARY KEY, a text)",
        ("INSERT INTO t VALUES (?, ?)", [(1, "a\r\nb"), (2, "a\rb")]),
    )
    query = query_of({"a": "text"})
    content = file_of(source_url, query, "xlsx").content
    book = openpyxl.load_workbook(io.BytesIO(content))

    assert calamine_rows(content)[1:] == [["a\nb"], ["a\nb"]]
    assert [row[0].value for row in book.worksheets[0].iter_rows(min_row=2)] == ["a\nb"] * 2
    assert csv_of(source_url, query) == [["a\r\nb"], ["a\rb"]]


CASES = {
    "A01": test_the_delimiter_is_a_setting_and_quoting_follows_it,
    "A02": test_blanks_around_a_text_are_kept_in_both_formats,
    "A03": test_line_ends_in_excel_are_its_own_and_never_escapes,
}


def test_no_case_is_missing() -> None:
    assert list(CASES) == ["A01", "A02", "A03"]
    for case, test in CASES.items():
        assert case in (test.__doc__ or "")
