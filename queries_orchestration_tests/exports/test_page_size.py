"""How many rows the next page has."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from queries_orchestration.exports.page_size import FIRST_ROWS, PAGE_BYTES, PageSize


def test_pages_of_narrow_rows_reach_their_most_rows_at_once() -> None:
    size = PageSize(1000)
    seen = []
    for _ in range(4):
        seen.append(size.rows)
        size.weighed(size.rows, 50 * size.rows)
    assert seen == [10, 100, 1000, 1000]


@pytest.mark.parametrize(
    ("width", "rows"), [(PAGE_BYTES // 1000, 1000), (100_000, 20), (PAGE_BYTES, 1), (1 << 30, 1)]
)
def test_a_page_of_wide_rows_is_as_long_as_a_few_mib_hold(width: int, rows: int) -> None:
    size = PageSize(1000)
    for _ in range(3):
        size.weighed(size.rows, width * size.rows)
    assert size.rows == rows


def test_no_row_read_tells_nothing() -> None:
    size = PageSize(1000)
    size.weighed(0, 0)
    assert size.rows == FIRST_ROWS


@given(
    st.integers(1, 2000),
    st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 1 << 40)), max_size=9),
)
def test_a_page_has_a_row_no_more_than_it_may_and_grows_tenfold_at_most(
    most: int, pages: list[tuple[int, int]]
) -> None:
    size = PageSize(most)
    seen = [size.rows]
    for rows, weight in pages:
        size.weighed(rows, weight)
        seen.append(size.rows)
    assert all(1 <= rows <= most for rows in seen)
    assert all(after <= 10 * before for before, after in pairwise(seen))
