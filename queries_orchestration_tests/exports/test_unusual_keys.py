"""Columns of PostgreSQL that few think of, as a key, in a sort and in a filter."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import text

from queries_orchestration.exports.column_texts import column_texts
from queries_orchestration.exports.file_writer import FileFormat
from queries_orchestration.exports.paging import is_paged_by_key
from queries_orchestration.exports.shared_snapshot import share
from queries_orchestration.exports.sources import read_snapshot
from queries_orchestration.exports.text_form import TextForm
from queries_orchestration.model.compile import CompiledQuery
from queries_orchestration.model.errors import InvalidRuntimeValue, SourceBroken
from queries_orchestration_tests.exports.query_files import csv_of, file_of, read_every_way
from queries_orchestration_tests.exports.read_back import calamine_rows, read_csv
from queries_orchestration_tests.model.definitions import (
    a_dataset,
    compiled,
    fill,
    snapshot_engine,
)
from queries_orchestration_tests.postgres import PostgresServer

ROWS = 5000
LABELS = [f"l{99 - number}" for number in range(60)]
"""Declared in another order than that of their texts."""
COMPARED = ["mood", "deeper", "moods", "of_moods"]
"""Types that are domains, over an enum or an array of one, or an array of such a domain."""
READ_AT_ONCE = ["pair", "named", "facts"]
"""Types that PostgreSQL sorts, but does not compare with a text."""


@pytest.fixture(scope="module")
def url(postgres: PostgresServer) -> Iterator[str]:
    made = postgres.create_database()
    labels = ", ".join(f"'{label}'" for label in LABELS)
    fill(
        made,
        "CREATE EXTENSION hstore",
        f"CREATE TYPE label AS ENUM ({labels})",
        "CREATE DOMAIN mood AS label",
        "CREATE DOMAIN deeper AS mood",
        "CREATE DOMAIN moods AS label[]",
        "CREATE TYPE pair AS (a integer, b text)",
        "CREATE DOMAIN named AS pair",
        "CREATE FUNCTION of(i integer) RETURNS label LANGUAGE sql IMMUTABLE AS"
        f" $$ SELECT (ARRAY[{labels}]::label[])[i % 60 + 1] $$",
    )
    values = {
        "mood": "of(i)",
        "deeper": "of(i)",
        "moods": "ARRAY[of(i), of(i / 60)]",
        "of_moods": "ARRAY[of(i), of(i / 60)]::mood[]",
        "pair": "(i % 7, 'b ' || i)::pair",
        "named": "(i % 7, 'b ' || i)::pair",
        "facts": "hstore('k', i::text)",
    }
    for type_, value in values.items():
        column = "mood[]" if type_ == "of_moods" else {"facts": "hstore"}.get(type_, type_)
        fill(
            made,
            f"CREATE TABLE {type_}_t (id integer PRIMARY KEY, v {column} NOT NULL)",
            f"INSERT INTO {type_}_t SELECT i, {value} FROM generate_series(1, {ROWS}) i",  # noqa: S608
            f"CREATE INDEX ON {type_}_t (v, id)",
            f"CREATE TABLE {type_}_key (id {column} PRIMARY KEY)",
            f"INSERT INTO {type_}_key SELECT DISTINCT v FROM {type_}_t",  # noqa: S608
        )
    fill(made, "ANALYZE")
    yield made
    postgres.drop(made)


def sorted_by_it(type_: str, direction: str = "asc", **rest: Any) -> CompiledQuery:
    dataset = a_dataset({"id": "integer", "v": "text"}, not_null=["id", "v"], relation=f"{type_}_t")
    sort = [{"field": name, "direction": direction} for name in ("v", "id")]
    return compiled(dataset, "id", "v", sort=sort, **rest)


def keyed_by_it(type_: str) -> CompiledQuery:
    return compiled(a_dataset({"id": "text"}, relation=f"{type_}_key"), "id")


def selected(url: str, sql: str) -> list[list[str | None]]:
    with snapshot_engine(url) as engine, engine.connect() as connection:
        return [list(row) for row in connection.execute(text(sql))]


def is_by_key(url: str, query: CompiledQuery) -> bool:
    with snapshot_engine(url) as engine, read_snapshot(engine, 30) as connection:
        return is_paged_by_key(connection, query)


def rows_of(url: str, query: CompiledQuery, file_format: FileFormat) -> list[list[str]]:
    content = file_of(url, query, file_format).content
    if file_format == "csv":
        return [[cell or "" for cell in row] for row in read_csv(content)[1:]]
    rows = calamine_rows(content)[1:]
    return [
        [str(int(cell)) if isinstance(cell, float) else str(cell) for cell in row] for row in rows
    ]


# --- Domains over enums


@pytest.mark.parametrize("type_", COMPARED)
@pytest.mark.parametrize("direction", ["asc", "desc"])
@pytest.mark.parametrize("file_format", ["csv", "xlsx"])
def test_one_is_sorted_by_and_an_index_finds_each_page(
    url: str, type_: str, direction: str, file_format: FileFormat
) -> None:
    query = sorted_by_it(type_, direction)
    expected = (
        f"SELECT id::text, v::text FROM {type_}_t t ORDER BY t.v {direction}, t.id {direction}"  # noqa: S608
    )
    assert is_by_key(url, query)
    assert rows_of(url, query, file_format) == selected(url, expected)


@pytest.mark.parametrize("type_", COMPARED)
def test_one_is_a_key(url: str, type_: str) -> None:
    query = keyed_by_it(type_)
    expected = selected(url, f"SELECT id::text FROM {type_}_key t ORDER BY t.id")  # noqa: S608
    assert len(expected) >= len(LABELS)
    assert read_every_way(url, query, 7) == expected


@pytest.mark.parametrize("type_", ["mood", "deeper", "moods", "of_moods"])
@pytest.mark.parametrize("op", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_one_is_compared_with_a_value(url: str, type_: str, op: str) -> None:
    sign = {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}[op]
    value = "l70" if type_ in ("mood", "deeper") else "{l70,l70}"
    below = {"mood": "label", "deeper": "label"}.get(type_, "label[]")
    query = sorted_by_it(type_, filters=[{"field": "v", "op": op, "value": value}])
    expected = selected(
        url,
        f"SELECT id::text, v::text FROM {type_}_t t"  # noqa: S608
        f" WHERE v::{below} {sign} '{value}'::{below} ORDER BY t.v, t.id",
    )
    assert csv_of(url, query) == expected


@pytest.mark.parametrize("type_", ["mood", "deeper"])
@pytest.mark.parametrize(("op", "sign"), [("in", "IN"), ("not_in", "NOT IN")])
def test_one_is_looked_for_in_a_list(url: str, type_: str, op: str, sign: str) -> None:
    query = sorted_by_it(type_, filters=[{"field": "v", "op": op, "value": ["l70", "l99"]}])
    assert csv_of(url, query) == selected(
        url,
        f"SELECT id::text, v::text FROM {type_}_t t"  # noqa: S608
        f" WHERE v::text {sign} ('l70', 'l99') ORDER BY t.v, t.id",
    )


def test_a_label_that_an_enum_does_not_have_is_an_invalid_value(url: str) -> None:
    with pytest.raises(InvalidRuntimeValue, match="filter on v"):
        csv_of(url, sorted_by_it("mood", filters=[{"field": "v", "op": "eq", "value": "none"}]))


def test_one_has_a_first_and_a_last_value_and_makes_groups(url: str) -> None:
    dataset = a_dataset({"id": "integer", "v": "text"}, relation="mood_t")
    ends = [{"aggregate": name, "field": "v", "label": name} for name in ("min", "max")]
    assert csv_of(url, compiled(dataset, *ends)) == [[LABELS[0], LABELS[-1]]]
    groups = compiled(dataset, "v", {"aggregate": "count", "label": "n"})
    assert [row[0] for row in read_every_way(url, groups, 7)] == LABELS


# --- What is sorted, but not compared with a text


@pytest.mark.parametrize("type_", READ_AT_ONCE)
@pytest.mark.parametrize("file_format", ["csv", "xlsx"])
def test_what_no_text_compares_with_is_read_through_one_cursor(
    url: str, type_: str, file_format: FileFormat
) -> None:
    assert not is_by_key(url, sorted_by_it(type_))
    expected = selected(url, f"SELECT id::text, v::text FROM {type_}_t t ORDER BY t.v, t.id")  # noqa: S608
    assert rows_of(url, sorted_by_it(type_), file_format) == expected
    assert not is_by_key(url, keyed_by_it(type_))
    expected = selected(url, f"SELECT id::text FROM {type_}_key t ORDER BY t.id")  # noqa: S608
    assert rows_of(url, keyed_by_it(type_), file_format) == expected


def test_nor_is_it_where_the_first_row_is_null(url: str) -> None:
    fill(
        url,
        "CREATE TABLE late (id integer PRIMARY KEY, kind integer NOT NULL, v pair)",
        "INSERT INTO late SELECT i, i / 2000, CASE WHEN i >= 2000 THEN (i, 'b')::pair END"  # noqa: S608
        f" FROM generate_series(1, {ROWS}) i",
        "CREATE INDEX ON late (kind, v, id)",
        "ANALYZE late",
    )
    types = {"id": "integer", "kind": "integer", "v": "text"}
    query = compiled(
        a_dataset(types, not_null=["id", "kind"], relation="late"),
        "id",
        sort=[{"field": "kind"}, {"field": "v"}],
    )
    assert [int(row[0] or 0) for row in csv_of(url, query)] == list(range(1, ROWS + 1))


@pytest.mark.parametrize("column", ["xid", "point", "json"])
def test_what_has_no_order_is_told_with_what_to_do(url: str, column: str) -> None:
    fill(
        url,
        "DROP TABLE IF EXISTS unordered",
        f"CREATE TABLE unordered (id integer PRIMARY KEY, v {column})",
    )
    dataset = a_dataset({"id": "integer", "v": "text"}, relation="unordered", key=["v"])
    with pytest.raises(SourceBroken, match="fields of types that their database can") as caught:
        csv_of(url, compiled(dataset, "id"))
    assert caught.value.code == "source_broken"


def test_a_composite_that_a_filter_compares_is_told_with_what_to_do(url: str) -> None:
    query = sorted_by_it("pair", filters=[{"field": "v", "op": "eq", "value": "(1,b)"}])
    with pytest.raises(SourceBroken, match="fields of types that their database can"):
        csv_of(url, query)


# --- What fails leaves the snapshot as it was


def test_a_snapshot_is_shared_although_the_database_does_not_know_a_zone(url: str) -> None:
    with (files("tzdata.zoneinfo") / "Europe" / "Berlin").open("rb") as rules:
        unknown = ZoneInfo.from_file(rules, key="Nowhere/Berlin")
    query = sorted_by_it("mood")
    with snapshot_engine(url) as engine, read_snapshot(engine, 30) as connection:
        column_texts(connection, query, TextForm(unknown))
        assert share(connection, query) is not None


def test_it_is_the_same_after_a_plan_that_cannot_be_made(url: str) -> None:
    query = sorted_by_it("pair")
    with snapshot_engine(url) as engine, read_snapshot(engine, 30) as connection:
        assert not is_paged_by_key(connection, query)
        fill(url, "DELETE FROM pair_t WHERE id = 1")
        assert connection.scalar(text("SELECT count(*) FROM pair_t")) == ROWS
        assert share(connection, query) is not None
    fill(url, "INSERT INTO pair_t VALUES (1, (1, 'b 1'))")
