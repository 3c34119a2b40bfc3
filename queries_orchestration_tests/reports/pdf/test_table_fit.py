"""How tables fit the paper."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from queries_orchestration.model.columns import Column
from queries_orchestration.reports.content import Table
from queries_orchestration.reports.pdf.table_fit import LANDSCAPE, PADDING, UPRIGHT, fit_table
from queries_orchestration_tests.reports.pdf.printed import print_report
from queries_orchestration_tests.reports.pdf.samples import content, numbered

CELLS = st.text(max_size=8) | st.integers().map(str) | st.just("word " * 80)
COLUMNS = st.lists(st.tuples(st.text(max_size=40), st.lists(CELLS, max_size=3)), min_size=1)


@given(COLUMNS)
def test_no_table_is_wider_than_the_paper_and_no_column_is_lost(
    columns: list[tuple[str, list[str]]],
) -> None:
    fit = fit_table([label for label, _ in columns], [cells for _, cells in columns])
    paper = LANDSCAPE if fit.is_landscape else UPRIGHT
    shown = [block.columns[1 if place else 0 :] for place, block in enumerate(fit.blocks)]
    if len(fit.blocks) > 1 and fit.blocks[1].columns[0]:
        shown = [block.columns for block in fit.blocks]  # the first is too wide to be repeated
    assert [column for each in shown for column in each] == list(range(len(columns)))
    for block in fit.blocks:
        assert sum(block.widths) <= paper + 0.01 * len(block.widths)
        assert all(width > PADDING / 2 for width in block.widths)


def test_a_small_table_stays_small() -> None:
    fit = fit_table(["Region", "Sales"], [["north"], ["1,000"]])
    assert not fit.is_landscape
    assert sum(fit.blocks[0].widths) < UPRIGHT / 3


def test_a_long_text_gets_the_room_that_is_left() -> None:
    (block,) = fit_table(["No.", "Remark"], [["1"], ["word " * 100]]).blocks
    assert block.widths[1] > 0.9 * UPRIGHT


def test_the_type_becomes_smaller_before_the_paper_is_turned() -> None:
    sizes = [
        (fit.is_landscape, fit.type_size, len(fit.blocks) > 1)
        for fit in (fit_table(["n"] * n, [["1,234,567.89"]] * n) for n in (6, 8, 11, 12, 30))
    ]
    assert sizes == [
        (False, 8.0, False),
        (False, 7.0, False),
        (True, 7.5, False),
        (True, 6.5, False),
        (True, 6.5, True),
    ]


def test_a_number_is_never_broken() -> None:
    (block,) = fit_table(["n", "Remark"], [["1,234,567.89"], ["word " * 100]]).blocks
    assert block.widths[0] > len("1,234,567.89") * 1.6


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity", "\N{EN DASH}"])
def test_a_number_is_not_broken_beside_what_is_none(word: str) -> None:
    labels, cells = ["Exact"] * 12, [["123456789012345678901234.56", word]] * 12

    fit = fit_table(labels, cells)

    assert fit == fit_table(labels, [[cells[0][0], "1"]] * 12)


def test_a_total_has_room_in_bold() -> None:
    (plain,) = fit_table(["id", "Remark"], [["25", "325"], ["a", ""]]).blocks
    (bold,) = fit_table(["id", "Remark"], [["25", "325"], ["a", ""]], has_totals=True).blocks
    assert bold.widths[0] > plain.widths[0] > len("325") * 1.6


def test_a_total_stays_in_one_line() -> None:
    contents = numbered(
        content(
            Table(columns=(Column("id", "integer"),), rows=[(24,), (301,)], totals=(325,)), "Ids"
        )
    )
    reader, _ = print_report(contents)
    assert "325" in reader.pages[-1].extract_text().split()
