"""What a message says, and that no title or name becomes more than text (case E04)."""

from __future__ import annotations

import html
import re
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from queries_orchestration.communications.compose import MessageFacts, compose
from queries_orchestration.communications.interface import clean_header_text

LINK = "https://q.example.org/d/aaa.bbb-c_d.eee"
UNSUBSCRIBE = "https://q.example.org/u/ccc.ddd-e_f.ggg"
FACTS = MessageFacts(
    workspace_title="Northwind",
    schedule_title="Daily departures",
    source_title="Departures by carrier",
    recipient_name="Ann Smith",
    zone="Europe/Berlin",
    slot=datetime(2026, 5, 4, 5, tzinfo=UTC),
    rows=336776,
    size_bytes=48_213_004,
    format="xlsx",
    sent_at=datetime(2026, 5, 4, 5, 1, tzinfo=UTC),
    link_url=LINK,
    unsubscribe_url=UNSUBSCRIBE,
    link_expires_at=datetime(2026, 5, 11, 5, tzinfo=UTC),
)
VOID = {"meta", "br"}


class Page(HTMLParser):
    """Reads a page strictly: every element closed in order; keeps links, addresses and text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    @property
    def links(self) -> list[str]:
        return [value for name, value in self.attributes if name == "href"]


def said(facts: MessageFacts) -> tuple[str, str, str]:
    """Subject, text and HTML in the standard words."""
    composed = compose(facts)
    assert composed.failed_parts == ()
    return composed.subject, composed.text, composed.html


def test_the_text_tells_what_is_ready_until_when_and_how_big() -> None:
    subject, text, _ = said(FACTS)
    assert subject == "Daily departures, 2026-05-04 07:00"
    assert text == (
        "Hello Ann Smith,\n"
        "\n"
        "Daily departures is ready\n"
        "\n"
        f"{LINK}\n"
        "\n"
        "This link is yours alone and works until 2026-05-11 07:00 Europe/Berlin (UTC+02:00).\n"
        "\n"
        "Source: Departures by carrier\n"
        "For:    2026-05-04 07:00 Europe/Berlin (UTC+02:00)\n"
        "File:   Excel workbook, 336,776 rows, 48.2 MB\n"
        "\n"
        "-- \n"
        "Northwind\n"
        f"Unsubscribe: {UNSUBSCRIBE}\n"
    )


def test_the_html_tells_the_same_and_has_the_link_as_button_and_in_full() -> None:
    _, _, page = said(FACTS)
    read = Page(page)
    assert read.links == [LINK, LINK, UNSUBSCRIBE]
    for words in (
        "Hello Ann Smith,",
        "Daily departures is ready",
        "Download file",
        "Departures by carrier",
        "2026-05-04 07:00 Europe/Berlin (UTC+02:00)",
        "Excel workbook, 336,776 rows, 48.2 MB",
        "until 2026-05-11 07:00 Europe/Berlin (UTC+02:00)",
        LINK,
        "Northwind",
    ):
        assert words in read.text


def test_the_html_loads_nothing_and_suits_light_and_dark() -> None:
    _, _, page = said(FACTS)
    read = Page(page)
    assert not {"img", "link", "script", "iframe", "form", "object"} & set(read.tags)
    assert not re.search(r"url\(|@import|src=", page)
    assert "prefers-color-scheme: dark" in page
    assert ("content", "light dark") in read.attributes
    # Some mail servers cut longer lines.
    assert max(len(line.encode()) for line in page.splitlines()) < 998


def test_a_run_on_request_has_no_slot() -> None:
    subject, text, page = said(replace(FACTS, slot=None))
    assert subject == "Daily departures, on request"
    assert "For:    run on request\n" in text
    assert "run on request" in Page(page).text


def test_both_passes_of_a_repeated_hour_can_be_told_apart() -> None:
    first = said(replace(FACTS, slot=datetime(2026, 10, 25, 0, 30, tzinfo=UTC)))[1]
    second = said(replace(FACTS, slot=datetime(2026, 10, 25, 1, 30, tzinfo=UTC)))[1]
    assert "2026-10-25 02:30 Europe/Berlin (UTC+02:00)" in first
    assert "2026-10-25 02:30 Europe/Berlin (UTC+01:00)" in second


def test_a_recipient_without_a_name_is_not_greeted() -> None:
    _, text, page = said(replace(FACTS, recipient_name=" "))
    assert text.startswith("Daily departures is ready\n")
    assert "Hello" not in page


@pytest.mark.parametrize(
    ("rows", "size_bytes", "format", "told"),
    [
        (0, 0, "csv", "CSV, 0 rows, 0 bytes"),
        (1, 999, "csv", "CSV, 1 row, 999 bytes"),
        (1000, 1000, "csv", "CSV, 1,000 rows, 1.0 kB"),
        (2, 999_949, "csv", "CSV, 2 rows, 999.9 kB"),
        (2, 999_950, "csv", "CSV, 2 rows, 1.0 MB"),
        (2, 5 * 10**12, "csv", "CSV, 2 rows, 5000.0 GB"),
        (None, 1_500_000, "pdf", "PDF, 1.5 MB"),
        (None, 1_500_000, "xlsx", "Excel workbook, 1.5 MB"),
        (None, 10, "html", "HTML, 10 bytes"),
    ],
)
def test_the_file_is_told_by_format_rows_and_size(
    rows: int | None, size_bytes: int, format: str, told: str
) -> None:
    _, text, page = said(replace(FACTS, rows=rows, size_bytes=size_bytes, format=format))
    assert f"File:   {told}\n" in text
    assert told in Page(page).text


def named(text: str) -> MessageFacts:
    return replace(
        FACTS,
        workspace_title=text,
        schedule_title=text,
        source_title=text,
        recipient_name=text,
    )


@pytest.mark.parametrize(
    ("name", "subject"),
    [
        ("Q1\r\nBcc: x@e.test", "Q1 Bcc: x@e.test, 2026-05-04 07:00"),
        ("Q1\nline", "Q1 line, 2026-05-04 07:00"),
        (
            "<a href=https://e.test>Click</a>",
            "<a href=https://e.test>Click</a>, 2026-05-04 07:00",
        ),
        ("<script>alert(1)</script>", "<script>alert(1)</script>, 2026-05-04 07:00"),
        ("\"'><img src=x>", "\"'><img src=x>, 2026-05-04 07:00"),
        ("{{7*7}}", "{{7*7}}, 2026-05-04 07:00"),
        ("{% include 'x' %}{# c #}", "{% include 'x' %}{# c #}, 2026-05-04 07:00"),
        ("x" * 900, "x" * 119 + "…, 2026-05-04 07:00"),
        ("Umsätze 📊", "Umsätze 📊, 2026-05-04 07:00"),
        ("&lt;b&gt;", "&lt;b&gt;, 2026-05-04 07:00"),
    ],
)
def test_a_name_is_only_ever_text(name: str, subject: str) -> None:
    composed = said(named(name))
    assert composed[0] == subject
    shown = clean_header_text(name, limit=120)
    assert f"\nSource: {shown}\n" in composed[1]
    plain = Page(said(named("x"))[2])
    read = Page(composed[2])
    assert (read.tags, read.attributes) == (plain.tags, plain.attributes)
    assert f"{shown} is ready" in read.text
    assert (
        composed[2].count(html.escape(shown).replace("&quot;", "&#34;").replace("&#x27;", "&#39;"))
        >= 3
    )


@given(st.text(max_size=150) | st.text(alphabet="<>&\"'{}%#=/ab\r\n", max_size=150))
def test_no_text_changes_the_page_or_adds_a_line(text: str) -> None:
    name = f"n{text}"
    composed = said(named(name))
    plain = said(named("x"))
    read, expected = Page(composed[2]), Page(plain[2])
    assert (read.tags, read.attributes) == (expected.tags, expected.attributes)
    assert len(composed[1].split("\n")) == len(plain[1].split("\n"))
    assert clean_header_text(composed[0]) == composed[0]
    assert composed[0].endswith(", 2026-05-04 07:00")


def test_times_without_a_zone_are_refused() -> None:
    with pytest.raises(ValueError, match="aware"):
        replace(FACTS, slot=datetime(2026, 5, 4, 5))  # noqa: DTZ001 - that is what is refused
    with pytest.raises(ValueError, match="aware"):
        replace(FACTS, sent_at=datetime(2026, 5, 4, 5))  # noqa: DTZ001
    with pytest.raises(ValueError, match="aware"):
        replace(FACTS, link_expires_at=datetime(2026, 5, 4, 5))  # noqa: DTZ001


def test_the_facts_do_not_show_their_link() -> None:
    assert "q.example.org" not in repr(FACTS)
    assert "q.example.org" not in repr(compose(FACTS))


def test_the_template_library_is_not_loaded_before_something_is_composed() -> None:
    program = (
        "import sys, queries_orchestration.communications.compose;sys.exit('jinja2' in sys.modules)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=Path(__file__).parents[2], check=False, timeout=30
    )
    assert ended.returncode == 0
