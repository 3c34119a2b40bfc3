"""COPY's text format becomes the very texts that were copied."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from queries_orchestration.exports.copy_formats import columns_of, csv_options

ESCAPES = {
    "\\": "\\\\",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
}
TEXTS = st.text(st.sampled_from("\\\b\f\n\r\t\vNntb\x01\x1f aé\u2028\U0001f600"), max_size=6)


def written(cell: str | None) -> str:
    """Write a cell as PostgreSQL's documentation of COPY says."""
    if cell is None:
        return "\\N"
    return "".join(ESCAPES.get(character, character) for character in cell)


@given(
    st.integers(1, 4).flatmap(
        lambda width: st.lists(
            st.tuples(*[st.none() | st.just("\\N") | TEXTS] * width), min_size=1, max_size=9
        )
    )
)
def test_lines_become_columns(rows: list[tuple[str | None, ...]]) -> None:
    lines = "".join("\t".join(map(written, row)) + "\n" for row in rows).encode()
    assert columns_of(lines, len(rows[0])) == [[*column] for column in zip(*rows, strict=True)]


@pytest.mark.parametrize(("delimiter", "named"), [(",", ","), (";", ";"), ("\t", "\\t")])
def test_a_delimiter_is_named_as_the_server_reads_it(delimiter: str, named: str) -> None:
    assert csv_options(delimiter) == f"FORMAT csv, DELIMITER E'{named}'"
