"""A large report fits in a worker's memory; `make bench` tells how long it takes."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from pypdf import PdfReader
from python_calamine import CalamineWorkbook

from queries_orchestration_tests.house import House
from queries_orchestration_tests.reports.ten_sections import (
    REPORT,
    ROWS,
    TABLES,
    build_sales_house,
    make_in_child,
)


@pytest.fixture
def sales_house(tmp_path: Path) -> House:
    return build_sales_house(tmp_path)


def test_ten_sections_with_two_thousand_rows_are_printed_in_400_megabytes(
    sales_house: House,
) -> None:
    made = make_in_child(sales_house, REPORT, "pdf")

    reader = PdfReader(io.BytesIO(made.content))
    text = "".join(page.extract_text() for page in reader.pages)
    assert text.count("& Sons") == 2_000
    assert text.count("The first 500 of") == len(TABLES)
    assert made.megabytes < 400


def test_ten_sections_with_twenty_thousand_rows_are_a_workbook_in_300_megabytes(
    sales_house: House,
) -> None:
    made = make_in_child(sales_house, REPORT, "xlsx")

    book = CalamineWorkbook.from_filelike(io.BytesIO(made.content))
    sheets = [book.get_sheet_by_name(title).to_python() for title in TABLES]
    rows = [row for sheet in sheets for row in sheet if "& Sons" in str(row[1])]
    assert len(rows) == ROWS
    assert {len(row) for row in rows} == {8}
    assert made.megabytes < 300
