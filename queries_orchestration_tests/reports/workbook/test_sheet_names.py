"""Names of sheets: what Excel accepts, each there once, and quoted where they are referred to."""

from __future__ import annotations

import re
from io import BytesIO

import pytest
from hypothesis import given, settings, strategies as st
from python_calamine import load_workbook

from queries_orchestration.reports.content import Text
from queries_orchestration.reports.workbook.sheet_names import SheetNames
from queries_orchestration_tests.reports.workbook.samples import (
    a_chart,
    a_content,
    charts_of,
    opened,
    written_workbook,
)


def names_of(*titles: str | None) -> list[str]:
    contents = [
        a_content(Text(markdown="x"), title=title, number=number)
        for number, title in enumerate(titles, start=1)
    ]
    content, _ = written_workbook(contents)
    names = load_workbook(BytesIO(content)).sheet_names
    assert names[0] == "Overview"
    return names[1:]


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Flights [2027]: a/b\\c*?", "Flights  2027   a b c"),
        ("'quoted'", "quoted"),
        ("It's", "It's"),
        ("History", "Section 1"),
        ("hiSTORY", "Section 1"),
        ("[]", "Section 1"),
        ("'", "Section 1"),
        ("overview", "overview (2)"),
        ("x" * 40, "x" * 31),
        ("🛫" * 40, "🛫" * 15),
        ("a_x0041_", "a x0041_"),
        (None, "Text 1"),
        ("=1+1", "=1+1"),
    ],
)
def test_a_sheet_has_the_name_nearest_to_its_title(title: str | None, name: str) -> None:
    assert names_of(title) == [name]


@pytest.mark.parametrize(
    ("titles", "names"),
    [
        (["A", "a", "A"], ["A", "a (2)", "A (3)"]),
        (["É", "é"], ["É", "é (2)"]),
        (["E\u0301", "é"], ["E\u0301", "é (2)"]),
        (["Straße", "STRASSE"], ["Straße", "STRASSE (2)"]),
        (["A (2)", "A", "A"], ["A (2)", "A", "A (3)"]),
        (["x" * 31, "x" * 32], ["x" * 31, "x" * 27 + " (2)"]),
        ([None, "Text 1", None], ["Text 1", "Text 1 (2)", "Text 2"]),
        (["Text 1", None], ["Text 1", "Text 1 (2)"]),
        (["[]", "?"], ["Section 1", "Section 2"]),
    ],
)
def test_no_two_sheets_have_the_same_name(titles: list[str | None], names: list[str]) -> None:
    assert names_of(*titles) == names


@given(st.lists(st.text(max_size=40) | st.sampled_from(["A", "a", "É", "é", "ﬀ", "FF"])))
def test_any_titles_make_names_that_excel_accepts(titles: list[str]) -> None:
    names = SheetNames()
    taken = [names.take(title, otherwise="Section") for title in titles]
    for name in taken:
        assert 1 <= len(name.encode("utf-16-le")) / 2 <= 31
        assert not re.search(r"[\[\]:*?/\\\x00-\x1f]", name)
        assert name == name.strip("'")
        assert name.lower() != "history"
    for known in (str.lower, str.upper, str.casefold):
        assert len({known(name) for name in taken}) == len(taken)


@settings(max_examples=20)
@given(st.lists(st.text(max_size=8), max_size=5))
def test_the_names_given_are_those_in_the_file(titles: list[str]) -> None:
    names = SheetNames()
    names.take("Overview", otherwise="")
    expected = [
        names.take(title, otherwise=f"Section {number}")
        for number, title in enumerate(titles, start=1)
    ]
    assert names_of(*titles) == expected


def test_references_to_a_sheet_quote_its_name() -> None:
    content, _ = written_workbook(
        [a_content(a_chart(["a", "b"], ("N", [1, 2])), title="It's 'A'! & $B$1")]
    )
    book = opened(content)
    name = "'It''s ''A''! & $B$1'"
    link = book.worksheets[0]["B10"].hyperlink
    assert link is not None
    assert link.location == f"{name}!A1"
    series = charts_of(book.worksheets[1])[0].series[0]
    assert series.val.numRef.f == f"{name}!$B$27:$B$28"
    assert book.worksheets[1].print_title_rows == "$26:$26"
