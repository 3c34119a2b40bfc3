"""What a document names exists: tests, functions and files, found without running anything."""

from __future__ import annotations

import ast
import importlib
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
TESTS = ROOT / "queries_orchestration_tests"
TEST_NAMED = re.compile(r"`([a-z0-9_/]+\.py::test_[a-z0-9_]+)`")


@cache
def _tests_of(path: str) -> frozenset[str]:
    file = TESTS / path
    if not file.is_file():
        return frozenset()
    tree = ast.parse(file.read_text())
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


def is_test(name: str) -> bool:
    """Tell whether there is a test ``path::name``, the path counted from the tests' folder."""
    path, _, function = name.partition("::")
    return function in _tests_of(path)


def is_function(name: str) -> bool:
    """Tell whether the package has a function or class ``module.name``."""
    module, _, function = name.rpartition(".")
    try:
        found = importlib.import_module(f"queries_orchestration.{module}")
    except ImportError:
        return False
    return callable(getattr(found, function, None))


def is_file(name: str) -> bool:
    """Tell whether the project has a file of this name, counted from its root."""
    return (ROOT / name).is_file()


def rows_of_table(text: str, *, begin: str) -> list[list[str]]:
    """Return the cells of each row of a table whose line begins so."""
    return [
        [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]
        for line in text.splitlines()
        if line.startswith(f"| {begin}")
    ]
