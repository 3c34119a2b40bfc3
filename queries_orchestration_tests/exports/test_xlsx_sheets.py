"""The workbook around the cells: header, widths, titles, further sheets."""

from __future__ import annotations

import io
import re

import openpyxl
import pytest
from hypothesis import given, strategies as st
from python_calamine import load_workbook

from queries_orchestration.exports.file_writer import FileOptions, check_columns, open_writer
from queries_orchestration.exports.sheet_title import sheet_title
from queries_orchestration.exports.xlsx_stream.stream import XlsxStream
from queries_orchestration.model.columns import Column
from queries_orchestration.model.errors import FormatLimit
from queries_orchestration_tests.exports.read_back import (
    BERLIN,
    Cell,
    Sink,
    as_page,
    calamine_rows,
    read_sheet,
    written,
)


def test_the_header_is_bold_and_frozen_and_an_empty_result_has_it() -> None:
    content = written("xlsx", [Column("a", "text"), Column("b", "integer")])
    assert read_sheet(content) == [
        [Cell("text", "a", bold=True), Cell("text", "b", bold=True)],
    ]
    book = openpyxl.load_workbook(io.BytesIO(content))
    assert [sheet.freeze_panes for sheet in book.worksheets] == ["A2"]


def test_widths_follow_the_first_page_within_bounds() -> None:
    columns = [Column("a", "text"), Column("b", "text"), Column("c", "text")]
    pages = [[], [("x", "y" * 20, "z\n" * 500 + "z" * 500)], [("x" * 50, "", "")]]
    content = written("xlsx", columns, *pages)
    sheet = openpyxl.load_workbook(io.BytesIO(content)).worksheets[0]
    assert [sheet.column_dimensions[letter].width for letter in "ABC"] == [8, 22, 60]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ("Flights [2027]: a/b\\c*?", "Flights  2027   a b c"),
        ("a\x0bb", "a b"),
        ("'quoted'", "quoted"),
        ("", "Result"),
        (" '' ", "Result"),
        ("History", "Result"),
        ("x" * 40, "x" * 31),
        ("🛫" * 40, "🛫" * 15),
    ],
)
def test_a_sheet_title_is_cleaned_of_what_excel_refuses(wanted: str, expected: str) -> None:
    options = FileOptions(time_zone="UTC", sheet_title=wanted)
    content = written("xlsx", [Column("a", "text")], options=options)
    assert load_workbook(io.BytesIO(content)).sheet_names == [expected]


@given(st.text(), st.integers(1, 120))
def test_any_sheet_title_is_one_that_excel_accepts(wanted: str, number: int) -> None:
    title = sheet_title(wanted, number)
    assert 1 <= len(title.encode("utf-16-le")) / 2 <= 31
    assert not re.search(r"[\[\]:*?/\\\x00-\x1f]", title)
    assert title == title.strip("'")
    assert title.lower() != "history"


def rows_of_sheets(count: int, sheet_rows: int) -> list[list[list[object]]]:
    sink = Sink()
    options = FileOptions(time_zone="UTC", sheet_title="x" * 40)
    writer = XlsxStream(sink, [Column("n", "integer")], options, sheet_rows=sheet_rows)
    with writer:
        writer.write_page(as_page([(str(n),) for n in range(count)]))
        writer.finish()
    assert writer.rows == count
    book = load_workbook(io.BytesIO(sink.content))
    names = ["x" * 31, "x" * 27 + " (2)", "x" * 27 + " (3)"]
    assert book.sheet_names == names[: len(book.sheet_names)]
    return [calamine_rows(sink.content, n + 1) for n in range(len(book.sheet_names))]


def test_rows_beyond_a_sheet_go_to_further_sheets_with_their_header() -> None:
    assert rows_of_sheets(3, 4) == [[["n"], [0], [1], [2]]]
    assert rows_of_sheets(4, 4) == [[["n"], [0], [1], [2]], [["n"], [3]]]
    assert rows_of_sheets(7, 4) == [[["n"], [0], [1], [2]], [["n"], [3], [4], [5]], [["n"], [6]]]


def test_too_many_columns_are_refused_and_csv_is_offered() -> None:
    columns = [Column("a", "integer")] * 16_385
    for refuse in (
        lambda: check_columns("xlsx", columns),
        lambda: open_writer("xlsx", Sink(), columns, BERLIN),
    ):
        with pytest.raises(FormatLimit, match=r"16,385 columns.*16,384.*CSV"):
            refuse()
    check_columns("xlsx", columns[1:])
    check_columns("csv", columns)
