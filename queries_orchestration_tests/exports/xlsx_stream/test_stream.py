"""The workbook around the cells: header, widths, titles, further sheets; bytes as they come."""

from __future__ import annotations

import io
import subprocess
import sys
import tracemalloc
import zipfile

import openpyxl
import pytest
from hypothesis import given, strategies as st
from python_calamine import load_workbook

from queries_orchestration.exports.file_writer import FileOptions
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
)
from queries_orchestration_tests.exports.xlsx_stream.streamed import TextRow, number, streamed, text

NUMBERS = [Column("n", "integer")]


def test_the_header_is_bold_and_frozen_and_an_empty_result_has_it() -> None:
    content, _ = streamed([Column("a", "text"), Column("b", "integer")])
    assert read_sheet(content) == [[Cell("text", "a", bold=True), Cell("text", "b", bold=True)]]
    (sheet,) = openpyxl.load_workbook(io.BytesIO(content)).worksheets
    assert sheet.freeze_panes == "A2"


def test_widths_follow_the_first_page_within_bounds() -> None:
    columns = [
        Column("a", "text"),
        Column("b", "text"),
        Column("c", "text"),
        Column("x" * 20, "text"),
    ]
    pages: list[list[TextRow]] = [
        [],
        [("x", "y" * 20, "z\n" * 500 + "z" * 500, None)],
        [("x" * 50, "", "", "")],
    ]
    sheet = openpyxl.load_workbook(io.BytesIO(streamed(columns, *pages)[0])).worksheets[0]
    assert [sheet.column_dimensions[letter].width for letter in "ABCD"] == [8, 22, 60, 22]


def test_cells_stand_in_the_columns_that_excel_calls_after_z_aa() -> None:
    columns = [Column(str(index), "integer") for index in range(16_384)]
    row = [None if index % 3 else str(index) for index in range(16_384)]
    content, _ = streamed(columns, [row])
    assert read_sheet(content)[1] == [
        None if index % 3 else number(str(index)) for index in range(16_384)
    ]
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        sheet = archive.read("xl/worksheets/sheet1.xml")
    for letters in (b"Z", b"AA", b"ZZ", b"AAA", b"XFD"):
        assert b'<c r="%s1"' % letters in sheet


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ("Flights [2027]: a/b", "Flights  2027   a b"),
        ("", "Result"),
        ("a\x0bb", "a b"),
        ("a<b>&\"c'", 'a<b>&"c'),
    ],
)
def test_a_sheet_has_a_title_that_excel_accepts(wanted: str, expected: str) -> None:
    content, _ = streamed(NUMBERS, options=FileOptions(time_zone="UTC", sheet_title=wanted))
    assert load_workbook(io.BytesIO(content)).sheet_names == [expected]


@pytest.mark.parametrize("page_rows", [1, 2, 3, 100])
@pytest.mark.parametrize(
    ("count", "sheets"),
    [(0, [[]]), (3, [[0, 1, 2]]), (4, [[0, 1, 2], [3]]), (7, [[0, 1, 2], [3, 4, 5], [6]])],
)
def test_rows_beyond_a_sheet_go_to_further_sheets_with_their_header(
    page_rows: int, count: int, sheets: list[list[int]]
) -> None:
    sink = Sink()
    options = FileOptions(time_zone="UTC", sheet_title="x" * 40)
    rows = [(str(n),) for n in range(count)]
    with XlsxStream(sink, NUMBERS, options, sheet_rows=4) as writer:
        for start in range(0, count, page_rows):
            writer.write_page(as_page(rows[start : start + page_rows]))
        writer.finish()
    assert writer.rows == count
    names = ["x" * 31, "x" * 27 + " (2)", "x" * 27 + " (3)"]
    assert load_workbook(io.BytesIO(sink.content)).sheet_names == names[: len(sheets)]
    found = [calamine_rows(sink.content, n) for n in range(1, len(sheets) + 1)]
    assert found == [[["n"], *[[n] for n in sheet]] for sheet in sheets]


def test_one_row_more_than_a_sheet_holds_is_on_the_next_sheet() -> None:
    sink = Sink()
    with XlsxStream(sink, NUMBERS, BERLIN) as writer:
        for start in range(1, 1_048_577, 4_096):
            writer.write_page(as_page([(str(n),) for n in range(start, start + 4_096)]))
        writer.finish()
    assert writer.rows == 1_048_576
    with zipfile.ZipFile(io.BytesIO(sink.content)) as archive:
        sheet = archive.read("xl/worksheets/sheet1.xml")
    assert sheet.count(b"<row ") == 1_048_576
    last = b'<row r="1048576"><c r="A1048576"><v>1048575</v></c></row></sheetData></worksheet>'
    assert sheet.endswith(last)
    assert calamine_rows(sink.content, 2) == [["n"], [1_048_576]]


