"""Reading by key and through one cursor: what a key that is no key, or a failing row, leads to."""

from __future__ import annotations

from typing import Any

import pytest

from queries_orchestration.exports.file_writer import FileFormat
from queries_orchestration.exports.page_size import PAGE_BYTES
from queries_orchestration.exports.raw_pages import raw_pages
from queries_orchestration.exports.sources import read_snapshot
from queries_orchestration.model.compile import CompiledQuery
from queries_orchestration.model.errors import (
    LimitExceeded,
    QueriesError,
    ReceiveTimeout,
    SourceBroken,
)
from queries_orchestration_tests.exports.query_files import Patient, file_of
from queries_orchestration_tests.exports.read_back import Sink
from queries_orchestration_tests.model.definitions import (
    POSTGRESQL,
    SQLITE,
    a_dataset,
    compiled,
    fill,
    rows_of_ids,
    snapshot_engine,
)

BOTH: list[FileFormat] = ["csv", "xlsx"]


def read(url: str, query: CompiledQuery, page_rows: int, *, by_key: bool) -> list[Any]:
    with snapshot_engine(url) as engine, read_snapshot(engine, 30) as connection:
        pages = raw_pages(connection, query, page_rows, by_key=by_key)
        return [row[0] for page in pages for row in page]


@pytest.mark.parametrize("first", range(9))
@pytest.mark.parametrize("equal", [2, 3, 4])
def test_equal_keys_at_any_place_are_all_read_or_named(
    source_url: str, first: int, equal: int
) -> None:
    """Of a page of three rows; rows of one key within a page need not be told apart."""
    keys = [max(first, n - equal + 1) if n >= first else n for n in range(10)]
    fill(
        source_url,
        "CREATE TABLE t (id integer, place integer)",
        ("INSERT INTO t VALUES (?, ?)", [(key, place) for place, key in enumerate(keys)]),
    )
    query = compiled(a_dataset({"id": "integer", "place": "integer"}), "place")
    seams = {(3 * n, 3 * n + 1) for n in range(1, 4)}

    assert sorted(read(source_url, query, 3, by_key=False)) == list(range(10))
    if any(keys[before - 1] == keys[after - 1] for before, after in seams):
        with pytest.raises(SourceBroken) as caught:
            read(source_url, query, 3, by_key=True)
        assert caught.value.code == "source_key_not_unique"
    else:
        assert sorted(read(source_url, query, 3, by_key=True)) == list(range(10))


EQUAL_BUT_NOT_ALIKE = {
    "numeric": ("decimal", ["0", "1.0", "1.00", "2"]),
    "double precision": ("float", ["-1", "-0", "0", "2"]),
    "text COLLATE any_case": ("text", ["a", "nord", "Nord", "z"]),
    "interval": ("text", ["1 hour", "1 day", "24 hours", "2 days"]),
}


@POSTGRESQL
@pytest.mark.parametrize("type_", EQUAL_BUT_NOT_ALIKE)
def test_equal_keys_that_print_differently_are_named_too(source_url: str, type_: str) -> None:
    in_catalog, keys = EQUAL_BUT_NOT_ALIKE[type_]
    fill(
        source_url,
        "CREATE COLLATION any_case"
        " (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
        f"CREATE TABLE t (id {type_}, v integer)",
        ("INSERT INTO t VALUES (?, ?)", [(key, n) for n, key in enumerate(keys)]),
    )
    query = compiled(a_dataset({"id": in_catalog, "v": "integer"}), "v")

    assert sorted(read(source_url, query, 2, by_key=False)) == [0, 1, 2, 3]
    with pytest.raises(SourceBroken) as caught:
        read(source_url, query, 2, by_key=True)
    assert caught.value.code == "source_key_not_unique"


@pytest.mark.parametrize("direction", ["asc", "desc"])
@pytest.mark.parametrize("nulls", [1, 2, 5])
def test_a_null_that_the_dataset_forbids_is_named_by_key_and_read_through_one_cursor(
    source_url: str, direction: str, nulls: int
) -> None:
    fill(
        source_url,
        "CREATE TABLE t (id integer, v integer)",
        ("INSERT INTO t VALUES (?, ?)", [(None if n < nulls else n, n) for n in range(6)]),
    )
    query = compiled(
        a_dataset({"id": "integer", "v": "integer"}),
        "v",
        sort=[{"field": "id", "direction": direction}],
    )
    assert sorted(read(source_url, query, 2, by_key=False)) == list(range(6))
    assert sorted(read(source_url, query, 6, by_key=True)) == list(range(6))
    with pytest.raises(SourceBroken, match=r"NULL .*\(id\)") as caught:
        read(source_url, query, 2, by_key=True)
    assert caught.value.code == "source_key_null"


@pytest.mark.parametrize("by_key", [True, False])
def test_wide_rows_make_small_pages(source_url: str, by_key: bool) -> None:
    wide = [(n, "x" * 100_000) for n in range(100)]
    fill(
        source_url,
        "CREATE TABLE t (id integer PRIMARY KEY, v text)",
        ("INSERT INTO t VALUES (?, ?)", wide),
    )
    query = compiled(a_dataset({"id": "integer", "v": "text"}), "id", "v")
    with snapshot_engine(source_url) as engine, read_snapshot(engine, 30) as connection:
        pages = list(raw_pages(connection, query, by_key=by_key))
    assert [row[:2] for page in pages for row in page] == wide
    assert [len(page) for page in pages] == [21, 21, 21, 21, 16]


