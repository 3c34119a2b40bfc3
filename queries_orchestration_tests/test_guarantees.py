"""docs/guarantees.md stays true: each test that it names exists."""

from __future__ import annotations

import pytest

from queries_orchestration_tests.named import ROOT, TEST_NAMED, is_test

GUARANTEES = (ROOT / "docs/guarantees.md").read_text()
NAMED = sorted(set(TEST_NAMED.findall(GUARANTEES)))


def test_every_promise_names_its_test() -> None:
    promises = GUARANTEES.partition("## What is promised")[2].partition("## What is not")[0]
    rows = [line for line in promises.splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 15
    assert [row for row in rows if "::test_" not in row] == []


@pytest.mark.parametrize("test", NAMED)
def test_the_test_of_a_promise_exists(test: str) -> None:
    assert is_test(test)
