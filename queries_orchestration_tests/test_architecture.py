"""docs/architecture.md's table of hops stays true: its functions and tests exist."""

from __future__ import annotations

import pytest

from queries_orchestration_tests.named import ROOT, is_function, is_test, rows_of_table

HOPS = {*(f"008.{n}" for n in range(1, 8)), *(f"006.{n}" for n in range(1, 7))}


def _rows() -> list[tuple[str, str, str]]:
    """Hop, function and test of each row."""
    return [
        (hop, function.strip("`"), test.strip("`"))
        for hop, _what, function, test in rows_of_table(
            (ROOT / "docs/architecture.md").read_text(), begin="00"
        )
    ]


def test_every_hop_of_both_workflows_has_a_row() -> None:
    assert {hop.split()[0] for hop, _, _ in _rows()} - {"006"} == HOPS


@pytest.mark.parametrize("function", sorted({row[1] for row in _rows()}))
def test_the_function_of_a_hop_exists(function: str) -> None:
    assert is_function(function)


@pytest.mark.parametrize("test", sorted({row[2] for row in _rows()}))
def test_the_test_of_a_hop_exists(test: str) -> None:
    assert is_test(test)