@pytest.mark.parametrize("page_rows", [13, 1000])
@pytest.mark.parametrize("by_key", [True, False])
@pytest.mark.parametrize(
    ("called", "shown", "sort"),
    [("text", ["id", "v"], "id"), ("bytes", ["id", "v"], "id"), ("text", ["id"], "v")],
)
def test_rows_that_turn_wide_are_given_on_as_they_come(
    source_url: str, by_key: bool, page_rows: int, called: str, shown: list[str], sort: str
) -> None:
    """Whatever they are called, and also where they are sorted by and not shown."""
    rows = [(n, f"{n:03}" + "x" * (3 * PAGE_BYTES if n >= 100 else 1)) for n in range(110)]
    fill(
        source_url,
        "CREATE TABLE t (id integer PRIMARY KEY, v text)",
        ("INSERT INTO t VALUES (?, ?)", rows),
    )
    query = compiled(a_dataset({"id": "integer", "v": called}), *shown, sort=[{"field": sort}])
    with snapshot_engine(source_url) as engine, read_snapshot(engine, 30) as connection:
        pages = list(raw_pages(connection, query, page_rows, by_key=by_key))
    width = len(shown)
    assert [row[:width] for page in pages for row in page] == [row[:width] for row in rows]
    assert [len(page) for page in pages][-9:] == [1] * 9


FAILING = {
    "a division": ("1 / (id - 1500)", "SQLSTATE 22012"),
    "a cast": ("CASE WHEN id = 1500 THEN 'secret' ELSE '1' END::integer", "SQLSTATE 22P02"),
    "a number too large": ("(id / 1500) * 2147483647 + (id / 1500)", "SQLSTATE 22003"),
}


@POSTGRESQL
@pytest.mark.parametrize("failing", FAILING)
@pytest.mark.parametrize("file_format", BOTH)
@pytest.mark.parametrize("is_indexed", [True, False])
def test_a_value_that_cannot_be_computed_in_row_1500_ends_the_file(
    source_url: str, failing: str, file_format: FileFormat, is_indexed: bool
) -> None:
    expression, state = FAILING[failing]
    numbered(source_url, is_indexed=is_indexed)
    fill(source_url, f"CREATE VIEW t AS SELECT id, {expression} AS v FROM n")  # noqa: S608
    refused = refusal(source_url, file_format)
    assert refused.code == "source_broken"
    assert state in refused.message
    assert "secret" not in refused.message


@SQLITE
@pytest.mark.parametrize("file_format", BOTH)
@pytest.mark.parametrize("is_indexed", [True, False])
def test_a_value_that_sqlite_cannot_compute_in_row_1500_ends_the_file(
    source_url: str, file_format: FileFormat, is_indexed: bool
) -> None:
    numbered(source_url, is_indexed=is_indexed)
    fill(
        source_url,
        "CREATE VIEW t AS SELECT id,"
        " CASE WHEN id = 1500 THEN json_extract('secret', '$') ELSE id END AS v FROM n",
    )
    refused = refusal(source_url, file_format)
    assert refused.code == "source_broken"
    assert "secret" not in refused.message


@POSTGRESQL
@pytest.mark.parametrize("file_format", BOTH)
@pytest.mark.parametrize("is_indexed", [True, False])
def test_a_statement_that_is_too_slow_ends_as_what_its_limit_was(
    source_url: str, file_format: FileFormat, is_indexed: bool
) -> None:
    numbered(source_url, is_indexed=is_indexed)
    fill(source_url, "CREATE VIEW t AS SELECT id, pg_sleep(id / 1500)::text AS v FROM n")
    limit = refusal(source_url, file_format, Patient(statement_seconds=0.3))
    assert isinstance(limit, LimitExceeded)
    assert limit.code == "statement_timeout"
    assert isinstance(refusal(source_url, file_format, Patient(seconds=0.3)), ReceiveTimeout)


def numbered(url: str, *, is_indexed: bool) -> None:
    """Make a table of two pages, to be paged by key only if it has an index."""
    fill(
        url,
        f"CREATE TABLE n (id integer {'PRIMARY KEY' if is_indexed else ''})",
        ("INSERT INTO n VALUES (?)", rows_of_ids(range(1, 2001))),
        "ANALYZE",
    )


def refusal(url: str, file_format: FileFormat, patience: Patient | None = None) -> QueriesError:
    """Make the file, which must fail, and see that it is not whole."""
    query = compiled(a_dataset({"id": "integer", "v": "text"}, not_null=["id"]), "id", "v")
    sink = Sink()
    with pytest.raises(QueriesError) as caught:
        file_of(url, query, file_format, sink=sink, patience=patience)
    assert caught.value.__cause__ is None
    assert sink.content.count(b"\n") < 1500
    assert b"PK\x05\x06" not in sink.content  # the end of a workbook
    return caught.value
