"""Text is always text: exactly as it is, and what a cell cannot hold is replaced or cut visibly."""

from __future__ import annotations

import io
import re
import zipfile

import pytest
from hypothesis import given, strategies as st

from queries_orchestration.model.columns import Column
from queries_orchestration_tests.exports.read_back import calamine_rows, read_sheet
from queries_orchestration_tests.exports.xlsx_stream.streamed import cell, streamed, text

FORMULAS = ["=1+1", "==== new line ====", '=HYPERLINK("https://e.test","x")', "{=A1}", "'=x"]
LOOKS_LIKE_A_NUMBER = ["007", "1234567890123456", "1E5", "nan", "NaN", "inf", "1e5", "-42"]
BLANKS = ["  a  ", "\tb\t", "\nc", "   ", "\n", "", "\u00a0x\u2003"]
LINKS = ["mailto:x", "internal:Sheet1!A1", "https://e.test/" + "x" * 2_100]
ESCAPES = ["_x0041_", "_x000D_", "a_x005F_b", "_x0041_x0042_", "_xyz_"]
ERROR_WORDS = ["#N/A", "#REF!", "#DIV/0!", "TRUE"]
MARKUP = ["a<b>&amp;</t>", "]]>", "<![CDATA[x]]>", "\"'"]
TEXT = [Column("a", "text")]

UNREPRESENTABLE = "[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]"


@pytest.mark.parametrize(
    "value",
    [
        *FORMULAS,
        *LOOKS_LIKE_A_NUMBER,
        *BLANKS,
        *LINKS,
        *ESCAPES,
        *ERROR_WORDS,
        *MARKUP,
        "Zürich € 🛫",
    ],
)
def test_text_is_the_exact_text_and_nothing_else(value: str) -> None:
    content, writer = streamed([*TEXT, Column("b", "integer")], [(value, "1")])
    assert read_sheet(content)[1][0] == text(value)
    assert calamine_rows(content)[1] == [value, 1]
    assert (writer.replaced_characters, writer.cut_cells) == (0, 0)


def test_a_label_is_text_as_well() -> None:
    labels = ["=1+1", "#N/A", " a ", "", "a", "a", "<&>", "_x0041_"]
    content, _ = streamed([Column(label, "integer") for label in labels], [["0"] * len(labels)])
    assert [found.content for found in read_sheet(content)[0] if found] == labels
    assert calamine_rows(content)[1] == [0] * len(labels)


def test_control_characters_are_replaced_and_counted_and_tab_and_line_end_kept() -> None:
    content, writer = streamed(
        [Column("a\x0b", "text")],
        [("Rio\x0bGrande",), ("x\x1fy\x00\ufffe",), ("left\tright\nbelow",)],
        [(f"a{chr(0xD800)}",)],
    )
    expected = [["a�"], ["Rio�Grande"], ["x�y��"], ["left\tright\nbelow"], ["a�"]]
    assert calamine_rows(content) == expected
    assert writer.replaced_characters == 6


def test_a_text_in_a_column_of_another_type_is_replaced_and_counted_each_time() -> None:
    content, writer = streamed([Column("a", "date")], [("x\x0b",), ("x\x0b",), ("2027-07-01",)])
    assert [row[0] for row in read_sheet(content)[1:3]] == [text("x�")] * 2
    assert writer.replaced_characters == 2


def test_line_ends_become_the_one_that_excel_uses() -> None:
    content, writer = streamed([Column("a\r\nb", "text")], [("a\r\nb\rc\nd",)])
    assert calamine_rows(content) == [["a\nb"], ["a\nb\nc\nd"]]
    assert writer.replaced_characters == 0
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert b"\r" not in archive.read("xl/worksheets/sheet1.xml")


@pytest.mark.parametrize("fits", ["x" * 32_767, "🛫" * 16_383, "&" * 32_767])
def test_the_longest_text_is_intact(fits: str) -> None:
    assert cell("text", fits) == text(fits)


@pytest.mark.parametrize(
    ("value", "kept"),
    [("x" * 32_768, "x" * 32_735), ("x" * 40_000, "x" * 32_735), ("🛫" * 16_384, "🛫" * 16_367)],
)
def test_longer_text_is_cut_with_a_note_and_counted(value: str, kept: str) -> None:
    content, writer = streamed(TEXT, [("short",), (value,), ("short",)])
    found = calamine_rows(content)[2][0]
    assert found == f"{kept}… [cut: {len(value)} characters in all]"
    assert 32_760 <= len(found.encode("utf-16-le")) / 2 <= 32_767
    assert (writer.cut_cells, writer.replaced_characters) == (1, 0)


def test_many_short_texts_are_not_one_long_text() -> None:
    content, writer = streamed(TEXT, [("x" * 1_000,)] * 100)
    assert calamine_rows(content)[1:] == [["x" * 1_000]] * 100
    assert writer.cut_cells == 0


def test_text_that_looks_escaped_is_never_cut_without_being_counted() -> None:
    content, writer = streamed(TEXT, [("_x0041_" * 4_000,)])
    found = read_sheet(content)[1][0]
    assert found is not None
    assert found.content.endswith("… [cut: 28000 characters in all]")
    assert found.content.startswith("_x0041_" * 2_300)
    assert writer.cut_cells == 1


def test_addresses_are_never_links_however_many() -> None:
    urls = [(f"https://e.test/{n}",) for n in range(65_540)]
    content, _ = streamed(TEXT, urls)
    assert calamine_rows(content)[1:] == [list(row) for row in urls]
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert not [name for name in archive.namelist() if "worksheets/_rels" in name]
        assert b"<hyperlink" not in archive.read("xl/worksheets/sheet1.xml")


_TRYING = st.text(
    st.sampled_from("_x0041_ab<&>\r\n\t\x0b\x00\ufffe\ud800é€🛫 =") | st.characters(), max_size=20
)


@given(st.lists(st.tuples(st.none() | _TRYING, st.none() | _TRYING), max_size=4))
def test_any_text_reads_back_as_it_is_but_for_what_was_counted(
    rows: list[tuple[str | None, str | None]],
) -> None:
    content, writer = streamed([Column("a", "text"), Column("b", "json")], rows)
    held = [[_held(value) for value in row] for row in rows]
    assert read_sheet(content)[1:] == [
        [None if value is None else text(value[0]) for value in row] for row in held
    ]
    assert writer.replaced_characters == sum(value[1] for row in held for value in row if value)


def _held(value: str | None) -> tuple[str, int] | None:
    if value is None:
        return None
    return re.subn(UNREPRESENTABLE, "�", value.replace("\r\n", "\n").replace("\r", "\n"))
