"""Markdown as HTML: whoever wrote it, nothing in it is more than text."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, strategies as st

from queries_orchestration.reports.pdf.markdown import markdown_html
from queries_orchestration_tests.reports.pdf.samples import UNKIND, WELCOME

ALLOWED = {
    "p", "h3", "h4", "h5", "h6", "ul", "ol", "li", "strong", "em", "s", "code", "pre", "blockquote",
    "hr", "br", "a", "table", "thead", "tbody", "tr", "th", "td",
}  # fmt: skip
ATTRIBUTES = {"href", "title", "start", "style", "class"}


class _Elements(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes += attrs


def test_a_text_keeps_its_form() -> None:
    html = markdown_html(WELCOME)
    assert "<strong>most regions</strong>" in html
    assert '<a href="https://example.com/prices">price list</a>' in html
    assert "<ol>\n<li>also those of gift cards</li>" in html
    assert '<th style="text-align:right">Meaning</th>' in html


def test_what_is_nested_deeply_is_kept() -> None:
    assert "deep" in markdown_html(">" * 60 + " deep")


def test_headings_stand_below_that_of_the_section() -> None:
    html = markdown_html("# One\n\n## Two\n\n###### Six")
    assert html == "<h3>One</h3>\n<h4>Two</h4>\n<h6>Six</h6>\n"


@pytest.mark.parametrize("text", UNKIND)
def test_html_is_text(text: str) -> None:
    elements = _Elements(markdown_html(text))
    assert elements.names <= {"p"}
    assert elements.attributes == []


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        "java&#115;cript:alert(1)",
        "file:///etc/passwd",
        "data:text/html,x",
        "data:image/png;base64,AAAA",
        "vbscript:x",
        "ftp://localhost/x",
        "chart:0",
        "/etc/passwd",
        "#section-1",
        "//localhost/x",
        "\x01http://localhost",
    ],
)
@pytest.mark.parametrize("form", ["[x]({})", "<{}>", "[x][y]\n\n[y]: {}", "![x]({})"])
def test_a_link_leads_to_the_web_or_mail_only(form: str, address: str) -> None:
    elements = _Elements(markdown_html(form.format(address)))
    assert elements.names == {"p"}


@pytest.mark.parametrize("address", ["http://a.example/?x=1", "HTTPS://a.example", "mailto:a@b.c"])
def test_a_link_to_the_web_or_mail_is_one(address: str) -> None:
    assert _Elements(markdown_html(f"[x]({address})")).attributes == [("href", address)]


def test_a_picture_is_its_text() -> None:
    html = markdown_html('![a *fine* one](http://localhost:9/x.png "t") ![](http://localhost:9/y)')
    assert html == "<p>a fine one </p>\n"


def test_a_picture_in_a_link_is_its_text() -> None:
    html = markdown_html("[![alt](http://localhost:9/x.png)](http://a.example)")
    assert html == '<p><a href="http://a.example">alt</a></p>\n'


@given(
    st.lists(
        st.sampled_from([*UNKIND, *"[]()!<>`*_#|&;:\n\"'\\", "http://a", "javascript:", "x"]),
        max_size=12,
    ).map("".join)
)
def test_no_text_makes_other_elements(text: str) -> None:
    elements = _Elements(markdown_html(text))
    assert elements.names <= ALLOWED
    for name, value in elements.attributes:
        assert name in ATTRIBUTES
        if name == "href":
            assert re.match("(?i)https?://|mailto:", value or "")
        if name == "style":
            assert re.fullmatch("text-align:(left|right|center)", value or "")
