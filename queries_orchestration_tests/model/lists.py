"""Filters with lists of values, and texts that break other products, for tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from queries_orchestration.model.compile import CompiledQuery
from queries_orchestration_tests.model.definitions import a_dataset, compiled, read_all

TEXTS = {"id": "integer", "v": "text"}
NASTY = [
    "O'Neil & Sons",
    "x' OR '1'='1",
    "1; DROP TABLE t --",
    "\\'",
    'name" FROM secrets --',
    "{{other}}",
    ":other",
    "%s %(x)s %%",
    "$1 ? ?1",
    "",
    " ",
    "a,b",
    '"a","b"',
    "{a,b}",
    "{}",
    '["a"]',
    "NULL",
    "null",
    "\\",
    '\\"',
    "a\nb\t",
    "Zoë 🚀",
]


def listed(types: dict[str, str], field: str, op: str, values: Sequence[Any]) -> CompiledQuery:
    """Compile a filter of constants."""
    return compiled(
        a_dataset(types), "id", filters=[{"field": field, "op": op, "value": list(values)}]
    )


def by_parameter(
    types: dict[str, str], field: str, op: str, type_: str, values: tuple[object, ...] | None
) -> CompiledQuery:
    return compiled(
        a_dataset(types),
        "id",
        filters=[{"field": field, "op": op, "value": {"parameter": "p"}}],
        parameters=[{"name": "p", "type": type_, "list": True, "required": False}],
        values={"p": values},
    )


def ids(url: str, query: CompiledQuery, page_rows: int = 1000) -> list[object]:
    return [row[0] for row in read_all(url, query, page_rows)]
