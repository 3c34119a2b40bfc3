"""The workbook as a whole: its overview, its sheets, when it is read, and what it leaves."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import weakref
from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from queries_orchestration.model.errors import UnknownTimeZone
from queries_orchestration.reports.content import Content, Number, Text
from queries_orchestration.reports.workbook.document import WorkbookCounts, write_workbook
from queries_orchestration_tests.exports.read_back import Sink
from queries_orchestration_tests.reports.workbook.samples import (
    COUNT,
    a_content,
    a_head,
    a_table,
    everything,
    opened,
    sheet_of,
    values_of,
    written_workbook,
)

TEXT = Text(markdown="x")


def test_a_report_without_sections_is_an_overview() -> None:
    content, counts = written_workbook([])
    assert opened(content).sheetnames == ["Overview"]
    assert counts == WorkbookCounts(0, 0)


def test_the_overview_tells_what_the_report_is_and_comes_first() -> None:
    values = [
        ("Airport", "=JFK"),
        ("From", date(2027, 1, 1)),
        ("Since", datetime(2027, 1, 1, 12, tzinfo=UTC)),
        ("At least", 10**15),
    ]
    content, _ = written_workbook([a_content(TEXT)], a_head(values=values))
    book = opened(content)
    assert book.sheetnames == ["Overview", "Section"]
    assert book.active is book.worksheets[0]
    assert book.properties.title == "Punctuality"
    rows = [row[:2] for row in values_of(book.worksheets[0])[:12]]
    assert rows == [
        ["Punctuality", None],
        [None, None],
        ["Workspace", "Flight operations"],
        ["For", "2027-03-01 09:00 Europe/Berlin (UTC+01:00)"],
        ["Read", "2027-03-01 09:01 Europe/Berlin (UTC+01:00)"],
        ["Data", "as Ada may see it"],
        ["Version", 7],
        ["Airport", "=JFK"],
        ["From", datetime.fromisoformat("2027-01-01")],
        ["Since", datetime.fromisoformat("2027-01-01 13:00")],
        ["At least", "1000000000000000"],
        [None, None],
    ]


def test_the_overview_lists_titled_sections_with_links_and_notices() -> None:
    contents = [
        a_content(TEXT, title="It's [A]"),
        a_content(TEXT, title=None, number=2),
        a_content(TEXT, title="Last", number=3, notices=["Rows are left out.", "So are others."]),
    ]
    content, _ = written_workbook(contents)
    book = opened(content)
    assert book.sheetnames == ["Overview", "It's  A", "Text 1", "Last"]
    header, *rows = list(book.worksheets[0].iter_rows(min_row=9))
    assert [cell.value for cell in header] == ["Section", "Sheet", "Notices"]
    assert [[cell.value for cell in row] for row in rows] == [
        ["1", "It's [A]", None],
        ["3", "Last", "Rows are left out.\nSo are others."],
    ]
    links = [row[1].hyperlink for row in rows]
    assert [link.location for link in links if link] == ["'It''s  A'!A1", "'Last'!A1"]
    assert all(link.target is None for link in links if link)


def test_every_sheet_prints_on_landscape_paper_one_page_wide() -> None:
    content, _ = written_workbook(everything())
    for sheet in opened(content).worksheets:
        assert sheet.sheet_properties.pageSetUpPr is not None
        assert sheet.sheet_properties.pageSetUpPr.fitToPage
        assert sheet.page_setup.orientation == "landscape"
        assert (sheet.page_setup.fitToWidth, sheet.page_setup.fitToHeight) == (1, 0)


def test_notices_stand_under_the_title() -> None:
    shown = Number(column=COUNT, value=1, is_empty=False)
    sheet = sheet_of(shown, title="How many", notices=["The first.", "=1+1"])
    assert [row[0] for row in values_of(sheet)] == [
        "How many",
        "The first.",
        "=1+1",
        None,
        "Flights",
    ]


def test_sections_are_read_one_after_the_other_and_let_go() -> None:
    class Rows(list[tuple[object, ...]]):
        """A list that can be watched."""

    alive: list[weakref.ref[Rows]] = []

    def contents() -> Iterator[Content]:
        for number in range(1, 5):
            assert [rows for rows in alive if rows()] == [], "the rows of a section that is written"
            rows = Rows([(n,) for n in range(10)])
            alive.append(weakref.ref(rows))
            content = a_content(a_table([("A", "integer")], rows), number=number)
            del rows
            yield content
            del content

    content, _ = written_workbook(contents())
    assert len(opened(content).sheetnames) == 5
    assert len(alive) == 4


@pytest.mark.parametrize("fails_at", ["the first section", "a later section", "the sink"])
def test_a_workbook_given_up_leaves_nothing_on_the_disk(
    fails_at: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full(Sink):
        def write(self, data: bytes, /) -> int:
            assert list(tmp_path.iterdir())
            raise InterruptedError

    def contents() -> Iterator[Content]:
        if fails_at == "the first section":
            raise InterruptedError
        yield from everything()
        assert list(tmp_path.iterdir())
        if fails_at == "a later section":
            raise InterruptedError

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(InterruptedError):
        write_workbook(a_head(), contents(), Full())
    assert list(tmp_path.iterdir()) == []


def test_a_zone_that_there_is_not_is_refused() -> None:
    head = a_head(time_zone="Mars/Olympus")
    with pytest.raises(UnknownTimeZone):
        write_workbook(head, [], Sink())


def test_nothing_heavy_is_loaded_before_a_workbook_is_made() -> None:
    code = (
        "import sys, queries_orchestration.reports.workbook.document;"
        "print({'openpyxl', 'pandas', 'markdown_it'} & {*sys.modules})"
    )
    ended = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    assert ended.stdout == b"set()\n"