def test_a_row_larger_than_a_sheet_leaves_no_empty_sheet_before_it() -> None:
    sink = Sink()
    with XlsxStream(sink, [Column("a", "text")], BERLIN, sheet_bytes=2_000) as writer:
        for _ in range(2):
            writer.write_page(as_page([("x" * 3_000,)]))
        writer.finish()
    assert [len(calamine_rows(sink.content, number)) for number in (1, 2)] == [2, 2]
    assert len(load_workbook(io.BytesIO(sink.content)).sheet_names) == 2


@pytest.mark.parametrize(("page_rows", "most", "sheets"), [(10, 20_000, 4), (200, 40_000, 2)])
def test_a_sheet_whose_xml_would_be_too_large_ends_and_nothing_is_counted_twice(
    page_rows: int, most: int, sheets: int
) -> None:
    sink = Sink()
    rows = [(f"{n}\x0b" + "x" * 200,) for n in range(200)]
    with XlsxStream(sink, [Column("a", "text")], BERLIN, sheet_bytes=most) as writer:
        for start in range(0, 200, page_rows):
            writer.write_page(as_page(rows[start : start + page_rows]))
        writer.finish()
    with zipfile.ZipFile(io.BytesIO(sink.content)) as archive:
        sizes = [info.file_size for info in archive.infolist() if "worksheets" in info.filename]
    assert len(sizes) == sheets
    assert max(sizes) <= most
    found = [row for n in range(1, sheets + 1) for row in read_sheet(sink.content, n)[1:]]
    assert found == [[text(row[0].replace("\x0b", "�"))] for row in rows]
    assert (writer.rows, writer.replaced_characters) == (200, 200)


def test_a_file_that_would_be_too_large_is_refused_and_csv_is_offered() -> None:
    sink = Sink()
    page = [(str(n * n),) for n in range(20_000)]
    with XlsxStream(sink, NUMBERS, BERLIN, file_bytes=5_000) as writer:
        with pytest.raises(FormatLimit, match=r"more than 5,000 bytes.*CSV") as caught:
            writer.write_page(as_page(page))
        assert caught.value.code == "format_limit"
    assert len(sink.content) <= 5_000


def test_a_row_of_another_width_is_refused() -> None:
    columns = [Column("a", "text"), Column("b", "text")]
    for page in ([("x",)], [("x", "y"), ("x",)], [("x", "y", "z")]):
        with pytest.raises(ValueError, match="zip"):
            streamed(columns, page)


def test_pages_reach_the_sink_as_they_come_and_it_stays_open() -> None:
    sink = Sink()
    with XlsxStream(sink, NUMBERS, BERLIN) as writer:
        sizes = []
        for start in range(0, 30_000, 10_000):
            writer.write_page(as_page([(str(n * 7919),) for n in range(start, start + 10_000)]))
            sizes.append(len(sink.content))
        writer.finish()
    assert 10_000 < sizes[0] < sizes[1] < sizes[2] < len(sink.content)
    assert len(sink.content) - sizes[2] < 50_000
    assert b"" not in sink.written


def test_a_writer_given_up_leaves_no_workbook() -> None:
    sink = Sink()
    writer = XlsxStream(sink, NUMBERS, BERLIN)
    with writer:
        writer.write_page(as_page([("1",)]))
    written = sink.content
    del writer
    assert sink.content == written
    assert not zipfile.is_zipfile(io.BytesIO(written))


def test_the_stream_needs_no_openpyxl() -> None:
    code = (
        "import sys, queries_orchestration.exports.xlsx_stream.stream\n"
        "assert not {'openpyxl', 'lxml', 'numpy'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_memory_does_not_grow_with_the_rows() -> None:
    def peak(pages: int) -> int:
        class Nowhere:
            def write(self, data: bytes, /) -> int:
                return len(data)

        columns = [Column("a", "text"), Column("b", "timestamp"), Column("c", "date")]
        tracemalloc.start()
        with XlsxStream(Nowhere(), columns, BERLIN) as writer:
            for page in range(pages):
                day = f"2027-07-{page % 28 + 1:02}"
                writer.write_page(
                    as_page([(f"{page} {n}", f"{day}T00:00:00", day) for n in range(200)])
                )
            writer.finish()
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    few, many = peak(8), peak(80)
    assert many < few + 100_000


@given(st.lists(st.lists(st.tuples(st.text("ab", max_size=3)), max_size=5), max_size=5))
def test_the_file_does_not_depend_on_the_pages(pages: list[list[tuple[str]]]) -> None:
    columns = [Column("a", "text")]
    together = [row for page in pages for row in page]
    assert read_sheet(streamed(columns, *pages)[0]) == read_sheet(streamed(columns, together)[0])
