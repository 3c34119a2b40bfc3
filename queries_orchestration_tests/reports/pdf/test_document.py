"""A report as PDF."""

from __future__ import annotations

import io
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from pypdf import PdfReader

from queries_orchestration.model.columns import Column
from queries_orchestration.reports.content import Chart, Content, Series, Table, Text
from queries_orchestration.reports.pdf import document as pdf_module
from queries_orchestration.reports.pdf.document import write_pdf
from queries_orchestration_tests.reports.pdf.printed import (
    links_of,
    names_of,
    print_report,
    right_edge_of,
    text_of,
)
from queries_orchestration_tests.reports.pdf.samples import (
    BERLIN,
    REGION,
    comparison,
    content,
    days_chart,
    head,
    names_chart,
    number,
    numbered,
    sales_table,
    weekly_report,
    wide_table,
)

A4 = (595, 842)
MILLIMETRE = 72 / 25.4


@pytest.fixture(scope="module")
def weekly() -> PdfReader:
    """An ordinary report."""
    return print_report(weekly_report())[0]


def test_the_head_says_what_was_read_when_and_by_whom(weekly: PdfReader) -> None:
    first = " ".join(weekly.pages[0].extract_text().split())
    assert first.startswith(
        "Northwind Trading Sales of the week For 2027-01-04 08:00 Europe/Berlin (UTC+01:00) Read"
        " 2027-01-04 08:00 Europe/Berlin (UTC+01:00) Data as Ada Lovelace may see it Version 3"
        " Region north From 2026-12-28 Contents"
    )


def test_each_page_has_its_number_and_later_pages_the_title(weekly: PdfReader) -> None:
    pages = len(weekly.pages)
    assert pages == 5
    for place, page in enumerate(weekly.pages, 1):
        text = page.extract_text()
        assert f"Page {place} of {pages}" in text
        assert text.count("Northwind Trading") == 1


def test_the_contents_tell_the_pages_of_the_sections(weekly: PdfReader) -> None:
    first = weekly.pages[0].extract_text()
    page = next(
        n for n, each in enumerate(weekly.pages, 1) if "Customer 0 & Sons" in each.extract_text()
    )
    lines = " ".join(first.split())
    assert f"Customers {page} Customers without an address" in lines
    destinations = {
        str(a.get_object()["/Dest"])
        for a in weekly.pages[0].annotations or ()
        if "/Dest" in a.get_object()
    }
    assert destinations == {f"section-{n}" for n in range(2, 12)}


def test_two_titled_sections_have_no_list_of_contents() -> None:
    reader, _ = print_report(numbered(content(number(1), "One"), content(number(2), "Two")))
    assert "Contents" not in text_of(reader)


def test_the_outline_has_the_sections(weekly: PdfReader) -> None:
    outline: Any = weekly.outline
    report, sections = outline
    assert report["/Title"] == "Sales of the week"
    titles = [each["/Title"] for each in sections]
    assert titles == [each.title for each in weekly_report() if each.title]


def test_the_file_has_title_language_and_tags(weekly: PdfReader) -> None:
    assert weekly.metadata is not None
    assert weekly.metadata.title == "Sales of the week"
    assert weekly.metadata.author == "Northwind Trading"
    root: Any = weekly.trailer["/Root"]
    assert root["/Lang"] == "en"
    assert root["/MarkInfo"]["/Marked"]
    assert {"/Figure", "/Table", "/TH", "/H2"} <= names_of(weekly)
    assert "Line chart of Region 1, Region 2 by Day" in names_of(weekly)


def test_a_text_is_printed_with_its_links(weekly: PdfReader) -> None:
    text = text_of(weekly)
    assert "Sales rose in most regions; the south needs a look. See the price list." in text
    assert "Prices changed on 1 March. Returns are counted in the month of the order." in text
    assert "• • 1. 2." in text
    assert links_of(weekly) == ["https://example.com/prices"]


def test_numbers_are_printed_as_tiles(weekly: PdfReader) -> None:
    text = text_of(weekly)
    assert "1,234,567.89" in text
    assert "▲ +321 (+8%) Previous period: 4,000" in text
    assert "▼ -25 (-25%) Previous period: 100" in text


def test_tables_have_their_values_and_totals(weekly: PdfReader) -> None:
    text = text_of(weekly)
    assert (
        "Customer 25 & Sons Lyon 2027-01-01 2027-01-03 01:30 925 29,864.25 \N{EN DASH} no" in text
    )
    assert "Total 28,490 1,234,567.50" in text


def test_the_columns_heads_are_on_every_page_of_a_table(weekly: PdfReader) -> None:
    pages = [page.extract_text() for page in weekly.pages]
    with_rows = [page for page in pages if " & Sons" in page]
    assert len(with_rows) == 2
    assert all("Shipped" in page for page in with_rows)


