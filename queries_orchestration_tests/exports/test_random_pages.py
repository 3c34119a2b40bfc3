"""Any table, in any order, with any page size, reads as if it were not paged."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cmp_to_key
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from queries_orchestration_tests.model.definitions import (
    a_dataset,
    compiled,
    fill,
    is_sqlite,
    read_all,
    sqlite_url,
)
from queries_orchestration_tests.postgres import PostgresServer


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def random_url(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    if request.param == "sqlite":
        yield sqlite_url(tmp_path_factory.mktemp("random"))
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    url = server.create_database()
    yield url
    server.drop(url)


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "integer": st.integers(-2, 2),
    "text": st.sampled_from(["", "a", "b", "O'Neil", "\\'", "%s"]),
    "float": st.sampled_from([-0.1, 0.0, 0.1, 1e-7, 1 / 3]),
    "boolean": st.booleans(),
}
COLUMNS = {"id": "integer", "i": "integer", "s": "text", "f": "float", "b": "boolean"}


@st.composite
def tables(draw: st.DrawFn) -> list[tuple[Any, ...]]:
    count = draw(st.integers(0, 12))
    ids = draw(st.permutations(range(count)))
    return [
        (
            number,
            *(draw(st.none() | VALUES[type_]) for name, type_ in COLUMNS.items() if name != "id"),
        )
        for number in ids
    ]


def in_order(rows: list[tuple[Any, ...]], sort: list[tuple[int, bool]]) -> list[tuple[Any, ...]]:
    """Sort as documented: NULL last, whatever the direction."""

    def compare(left: tuple[Any, ...], right: tuple[Any, ...]) -> int:
        for position, descending in sort:
            a, b = left[position], right[position]
            if a == b:
                continue
            if a is None or b is None:
                return 1 if a is None else -1
            return (1 if a > b else -1) * (-1 if descending else 1)
        return 0

    return sorted(rows, key=cmp_to_key(compare))


@settings(max_examples=30)
@given(
    rows=tables(),
    sort=st.lists(
        st.tuples(st.integers(0, 4), st.booleans()), max_size=3, unique_by=lambda part: part[0]
    ),
    page_rows=st.integers(1, 7),
    grouped=st.booleans(),
)
def test_any_table_in_any_order_reads_as_if_it_were_not_paged(
    random_url: str,
    rows: list[tuple[Any, ...]],
    sort: list[tuple[int, bool]],
    page_rows: int,
    grouped: bool,
) -> None:
    collate = "" if is_sqlite(random_url) else 'COLLATE "C"'
    fill(
        random_url,
        "DROP TABLE IF EXISTS t",
        f"CREATE TABLE t (id integer PRIMARY KEY, i integer, s text {collate},"
        " f double precision, b boolean)",
        ("INSERT INTO t VALUES (?, ?, ?, ?, ?)", rows),
    )
    names = list(COLUMNS)
    columns: list[Any] = list(names)
    expected_rows = rows
    if grouped:
        columns = [{"aggregate": "min", "field": "id", "label": "id"}, *names[1:]]
        smallest: dict[tuple[Any, ...], int] = {}
        for row in rows:
            smallest[row[1:]] = min(row[0], smallest.get(row[1:], row[0]))
        expected_rows = [(number, *group) for group, number in smallest.items()]
    query = compiled(
        a_dataset(COLUMNS),
        *columns,
        sort=[
            {
                "label" if names[position] == "id" else "field": names[position],
                "direction": "desc" if descending else "asc",
            }
            for position, descending in sort
        ],
    )
    tie_breakers = [(n, False) for n in range(1, 5)] if grouped else [(0, False)]
    assert read_all(random_url, query, page_rows) == in_order(expected_rows, sort + tie_breakers)
