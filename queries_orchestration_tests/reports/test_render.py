"""A report's file: what stands at its head, how much it shows, and that both formats say it."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
import yaml
from pypdf import PdfReader
from python_calamine import CalamineWorkbook

from queries_orchestration.exports.export_file import ExportFile, find_file
from queries_orchestration.exports.generate import Patience, Written
from queries_orchestration.exports.open_report import OpenedReport
from queries_orchestration.exports.open_source import open_file_source
from queries_orchestration.model.errors import ReceiveTimeout
from queries_orchestration.reports.content import Head
from queries_orchestration.reports.read import Bounds
from queries_orchestration.reports.render import (
    bounds_of,
    head_of,
    report_producer,
    write_report,
)
from queries_orchestration.settings import load_settings
from queries_orchestration_tests.exports.admitted import admit
from queries_orchestration_tests.house import MONDAY, House, make_orders
from queries_orchestration_tests.report_house import (
    SALES,
    SECTIONS,
    build_report_house,
    report_catalog,
)
from queries_orchestration_tests.reports.opened import (
    PLENTY,
    Impatient,
    Patient,
    open_sections,
    shown,
    table,
)

HEAD = Head(
    title="Sales",
    workspace="Acme",
    reader="Ada Owner",
    moment=datetime(2027, 1, 4, 7, 0, tzinfo=UTC),
    read_at=datetime(2027, 1, 4, 7, 2, tzinfo=UTC),
    time_zone="Europe/Berlin",
    version=3,
    values=(),
    headings=((1, "Table"),),
)
BOTH = pytest.mark.parametrize("file_format", ["pdf", "xlsx"])


@pytest.fixture
def database_kind() -> str:
    """One kind is enough here; reading is tested with both."""
    return "sqlite"


@pytest.fixture
def orders(source_url: str) -> str:
    """The URL of 30 orders."""
    make_orders(source_url, 30)
    return source_url


@pytest.fixture
def house(tmp_path: Path, store_url: str, source_url: str) -> House:
    """The house with the report, its schedule and a parameter that may have no value."""
    house = build_report_house(tmp_path, store_url, source_url)
    parameters = [
        *SALES["parameters"],
        {"name": "note", "type": "text", "required": False, "label": "Note"},
    ]
    sections = [{"text": "Untitled."}, *SECTIONS]
    catalog = yaml.safe_load(
        report_catalog(reports={"sales": {**SALES, "parameters": parameters, "sections": sections}})
    )
    house.apply(yaml.safe_dump(catalog))
    return house


def test_the_head_of_an_export_is_that_of_who_asked_when(house: House) -> None:
    house.clock.at = MONDAY
    file, opened = _opened(house, time_zone="America/New_York", values={"at_least": 7})

    assert head_of(file, opened, read_at=MONDAY + timedelta(minutes=1)) == Head(
        title="Sales of the week",
        workspace="Acme",
        reader="Ada Owner",
        moment=MONDAY,
        read_at=MONDAY + timedelta(minutes=1),
        time_zone="America/New_York",
        version=2,
        values=(("At least", 7),),
        headings=(
            (2, "About"),
            (3, "Amounts by region"),
            (4, "Large orders"),
            (5, "Nobody's orders"),
        ),
    )


def test_the_head_tells_the_defaults_and_every_value_that_there_is(house: House) -> None:
    by_default, with_note = _opened(house), _opened(house, values={"note": "urgent"})

    assert head_of(*by_default, read_at=MONDAY).values == (("At least", 0),)
    assert head_of(*with_note, read_at=MONDAY).values == (("At least", 0), ("Note", "urgent"))


def test_a_page_shows_fewer_rows_than_a_section_reads_and_a_workbook_all_of_them() -> None:
    settings = load_settings({"QUERIES_PUBLIC_URL": "https://queries.example.org"})

    assert bounds_of("pdf", settings) == Bounds(
        section_reads=20_000, table_shows=500, document_shows=3_000, document_cells=25_000
    )
    workbook = bounds_of("xlsx", settings)
    assert (workbook.section_reads, workbook.table_shows) == (20_000, 20_000)
    # so many that no report of fifty sections reaches it
    assert workbook.document_shows == 50 * 20_000


def test_the_bounds_are_settings() -> None:
    settings = load_settings(
        {
            "QUERIES_PUBLIC_URL": "https://queries.example.org",
            "QUERIES_REPORT_ROWS": "30",
            "QUERIES_REPORT_SECTION_ROWS": "20",
            "QUERIES_REPORT_DOCUMENT_ROWS": "10",
            "QUERIES_REPORT_DOCUMENT_CELLS": "77",
        }
    )

    assert bounds_of("pdf", settings) == Bounds(
        section_reads=30, table_shows=20, document_shows=10, document_cells=77
    )
    assert bounds_of("xlsx", settings).table_shows == 30


@BOTH
def test_both_formats_say_what_was_read_and_left_out(orders: str, file_format: str) -> None:
    opened = open_sections(
        orders,
        table(totals=["amount"]),
        table(title="Empty", since=99),
        shown("number", "count", "How many", value="orders"),
        {"text": "The *end*."},
    )
    told: list[int] = []

    bounds = Bounds(section_reads=25, table_shows=20, document_shows=99, document_cells=1_000_000)
    written, content = _write(opened, file_format, bounds=bounds, progress=told.append)

    text = _text(content, file_format)
    for words in (
        "Sales",
        "Ada Owner",
        "The query has more than 25 rows; this section is made of the first 25.",
        "The first 20 of 25 rows are shown. The totals count all 25.",
        "331.25",
        "20.25",
        "No rows",
        "How many",
        "30",
        "The end.",
    ):
        assert words in text
    assert "21.25" not in text
    assert written == Written(
        rows=26, replaced_characters=0, cut_cells=0, cut_sections=1, snapshot_at=HEAD.read_at
    )
    assert told == [25, 25, 26, 26]


@BOTH
def test_characters_that_the_format_cannot_hold_are_counted(orders: str, file_format: str) -> None:
    _change(orders, "UPDATE orders SET region = 'a' || char(1) || 'b' || char(2) WHERE id = 3")

    written, _ = _write(open_sections(orders, table()), file_format)

    assert (written.rows, written.replaced_characters) == (30, 2)


def test_a_text_that_a_cell_cannot_hold_is_cut_and_counted(orders: str) -> None:
    _change(orders, "UPDATE orders SET region = printf('%.*c', 40000, 'x') WHERE id = 3")

    written, _ = _write(open_sections(orders, table()), "xlsx")

    assert written.cut_cells == 1


@BOTH
def test_the_deadline_ends_it_between_two_sections(orders: str, file_format: str) -> None:
    opened = open_sections(orders, table(), table(title="Again"))
    sink = io.BytesIO()

    with pytest.raises(ReceiveTimeout, match="the test's deadline"):
        _write_into(sink, opened, file_format, patience=Impatient(2))

    assert sink.getvalue() == b""


@BOTH
def test_a_producer_writes_with_the_bounds_of_its_format_and_the_patience_it_is_given(
    house: House, file_format: str
) -> None:
    file, opened = _opened(house, file_format=file_format)
    settings = replace(house.backends.settings, report_section_rows=3, report_rows=5)
    checked: list[None] = []

    class Counting(Patient):
        def check(self) -> None:
            checked.append(None)

    sink = io.BytesIO()
    produce = report_producer(file, opened, settings=settings, patience=Counting(), read_at=MONDAY)
    written = produce(sink, lambda rows: None)

    text = _text(sink.getvalue(), file_format)
    # five regions for the chart, five orders for the table, none of nobody's
    assert (written.rows, written.snapshot_at) == (10, MONDAY)
    assert "made of the first 5" in text
    assert ("The first 3 of 5 rows are shown" in text) is (file_format == "pdf")
    # each section, and each of the two pages that were read
    assert len(checked) == len(opened.sections) + 2


@BOTH
def test_no_value_of_a_row_reaches_a_log(
    orders: str, file_format: str, caplog: pytest.LogCaptureFixture
) -> None:
    _change(orders, "UPDATE orders SET region = 'Confidential' || id, amount = 98765.43")
    caplog.set_level("DEBUG")
    opened = open_sections(
        orders,
        table(),
        shown("bar", "orders", "Bars", x="region", y="amount"),
        shown("line", "orders", "Lines", x="id", y="amount", by="region"),
        shown("number", "latest", "Number", value="amount", since=24_601, until=24_601),
    )

    _write(opened, file_format)

    for secret in ("Confidential", "98765", "24601"):
        assert secret not in caplog.text


def _opened(
    house: House,
    *,
    file_format: str = "xlsx",
    time_zone: str | None = None,
    values: dict[str, Any] | None = None,
) -> tuple[ExportFile, OpenedReport]:
    """Let ada ask for the report; return the export and what it is made of."""
    export_id = admit(
        house,
        query="sales",
        file_format=file_format,
        time_zone=time_zone,
        values=values,
    )
    with house.backends.database.across.read() as connection:
        file = find_file(connection, house.workspace_id, export_id)
        assert file is not None
        opened = open_file_source(
            connection, file, actor_id=house.person("ada"), environment=house.environment
        )
    assert isinstance(opened, OpenedReport)
    return file, opened


def _write(
    opened: OpenedReport,
    file_format: str,
    *,
    bounds: Bounds = PLENTY,
    progress: Callable[[int], None] = lambda rows: None,
) -> tuple[Written, bytes]:
    sink = io.BytesIO()
    written = _write_into(sink, opened, file_format, bounds=bounds, progress=progress)
    return written, sink.getvalue()


def _write_into(
    sink: io.BytesIO,
    opened: OpenedReport,
    file_format: str,
    *,
    bounds: Bounds = PLENTY,
    progress: Callable[[int], None] = lambda rows: None,
    patience: Patience | None = None,
) -> Written:
    return write_report(
        sink,
        progress,
        head=HEAD,
        file_format=file_format,
        opened=opened,
        bounds=bounds,
        patience=patience or Patient(),
    )


def _text(content: bytes, file_format: str) -> str:
    """Return everything that a file says."""
    if file_format == "pdf":
        pages = PdfReader(io.BytesIO(content)).pages
        return " ".join("\n".join(page.extract_text() for page in pages).split())
    book = CalamineWorkbook.from_filelike(io.BytesIO(content))
    return " ".join(str(book.get_sheet_by_name(name).to_python()) for name in book.sheet_names)


def _change(url: str, statement: str) -> None:
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.exec_driver_sql(statement)
    engine.dispose()
