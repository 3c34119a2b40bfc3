"""docs/guarantees.md stays true: each test that it names exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GUARANTEES = (ROOT / "docs/guarantees.md").read_text()
NAMED = sorted(set(re.findall(r"`([a-z_/]+\.py)::(test_[a-z0-9_]+)`", GUARANTEES)))


def test_every_promise_names_its_test() -> None:
    promises = GUARANTEES.partition("## What is promised")[2].partition("## What is not")[0]
    rows = [line for line in promises.splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 15
    assert [row for row in rows if "::test_" not in row] == []


@pytest.mark.parametrize(("path", "name"), NAMED)
def test_the_test_of_a_promise_exists(path: str, name: str) -> None:
    tree = ast.parse((ROOT / "queries_orchestration_tests" / path).read_text())
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
