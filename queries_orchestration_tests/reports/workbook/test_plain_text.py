"""Markdown as lines of plain text."""

from __future__ import annotations

import pytest

from queries_orchestration.reports.workbook.plain_text import Line, plain_lines
from queries_orchestration_tests.reports.workbook.samples import MARKDOWN


@pytest.mark.parametrize(
    ("markdown", "lines"),
    [
        ("", []),
        ("one\ntwo", ["one two"]),
        ("one\\\ntwo  \nthree", ["one", "two", "three"]),
        ("one\n\ntwo", ["one", "", "two"]),
        ("**b** *i* ~~s~~ `c`", ["b i s c"]),
        ("[text](https://e.test/a)", ["text (https://e.test/a)"]),
        ("<https://e.test/a>", ["https://e.test/a"]),
        ("[a *b*][1]\n\n[1]: https://e.test", ["a b (https://e.test)"]),
        ("![a picture](x.png)", ["a picture"]),
        ("- a\n- b\n  - c\n\n    d", ["• a", "• b", "    • c", "        d"]),
        ("3. a\n4. b", ["3. a", "4. b"]),
        ("1) a", ["1) a"]),
        ("-", ["• "]),
        ("> a\n>\n> b", ["    a", "    b"]),
        ("> - a", ["    • a"]),
        ("```sql\n=1\n\n  x\n```", ["=1", "", "  x"]),
        ("    code", ["code"]),
        ("<div>\n<b>x</b>\n</div>", ["<div>", "<b>x</b>", "</div>"]),
        ("a <b>x</b> &amp; \\*", ["a <b>x</b> & *"]),
        ("---", ["―" * 20]),
        ("| a | b |\n|---|---|\n| 1 | |", ["a | b", "1 | "]),
        ("=1+1", ["=1+1"]),
    ],
)
def test_markdown_becomes_plain_lines(markdown: str, lines: list[str]) -> None:
    assert [line.text for line in plain_lines(markdown)] == lines


def test_what_is_nested_deeply_is_kept() -> None:
    (line,) = plain_lines(">" * 60 + " deep")
    assert line.text.strip() == "deep"


def test_headings_keep_their_level() -> None:
    assert plain_lines("# a\n\n### *b*\n\nc\n=\n") == (
        Line("a", 1),
        Line(""),
        Line("b", 3),
        Line(""),
        Line("c", 1),
    )


def test_blocks_of_every_kind_follow_each_other() -> None:
    lines = [line.text for line in plain_lines(MARKDOWN)]
    assert lines == [
        "What this is",
        "",
        "The flights of New York in 2013, as the bureau (https://example.test/data) counts them."
        " A line in the same paragraph.",
        "",
        "1. First",
        "2. Second",
        "    • deeper code",
        "    • and deeper",
        "",
        "    Quoted.",
        "",
        "Airport | Runways",
        "JFK | 4",
        "",
        "=1+1",
        "  indented",
        "",
        "―" * 20,
        "",
        "<b>HTML</b> stays text; a line break",
        "follows.",
    ]
