"""Keys and sort values of SQLite that are no UTF-8: every row, in order, � counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, text

from queries_orchestration.exports.paging import is_paged_by_key
from queries_orchestration.exports.sources import read_snapshot
from queries_orchestration.model.compile import CompiledQuery
from queries_orchestration_tests.exports.query_files import csv_of, file_of, read_every_way
from queries_orchestration_tests.exports.read_back import calamine_rows
from queries_orchestration_tests.model.definitions import (
    a_dataset,
    compiled,
    fill,
    snapshot_engine,
    sqlite_url,
)

ROWS = 2_500
AS_TEXT = "CAST(? AS TEXT)"


def is_by_key(url: str, query: CompiledQuery) -> bool:
    with snapshot_engine(url) as engine, read_snapshot(engine, 30) as connection:
        engine_driver: Any = connection.connection.driver_connection
        engine_driver.text_factory = lambda raw: str(raw, "utf-8", "surrogateescape")
        return is_paged_by_key(connection, query)


@pytest.fixture
def url(tmp_path: Path) -> str:
    return sqlite_url(tmp_path)


@pytest.mark.parametrize("file_format", ["csv", "xlsx"])
@pytest.mark.parametrize("direction", ["asc", "desc"])
@pytest.mark.parametrize("sort", ["id", "n"])
def test_pages_go_on_after_text_that_is_no_utf_8(
    url: str, sort: str, direction: str, file_format: Any
) -> None:
    """As the key, and as what an index sorts by before the key."""
    bad = [(b"k%05d\xff" % n, b"s%05d\xed\xa0\x80" % (n // 2)) for n in range(ROWS)]
    fill(
        url,
        "CREATE TABLE t (id text PRIMARY KEY NOT NULL, n text NOT NULL)",
        "CREATE INDEX t_n ON t (n, id)",
        (f"INSERT INTO t VALUES ({AS_TEXT}, {AS_TEXT})", bad),  # noqa: S608 - of this test
    )
    query = compiled(
        a_dataset({"id": "text", "n": "text"}, not_null=["id", "n"]),
        "id",
        "n",
        sort=[{"field": name, "direction": direction} for name in dict.fromkeys([sort, "id"])],
    )
    assert is_by_key(url, query)
    made = file_of(url, query, file_format)

    assert (made.written.rows, made.written.replaced_characters) == (ROWS, 4 * ROWS)
    expected = [[f"k{n:05d}�", f"s{n // 2:05d}���"] for n in range(ROWS)]
    if direction == "desc":
        expected.reverse()
    assert calamine_rows(made.content)[1:] == expected if file_format == "xlsx" else True
    assert csv_of(url, query) == expected


MIXED = [None, 1, 2.5, b"\xff", b"a", "ä", "a", "\N{PILE OF POO}"]


@pytest.mark.parametrize("page_rows", [1, 2, 5])
@pytest.mark.parametrize("direction", ["asc", "desc"])
@pytest.mark.parametrize("affinity", ["", "TEXT", "NUMERIC", "BLOB"])
@pytest.mark.parametrize("collation", ["BINARY", "NOCASE"])
def test_such_text_among_values_of_every_kind(
    url: str, affinity: str, direction: str, collation: str, page_rows: int
) -> None:
    """A text that is no UTF-8 and the blob of the same bytes are two values."""
    fill(
        url,
        f"CREATE TABLE t (id integer PRIMARY KEY, n {affinity} COLLATE {collation})",
        ("INSERT INTO t (n) VALUES (?)", [(value,) for value in MIXED * 2]),
        (
            f"INSERT INTO t (n) VALUES ({AS_TEXT})",  # noqa: S608 - of this test
            [(value,) for value in (b"\xff", b"\xff\xff", b"1\xff", b"a\xc3", b"A\xc3", b"\xff")],
        ),
        "CREATE INDEX t_n ON t (n, id)",
    )
    query = compiled(
        a_dataset({"id": "integer", "n": "text"}),
        "id",
        sort=[{"field": "n", "direction": direction}],
    )
    with create_engine(url).connect() as connection:
        in_order = text(f"SELECT id FROM t ORDER BY n IS NULL, n {direction}, id")  # noqa: S608
        expected = [[str(row.id)] for row in connection.execute(in_order)]
    assert read_every_way(url, query, page_rows) == expected


@pytest.mark.parametrize("relation", ["t", "unsorted"])
@pytest.mark.parametrize("bad", [{0}, {1_109}, {1_110}, {ROWS - 1}, {5, 1_700, 1_701}])
def test_one_text_that_is_no_utf_8_anywhere_costs_no_row(
    url: str, relation: str, bad: set[int]
) -> None:
    """By key and through one cursor, which begin again there."""
    fill(
        url,
        "CREATE TABLE t (id integer PRIMARY KEY NOT NULL, n text)",
        "CREATE VIEW unsorted AS SELECT id + 0 AS id, n FROM t",
        (
            f"INSERT INTO t VALUES (?, {AS_TEXT})",  # noqa: S608 - of this test
            [(n, b"v%d" % n + b"\xff" * (n in bad)) for n in range(ROWS)],
        ),
    )
    query = compiled(a_dataset({"id": "integer", "n": "text"}, relation=relation), "id", "n")
    assert is_by_key(url, query) is (relation == "t")
    made = file_of(url, query)
    assert made.written.replaced_characters == len(bad)
    assert made.content.decode().splitlines()[1:] == [
        f"{n},v{n}" + "�" * (n in bad) for n in range(ROWS)
    ]
