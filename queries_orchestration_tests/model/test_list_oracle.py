"""Any rows and any list: a filter finds what Python's ``in`` says (cases P01, P02)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from queries_orchestration_tests.model.definitions import fill, sqlite_url
from queries_orchestration_tests.model.lists import NASTY, by_parameter, ids, listed
from queries_orchestration_tests.postgres import PostgresServer

EXACT: dict[str, st.SearchStrategy[Any]] = {
    "integer": st.integers(-3, 3) | st.sampled_from([2**53, 2**53 + 1, 2**63 - 1, -(2**63)]),
    "text": st.sampled_from(NASTY) | st.text(st.sampled_from("a\\\"',{}%:?é"), max_size=3),
    "decimal": st.decimals(-2, 2, places=1) | st.sampled_from([Decimal("1E-30"), Decimal(10**30)]),
    "float": st.sampled_from([0.1, 1 / 3, 0.1 + 0.2, 0.3, 1e300]) | st.floats(-1, 1),
    "boolean": st.booleans(),
    "date": st.dates(date(2026, 1, 1), date(2026, 1, 4)),
}
COLUMNS = {
    "integer": "bigint",
    "text": "text",
    "decimal": "numeric",
    "float": "double precision",
    "boolean": "boolean",
    "date": "date",
}


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def random_url(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    if request.param == "sqlite":
        url = sqlite_url(tmp_path_factory.mktemp("lists"))
        fill(url, _table({name: "text" if name == "decimal" else name for name in COLUMNS}))
        yield url
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    url = server.create_database()
    fill(url, _table(COLUMNS))
    yield url
    server.drop(url)


def _table(columns: dict[str, str]) -> str:
    declared = ", ".join(f'"{name}" {column}' for name, column in columns.items())
    return f"CREATE TABLE t (id integer PRIMARY KEY, {declared})"


@st.composite
def lists(draw: st.DrawFn) -> tuple[list[tuple[Any, ...]], str, list[Any]]:
    """Rows with NULLs, a field, and a list of which some elements are in the rows."""
    rows = draw(st.lists(st.tuples(*(st.none() | EXACT[name] for name in EXACT)), max_size=20))
    name = draw(st.sampled_from(sorted(EXACT)))
    stored = [row[list(EXACT).index(name)] for row in rows]
    known = [value for value in stored if value is not None]
    element = EXACT[name] | st.sampled_from(known) if known else EXACT[name]
    return rows, name, draw(st.lists(element, max_size=8))


@settings(max_examples=20)
@given(
    drawn=lists(),
    page_rows=st.integers(1, 20),
    by_constants=st.booleans(),
)
def test_any_rows_are_in_or_outside_any_list_as_python_says(
    random_url: str,
    drawn: tuple[list[tuple[Any, ...]], str, list[Any]],
    page_rows: int,
    by_constants: bool,
) -> None:
    rows, name, values = drawn
    numbered = [(number, *map(_stored, row)) for number, row in enumerate(rows)]
    places = ", ".join("?" * (len(EXACT) + 1))
    insert = f"INSERT INTO t VALUES ({places})"  # noqa: S608 - placeholders
    fill(random_url, "DELETE FROM t", (insert, numbered))
    types = {"id": "integer"} | {type_: type_ for type_ in EXACT}
    position = list(EXACT).index(name)

    def found(op: str) -> list[object]:
        if by_constants or name == "float":  # there are no parameters of floats
            spelt = [_spelt(value) for value in values]
            query = listed(types, name, op, spelt)
        else:
            query = by_parameter(types, name, op, name, tuple(values))
        return ids(random_url, query, page_rows)

    cells = [row[position] for row in rows]
    assert found("in") == [
        number for number, cell in enumerate(cells) if cell is not None and cell in values
    ]
    assert found("not_in") == [
        number
        for number, cell in enumerate(cells)
        if not values or (cell is not None and cell not in values)
    ]


def _stored(value: Any) -> Any:
    if isinstance(value, Decimal):
        return f"{value:f}"
    return value.isoformat() if isinstance(value, date) else value


def _spelt(value: Any) -> Any:
    return f"{value:f}" if isinstance(value, Decimal) else value
