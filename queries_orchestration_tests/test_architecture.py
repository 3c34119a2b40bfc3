"""docs/architecture.md's table of hops stays true: its functions and tests exist."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
HOPS = {*(f"008.{n}" for n in range(1, 8)), *(f"006.{n}" for n in range(1, 7))}


def _rows() -> list[tuple[str, str, str]]:
    """Hop, function and test of each row."""
    rows = []
    for line in (ROOT / "docs/architecture.md").read_text().splitlines():
        if re.match(r"\| 00[68]", line):
            hop, _what, function, test = (cell.strip() for cell in line.strip("|").split("|"))
            rows.append((hop, function.strip("`"), test.strip("`")))
    return rows


def test_every_hop_of_both_workflows_has_a_row() -> None:
    assert {hop.split()[0] for hop, _, _ in _rows()} - {"006"} == HOPS


@pytest.mark.parametrize("function", sorted({row[1] for row in _rows()}))
def test_the_function_of_a_hop_exists(function: str) -> None:
    module, name = function.rsplit(".", 1)
    assert callable(getattr(importlib.import_module(f"queries_orchestration.{module}"), name))


@pytest.mark.parametrize("test", sorted({row[2] for row in _rows()}))
def test_the_test_of_a_hop_exists(test: str) -> None:
    path, name = test.split("::")
    tree = ast.parse((ROOT / "queries_orchestration_tests" / path).read_text())
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