def test_notices_are_printed(weekly: PdfReader) -> None:
    assert "Note. The first 60 of 4,213 rows are shown. The totals count all" in text_of(weekly)


def test_a_section_without_rows_says_so_in_its_place(weekly: PdfReader) -> None:
    text = text_of(weekly)
    assert "Customers without an address Customer City" in text
    assert "Paid No rows Complaints by region No rows" in text


def test_a_number_without_rows_says_so() -> None:
    reader, _ = print_report([content(number(None, is_empty=True), "Sales")])
    assert "Sales No rows" in text_of(reader)


def test_a_comparison_with_nothing_says_so() -> None:
    reader, _ = print_report([content(comparison(3, None, None, None), "Sales")])
    assert "No change can be told. Previous period: \N{EN DASH}" in text_of(reader)


def test_a_chart_of_nothing_but_null_says_so() -> None:
    chart = Chart(
        kind="line",
        x=REGION,
        x_values=("a",),
        series=(Series(label="s", column=REGION, values=(None,)),),
    )
    assert "No numbers to draw." in text_of(print_report([content(chart)])[0])


def test_what_a_chart_leaves_out_is_told() -> None:
    chart = Chart(
        kind="line",
        x=REGION,
        x_values=("a", "b"),
        series=(Series(label="s", column=REGION, values=(1, Decimal("1e400"))),),
    )
    assert "Note. 1 of the numbers cannot be drawn" in text_of(print_report([content(chart)])[0])


def test_charts_are_vectors() -> None:
    reader, _ = print_report([content(days_chart(series=2)), content(names_chart())])
    assert not any(page.images for page in reader.pages)
    assert "Region 1 Region 2" in text_of(reader)


@pytest.mark.parametrize("columns", [2, 10, 20, 40])
def test_a_wide_table_stays_on_the_paper(columns: int) -> None:
    table = wide_table(columns, rows=3)
    reader, _ = print_report([content(table)])
    text = text_of(reader)
    for label in (column.label for column in table.columns):
        assert label in text
    for page in reader.pages:
        width, height = page.mediabox.width, page.mediabox.height
        assert {round(width), round(height)} == set(A4)
        assert right_edge_of(page) < width - 18 * MILLIMETRE
    is_landscape = reader.pages[-1].mediabox.width > reader.pages[-1].mediabox.height
    assert is_landscape == (columns > 10)


def test_a_table_wider_than_paper_repeats_its_first_column() -> None:
    text = text_of(print_report([content(wide_table(40, rows=2))])[0])
    blocks = text.count("Region 1 ")
    assert blocks > 1
    assert text.count("Columns ") == blocks
    assert "to 40 of 40" in text


def test_after_a_wide_table_the_paper_is_upright_again() -> None:
    reader, _ = print_report(numbered(content(wide_table(20)), content(number(1), "After")))
    last = reader.pages[-1]
    assert "After" in last.extract_text()
    assert last.mediabox.height > last.mediabox.width


@pytest.mark.parametrize("word", ["x" * 1_500, "日本語" * 500, "שלום עולם " * 100, "😀" * 300])
def test_long_words_are_broken(word: str) -> None:
    table = Table(
        columns=(Column(word, "text"), REGION), rows=[(word, word), ("", None)], totals=None
    )
    reader, _ = print_report(
        [content(table, word[:300]), content(Text(markdown=word))],
        head([], title=word[:300], workspace=word, reader=word, values=((word, word),)),
    )
    for page in reader.pages:
        assert right_edge_of(page) < page.mediabox.width - 18 * MILLIMETRE


def test_contents_are_read_once_and_one_after_the_other() -> None:
    alive: list[int] = []

    class Rows(list[tuple[object, ...]]):
        def __del__(self) -> None:
            alive.append(-1)

    def sections() -> Iterator[Content]:
        for place in range(1, 5):
            alive.append(1)
            rows = Rows([(place,)])
            yield content(
                Table(columns=(REGION,), rows=rows, totals=None), str(place), number=place
            )
            del rows
            assert sum(alive) <= 2

    write_pdf(head(), sections(), io.BytesIO())
    assert sum(alive) <= 1


def test_a_large_table_is_printed_without_tags(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf_module, "TAGGED_CELLS", 79)
    assert "/TD" in names_of(print_report([content(sales_table(8))])[0])
    assert "/TD" not in names_of(print_report([content(sales_table(9))])[0])


def test_the_same_contents_have_the_same_pages() -> None:
    one, other = (io.BytesIO(), io.BytesIO())
    for sink in (one, other):
        write_pdf(head(), [content(days_chart()), content(sales_table(30))], sink)
    assert one.getvalue() == other.getvalue()


def test_a_report_without_sections_is_one_page() -> None:
    reader, replaced = print_report([])
    assert len(reader.pages) == 1
    assert replaced == 0
    assert BERLIN in text_of(reader)
