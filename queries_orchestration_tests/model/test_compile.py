"""Compiling: whose rows and fields, which values, and which SQL."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import create_engine, text

from queries_orchestration.model.access import Actor
from queries_orchestration.model.compile import CompiledQuery
from queries_orchestration.model.errors import (
    AccessLost,
    FieldNotAvailable,
    InvalidRuntimeValue,
    SourceBroken,
)
from queries_orchestration_tests.model.definitions import (
    EVERYTHING,
    POSTGRESQL,
    SQLITE,
    a_dataset,
    compiled,
    fill,
    is_sqlite,
    read_all,
    snapshot_engine,
)

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
]
TEXT_P = [{"name": "p", "type": "text"}]


def filtered(
    types: Mapping[str, str], field: str, op: str, value: Any, values: Any = None
) -> CompiledQuery:
    parameters = [{"name": "p", "type": values[0], "required": False}] if values is not None else []
    return compiled(
        a_dataset(types),
        "id",
        filters=[{"field": field, "op": op, "value": value}],
        parameters=parameters,
        values={"p": values[1]} if values is not None else {},
    )


def test_a_nasty_text_is_data_and_finds_itself_only(source_url: str) -> None:
    fill(
        source_url,
        "CREATE TABLE t (id integer PRIMARY KEY, v text)",
        ("INSERT INTO t VALUES (?, ?)", [*enumerate(NASTY), (99, "%"), (100, None)]),
    )
    types = {"id": "integer", "v": "text"}
    for op in ("eq", "contains", "starts_with"):
        for number, nasty in enumerate(NASTY):
            query = filtered(types, "v", op, {"parameter": "p"}, ("text", nasty))
            assert read_all(source_url, query, 1) == [(number,)]


def test_a_part_of_a_text_is_found_letter_for_letter(source_url: str) -> None:
    words = ["100%", "1000", "a_b", "axb", "A_B", "\\", None]
    fill(
        source_url,
        "CREATE TABLE t (id integer PRIMARY KEY, v text)",
        ("INSERT INTO t VALUES (?, ?)", list(enumerate(words))),
    )
    types = {"id": "integer", "v": "text"}

    def found(op: str, part: str) -> list[object]:
        return [row[0] for row in read_all(source_url, filtered(types, "v", op, part))]

    assert found("contains", "00%") == [0]
    assert found("contains", "_") == [2, 4]
    assert found("starts_with", "a_") == [2]
    assert found("starts_with", "b") == []
    assert found("contains", "\\") == [5]
    assert found("contains", "") == [0, 1, 2, 3, 4, 5]


def test_values_never_stand_in_the_text_of_the_statement() -> None:
    query = compiled(
        a_dataset({"id": "integer", "v": "text"}),
        "id",
        filters=[
            {"field": "v", "op": "eq", "value": {"parameter": "p"}},
            {"field": "id", "op": "lt", "value": 4711},
        ],
        values={"p": "sesame"},
        parameters=TEXT_P,
    )
    for url in ("postgresql+psycopg2://", "sqlite://"):
        dialect = create_engine(url).dialect
        for statement in (query.first_page(5), query.page_after(("4712",), 5)):
            sql = str(statement.compile(dialect=dialect))
            assert not any(value in sql for value in ("sesame", "4711", "4712"))


def test_null_follows_one_rule(source_url: str) -> None:
    fill(
        source_url,
        "CREATE TABLE t (id integer PRIMARY KEY, v text)",
        ("INSERT INTO t VALUES (?, ?)", [(1, "a"), (2, None), (3, "")]),
    )
    types = {"id": "integer", "v": "text"}
    dataset = a_dataset(types)

    def ids(*filters: Mapping[str, Any]) -> list[object]:
        return [row[0] for row in read_all(source_url, compiled(dataset, "id", filters=filters))]

    assert ids({"field": "v", "op": "is_null"}) == [2]
    assert ids({"field": "v", "op": "not_null"}) == [1, 3]
    assert ids({"field": "v", "op": "ne", "value": "a"}) == [3]
    assert ids({"field": "v", "op": "eq", "value": ""}) == [3]
    left_out = filtered(types, "v", "eq", {"parameter": "p"}, ("text", None))
    assert read_all(source_url, left_out) == [(1,), (2,), (3,)]


CASES: list[tuple[str, str, str, list[Any], list[Any], str, Any, list[int]]] = [
    # type, PostgreSQL's and SQLite's column, their stored values, op, value, ids found
    ("integer", "bigint", "integer", [1, 2**53 + 1], [1, 2**53 + 1], "gt", 2**53, [1]),
    ("decimal", "numeric", "text", ["9.90", "10.0"], ["9.90", "10.0"], "gt", "9.9", [1]),
    ("decimal", "numeric", "numeric", ["9.90", "10.0"], ["9.90", "10.0"], "eq", 9.9, [0]),
    ("float", "double precision", "real", [0.1, 0.3], [0.1, 0.3], "eq", 0.1, [0]),
    ("float", "real", "real", [0.1, 0.3], [0.1, 0.3], "eq", 0.1, [0]),
    ("boolean", "boolean", "boolean", [True, False], [1, 0], "eq", True, [0]),
    ("date", "date", "text", ["2026-01-31", "2026-02-01"], ["2026-01-31", "2026-02-01 00:00:00"],
     "ge", "2026-02-01", [1]),
    ("timestamp", "timestamp", "text", ["2026-01-31 00:00:00", "2026-01-31 00:00:00.000001"],
     ["2026-01-31T00:00:00.000000", "2026-01-31 00:00:00.000001"],
     "le", "2026-01-31T00:00:00", [0]),
    ("timestamptz", "timestamptz", "", ["2026-01-31 01:00:00+01", "2026-01-31 00:00:00+00"],
     ["2026-01-31 01:00:00+01:00", 1769817600], "eq", "2026-01-30T19:00:00-05:00", [0, 1]),
    ("time", "time", "text", ["08:00", "20:00"], ["08:00", "20:00:00"], "lt", "20:00", [0]),
    ("uuid", "uuid", "text", ["00000000-0000-0000-0000-00000000002a"],
     ["0000000000000000000000000000002A"], "eq", "00000000-0000-0000-0000-00000000002a", [0]),
]  # fmt: skip


def test_a_filter_compares_values_and_not_their_spelling(source_url: str) -> None:
    for type_, pg_column, sqlite_column, pg_values, sqlite_values, op, value, found in CASES:
        column, stored = (
            (sqlite_column, sqlite_values) if is_sqlite(source_url) else (pg_column, pg_values)
        )
        fill(
            source_url,
            "DROP TABLE IF EXISTS t",
            f"CREATE TABLE t (id integer PRIMARY KEY, v {column})",
            ("INSERT INTO t VALUES (?, ?)", list(enumerate(stored))),
        )
        query = filtered({"id": "integer", "v": type_}, "v", op, value)
        read = [row[0] for row in read_all(source_url, query, 1)]
        assert (type_, column, read) == (type_, column, found)


PARAMETERS: list[tuple[str, str, object, str]] = [
    ("integer", "decimal", 2, "numeric"),
    ("integer", "float", 2, "double precision"),
    ("decimal", "float", Decimal("2.0"), "double precision"),
    ("boolean", "boolean", False, "boolean"),
    ("date", "date", date(2026, 1, 31), "date"),
    ("timestamptz", "timestamptz", datetime(2026, 1, 31, tzinfo=UTC), "timestamptz"),
]


def test_a_parameter_is_bound_as_the_type_of_its_field(source_url: str) -> None:
    for parameter, type_, value, column in PARAMETERS:
        stored = str(value) if not isinstance(value, bool) else value
        fill(
            source_url,
            "DROP TABLE IF EXISTS t",
            f"CREATE TABLE t (id integer PRIMARY KEY, v {column})",
            ("INSERT INTO t VALUES (?, ?)", [(1, stored), (2, None)]),
        )
        types = {"id": "integer", "v": type_}
        query = filtered(types, "v", "eq", {"parameter": "p"}, (parameter, value))
        assert (parameter, type_, read_all(source_url, query)) == (parameter, type_, [(1,)])


@pytest.mark.parametrize(
    ("type_", "value"),
    [("text", "a\0b"), ("text", "\ud800"), ("integer", 2**63), ("integer", -(2**63) - 1)],
)
def test_a_value_that_no_database_can_hold_is_refused(type_: str, value: object) -> None:
    with pytest.raises(InvalidRuntimeValue, match="parameter p"):
        filtered({"id": "integer", "v": type_}, "v", "eq", {"parameter": "p"}, (type_, value))


def test_a_text_that_is_no_uuid_and_a_missing_value_are_refused() -> None:
    with pytest.raises(InvalidRuntimeValue, match="parameter p is no UUID"):
        filtered({"id": "integer", "v": "uuid"}, "v", "eq", {"parameter": "p"}, ("text", "nope"))
    with pytest.raises(InvalidRuntimeValue, match="parameter p has no value"):
        compiled(
            a_dataset({"id": "integer", "v": "text"}),
            "id",
            filters=[{"field": "v", "op": "eq", "value": {"parameter": "p"}}],
            parameters=TEXT_P,
        )


CUT = {
    "who": {"roles": ["reader"]},
    "fields": ["carrier"],
    "rows": [{"field": "tenant", "op": "eq", "value": "A"}],
}
TYPES = {"id": "integer", "tenant": "text", "carrier": "text", "cost": "decimal"}
READER = Actor("p1", "Rosa", frozenset({"reader"}), True)
AUTHOR = Actor("p2", "Otto", frozenset({"author"}), True)
SEES_ALL = {**EVERYTHING, "who": {"roles": ["author"]}}


def test_rows_and_fields_are_cut_by_the_actor_of_each_compilation(source_url: str) -> None:
    fill(
        source_url,
        "CREATE TABLE t (id integer PRIMARY KEY, tenant text, carrier text, cost numeric)",
        (
            "INSERT INTO t VALUES (?, ?, ?, ?)",
            [(1, "A", "AA", 1), (2, "B", "BA", 2), (3, None, "LH", 3), (4, "A", "UA", 4)],
        ),
    )
    dataset = a_dataset(TYPES, access=[CUT, SEES_ALL])
    count = {"aggregate": "count", "label": "n"}
    for page_rows in (1, 2):
        as_author = read_all(source_url, compiled(dataset, "carrier", actor=AUTHOR), page_rows)
        assert as_author == [("AA",), ("BA",), ("LH",), ("UA",)]
        as_reader = read_all(source_url, compiled(dataset, "carrier", actor=READER), page_rows)
        assert as_reader == [("AA",), ("UA",)]
    assert read_all(source_url, compiled(dataset, count, actor=READER)) == [(2,)]


@pytest.mark.parametrize(
    "query",
    [
        {"fields": ["carrier", "cost"]},
        {"fields": ["carrier"], "filters": [{"field": "cost", "op": "not_null"}]},
        {"fields": ["carrier"], "sort": [{"field": "cost"}]},
        {"fields": [{"aggregate": "sum", "field": "cost", "label": "x"}]},
    ],
    ids=["selected", "filtered", "sorted", "added up"],
)
def test_a_field_that_was_cut_is_named_wherever_it_is_used(query: dict[str, Any]) -> None:
    fields = query.pop("fields")
    with pytest.raises(FieldNotAvailable, match="field cost of the dataset things") as caught:
        compiled(a_dataset(TYPES, access=[CUT]), *fields, actor=READER, **query)
    assert caught.value.code == "field_not_available"


def test_access_that_was_lost_stops_the_compilation() -> None:
    with pytest.raises(AccessLost):
        compiled(a_dataset(TYPES, access=[CUT]), "carrier", actor=AUTHOR)


def test_a_parameter_cannot_widen_the_rows_of_the_actor(source_url: str) -> None:
    fill(
        source_url,
        "CREATE TABLE t (id integer PRIMARY KEY, tenant text, carrier text, cost numeric)",
        ("INSERT INTO t VALUES (?, ?, ?, 0)", [(1, "A", "AA"), (2, "B", "BA")]),
    )
    for value in (None, "BA", "' OR 1=1 --"):
        query = compiled(
            a_dataset(TYPES, access=[CUT]),
            "carrier",
            filters=[{"field": "carrier", "op": "eq", "value": {"parameter": "p"}}],
            values={"p": value},
            parameters=[{"name": "p", "type": "text", "required": False}],
        )
        assert read_all(source_url, query) == ([("AA",)] if value is None else [])


def test_a_page_after_a_unique_key_is_one_comparison() -> None:
    query = compiled(a_dataset({"id": "integer"}), "id")
    sql = str(query.page_after((5,), 10).compile(create_engine("sqlite://")))
    where = sql.partition("WHERE")[2].partition("ORDER BY")[0]
    assert where.strip() == "(t.id) > ?"


def test_a_page_in_the_middle_is_found_by_an_index(source_url: str) -> None:
    fill(
        source_url,
        "CREATE TABLE t (id integer PRIMARY KEY, v integer NOT NULL)",
        "CREATE INDEX i ON t (v, id)",
        ("INSERT INTO t VALUES (?, ?)", [(number, number // 3) for number in range(3000)]),
    )
    query = compiled(
        a_dataset({"id": "integer", "v": "integer"}, not_null=["v"]), "id", sort=[{"field": "v"}]
    )
    with snapshot_engine(source_url) as engine, engine.connect() as connection:
        statement = query.page_after(("900", "2700"), 10).compile(
            engine, compile_kwargs={"literal_binds": True}
        )
        explain = "EXPLAIN QUERY PLAN" if is_sqlite(source_url) else "EXPLAIN"
        if not is_sqlite(source_url):
            connection.execute(text("SET enable_seqscan = off"))
        plan = "\n".join(str(row) for row in connection.exec_driver_sql(f"{explain} {statement}"))
    assert "SEARCH t USING COVERING INDEX i" in plan or "(ROW(v, id) > ROW(900, 2700))" in plan


@POSTGRESQL
def test_a_schema_is_part_of_the_relation(source_url: str) -> None:
    fill(
        source_url,
        'CREATE SCHEMA "Air"',
        'CREATE TABLE "Air"."Flights" (id integer PRIMARY KEY)',
        'INSERT INTO "Air"."Flights" VALUES (1), (2)',
    )
    query = compiled(a_dataset({"id": "integer"}, relation="Air.Flights"), "id")
    assert read_all(source_url, query, 1) == [(1,), (2,)]


@SQLITE
def test_a_stored_value_that_a_filter_cannot_read_is_an_error_and_not_a_missing_row(
    source_url: str,
) -> None:
    fill(
        source_url, "CREATE TABLE t (id integer PRIMARY KEY, v)", "INSERT INTO t VALUES (1, 'soon')"
    )
    query = filtered({"id": "integer", "v": "date"}, "v", "ge", "2026-01-01")
    with pytest.raises(SourceBroken, match="dataset things") as caught:
        read_all(source_url, query)
    assert "soon" not in caught.value.message


def test_groups_are_computed_in_the_same_way_for_every_page() -> None:
    count = {"aggregate": "count", "label": "n"}
    query = compiled(a_dataset({"id": "integer", "v": "text"}), "v", count)
    for url in ("postgresql+psycopg2://", "sqlite://"):
        engine = create_engine(url)
        first = str(query.first_page(10).compile(engine))
        later = str(query.page_after(("x",), 10).compile(engine))
        groups = first.partition("GROUP BY")[0]
        assert "AS MATERIALIZED" in groups
        assert later.startswith(groups)
