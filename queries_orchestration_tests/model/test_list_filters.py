"""``in`` and ``not_in``: lists of values in filters and access rules (cases P01, P02)."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import text

from queries_orchestration.exports.sources import read_snapshot
from queries_orchestration.exports.statements import driver_statement
from queries_orchestration.model.errors import InvalidRuntimeValue, SourceBroken
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
from queries_orchestration_tests.model.lists import NASTY, TEXTS, by_parameter, ids, listed


@pytest.fixture
def texts_url(source_url: str) -> str:
    """A source with the nasty texts by their position, and a NULL."""
    fill(
        source_url,
        "CREATE TABLE t (id integer PRIMARY KEY, v text)",
        ("INSERT INTO t VALUES (?, ?)", [*enumerate(NASTY), (99, None)]),
    )
    return source_url


# --- P01: the elements are data


def test_nasty_texts_in_a_list_are_data_and_find_themselves_only(texts_url: str) -> None:
    for number, nasty in enumerate(NASTY):
        with_nobodys = (nasty, "nobody's")
        assert ids(texts_url, by_parameter(TEXTS, "v", "in", "text", with_nobodys)) == [number]
        others = [other for other in range(len(NASTY)) if other != number]
        assert ids(texts_url, by_parameter(TEXTS, "v", "not_in", "text", with_nobodys)) == others
    everything = list(range(len(NASTY)))
    assert ids(texts_url, by_parameter(TEXTS, "v", "in", "text", tuple(NASTY)), 3) == everything
    assert ids(texts_url, listed(TEXTS, "v", "in", NASTY), 3) == everything
    assert ids(texts_url, listed(TEXTS, "v", "not_in", NASTY)) == []


def test_elements_never_stand_in_the_text_of_the_statement(source_url: str) -> None:
    queries = [listed(TEXTS, "v", "in", ["sesame"]), listed(TEXTS, "id", "not_in", [4711])]
    with snapshot_engine(source_url) as engine:
        for query in queries:
            made = driver_statement(query.statement, engine.dialect)
            assert "sesame" not in made.sql
            assert "4711" not in made.sql


# --- P02: no element, NULL, many elements


def test_an_empty_list_has_no_row_in_it_and_every_row_outside_it(texts_url: str) -> None:
    everything = [*range(len(NASTY)), 99]
    for type_, field in (("text", "v"), ("integer", "id")):
        assert ids(texts_url, listed(TEXTS, field, "in", [])) == []
        assert ids(texts_url, listed(TEXTS, field, "not_in", [])) == everything
        assert ids(texts_url, by_parameter(TEXTS, field, "in", type_, ())) == []
        assert ids(texts_url, by_parameter(TEXTS, field, "not_in", type_, ())) == everything


@pytest.mark.parametrize(
    "type_", ["decimal", "float", "boolean", "date", "timestamp", "timestamptz", "time", "uuid"]
)
def test_an_empty_list_of_any_type_is_empty(source_url: str, type_: str) -> None:
    column = {"float": "double precision"}.get(type_, type_)
    fill(
        source_url,
        f"CREATE TABLE t (id integer PRIMARY KEY, v {column})",
        "INSERT INTO t VALUES (1, NULL)",
    )
    types = {"id": "integer", "v": type_}
    assert ids(source_url, listed(types, "v", "in", [])) == []
    assert ids(source_url, listed(types, "v", "not_in", [])) == [1]


def test_a_list_without_a_value_leaves_its_filter_out(texts_url: str) -> None:
    for op in ("in", "not_in"):
        query = by_parameter(TEXTS, "v", op, "text", None)
        assert ids(texts_url, query) == [*range(len(NASTY)), 99]


def test_a_list_that_is_missing_is_refused_by_name() -> None:
    with pytest.raises(InvalidRuntimeValue, match="parameter p has no value"):
        compiled(
            a_dataset(TEXTS),
            "id",
            filters=[{"field": "v", "op": "in", "value": {"parameter": "p"}}],
            parameters=[{"name": "p", "type": "text", "list": True}],
        )


def test_a_row_that_is_null_is_neither_in_a_list_nor_outside_it(texts_url: str) -> None:
    assert 99 not in ids(texts_url, listed(TEXTS, "v", "in", ["a,b", "NULL", "null"]))
    assert 99 not in ids(texts_url, listed(TEXTS, "v", "not_in", ["nobody's"]))


def test_as_many_elements_as_a_list_may_have_are_one_bound_value(source_url: str) -> None:
    fill(
        source_url,
        "CREATE TABLE t (id integer PRIMARY KEY, v numeric)",
        ("INSERT INTO t VALUES (?, ?)", [(number, f"{number}.50") for number in range(3_000)]),
    )
    types = {"id": "integer", "v": "decimal"}
    numbers = tuple(range(1, 20_000, 2))
    decimals = tuple(Decimal(number) + Decimal("0.5") for number in numbers)
    odd = [number for number in range(3_000) if number % 2]
    assert len(numbers) == len(decimals) == 10_000
    assert ids(source_url, by_parameter(types, "id", "in", "integer", numbers)) == odd
    assert ids(source_url, by_parameter(types, "v", "in", "decimal", decimals)) == odd
    even = [number for number in range(3_000) if not number % 2]
    both = compiled(
        a_dataset(types),
        "id",
        filters=[
            {"field": field, "op": "not_in", "value": {"parameter": name}}
            for field, name in (("id", "numbers"), ("v", "decimals"))
        ],
        parameters=[
            {"name": "numbers", "type": "integer", "list": True},
            {"name": "decimals", "type": "decimal", "list": True},
        ],
        values={"numbers": numbers, "decimals": decimals},
    )
    assert ids(source_url, both) == even


# --- exact values of every type

# type, PostgreSQL's and SQLite's column, their stored values, list, ids found
CASES: list[tuple[str, str, str, list[Any], list[Any], list[Any], list[int]]] = [
    ("integer", "bigint", "integer", [2**53, 2**53 + 1, -(2**63)], [2**53, 2**53 + 1, -(2**63)],
     [2**53 + 1, -(2**63)], [1, 2]),
    ("integer", "smallint", "text", [1, 2, 3], ["1", "2", "3"], [1, 3], [0, 2]),
    ("decimal", "numeric", "text", ["9.90", "10.0", "0.1"], ["9.90", "1e1", "0.1000"],
     ["9.9", 10, 0.1], [0, 1, 2]),
    ("decimal", "numeric", "text", ["0.00000000000000000000000000012345678901", "0.0"],
     ["0.00000000000000000000000000012345678901", "-0.0"],
     ["0.00000000000000000000000000012345678901", "0.00000000000000000000000000012345678902", 0],
     [0, 1]),
    ("decimal", "bigint", "integer", [7, 8], [7, 8], [7], [0]),
    ("float", "double precision", "real", [0.1, 5e-324, 1.7976931348623157e308, 0.3],
     [0.1, 5e-324, 1.7976931348623157e308, 0.3], [0.1, 5e-324, 1.7976931348623157e308],
     [0, 1, 2]),
    ("float", "double precision", "real", [-0.0, 1.0], [-0.0, 1], [0, 1], [0, 1]),
    ("float", "real", "real", [0.1, 0.3], [0.1, 0.3], [0.1], [0]),
    ("boolean", "boolean", "boolean", [True, False], [1, 0], [True], [0]),
    ("boolean", "boolean", "boolean", [True, False], [1, 0], [False, True], [0, 1]),
    ("date", "date", "text", ["2026-01-31", "2026-02-01"], ["2026-01-31", "2026-02-01 00:00:00"],
     ["2026-02-01", "0001-01-01"], [1]),
    ("timestamp", "timestamp", "text", ["2026-01-31 00:00:00", "2026-01-31 00:00:00.000001"],
     ["2026-01-31T00:00:00.000000", "2026-01-31 00:00:00.000001"], ["2026-01-31T00:00:00"], [0]),
    ("timestamptz", "timestamptz", "", ["2026-01-31 01:00:00+01", "2026-01-31 00:00:01+00"],
     ["2026-01-31 01:00:00+01:00", 1769817601], ["2026-01-30T19:00:00-05:00"], [0]),
    ("timestamptz", "timestamptz", "", ["2026-01-31 01:00:00+01", "2026-01-31 00:00:01+00"],
     ["2026-01-31 01:00:00+01:00", 1769817601],
     ["2026-01-31T00:00:01Z", "0001-01-01T00:00:00+14:00"], [1]),
    ("time", "time", "text", ["08:00", "20:00"], ["08:00", "20:00:00"], ["20:00"], [1]),
    ("uuid", "uuid", "text",
     ["00000000-0000-0000-0000-00000000002a", "00000000-0000-0000-0000-00000000002b"],
     ["0000000000000000000000000000002A", "00000000-0000-0000-0000-00000000002b"],
     ["00000000-0000-0000-0000-00000000002a"], [0]),
]  # fmt: skip


def test_a_list_finds_values_and_not_their_spelling(source_url: str) -> None:
    for type_, pg_column, sqlite_column, pg_values, sqlite_values, values, found in CASES:
        column, stored = (
            (sqlite_column, sqlite_values) if is_sqlite(source_url) else (pg_column, pg_values)
        )
        fill(
            source_url,
            "DROP TABLE IF EXISTS t",
            f"CREATE TABLE t (id integer PRIMARY KEY, v {column})",
            ("INSERT INTO t VALUES (?, ?)", [*enumerate(stored), (99, None)]),
        )
        types = {"id": "integer", "v": type_}
        case = (type_, column)
        assert (case, ids(source_url, listed(types, "v", "in", values), 1)) == (case, found)
        others = [number for number in range(len(stored)) if number not in found]
        assert (case, ids(source_url, listed(types, "v", "not_in", values))) == (case, others)


@POSTGRESQL
@pytest.mark.parametrize(
    ("column", "stored", "values"),
    [
        ("mood", ["happy", "sad, or so"], ["sad, or so"]),
        ("varchar(20)", ["a", "b"], ["b"]),
        ("char(5)", ["a", "b"], ["b", "b    "]),
        ("short_text", ["a", "b"], ["b"]),
        ("text COLLATE no_case", ["a", "b"], ["B"]),
        ("name", ["a", "b"], ["b"]),
        ("inet", ["10.0.0.1", "10.0.0.2"], ["10.0.0.2/32"]),
        ("int4range", ["[1,5)", "[2,3]"], ["[2,4)"]),
    ],
)
def test_elements_are_read_as_the_type_of_the_column(
    source_url: str, column: str, stored: list[str], values: list[str]
) -> None:
    fill(
        source_url,
        "CREATE TYPE mood AS ENUM ('happy', 'sad, or so')",
        "CREATE DOMAIN short_text AS varchar(5) CHECK (value <> 'never')",
        "CREATE COLLATION no_case"
        " (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
        f"CREATE TABLE t (id integer PRIMARY KEY, v {column})",
        ("INSERT INTO t VALUES (?, ?)", [*enumerate(stored), (99, None)]),
    )
    assert ids(source_url, listed(TEXTS, "v", "in", values)) == [1]
    assert ids(source_url, listed(TEXTS, "v", "not_in", values)) == [0]


@SQLITE
def test_a_list_follows_the_collation_of_its_column(source_url: str) -> None:
    fill(
        source_url,
        "CREATE TABLE t (id integer PRIMARY KEY, v text COLLATE NOCASE)",
        ("INSERT INTO t VALUES (?, ?)", [(1, "ewr"), (2, "JFK")]),
    )
    assert ids(source_url, listed(TEXTS, "v", "in", ["EWR"])) == [1]
    assert ids(source_url, listed(TEXTS, "v", "not_in", ["EWR"])) == [2]


@SQLITE
def test_a_stored_value_that_a_list_cannot_be_asked_for_is_an_error(source_url: str) -> None:
    fill(
        source_url, "CREATE TABLE t (id integer PRIMARY KEY, v)", "INSERT INTO t VALUES (1, 'soon')"
    )
    query = listed({"id": "integer", "v": "date"}, "v", "not_in", ["2026-01-01"])
    with pytest.raises(SourceBroken, match="dataset things") as caught:
        read_all(source_url, query)
    assert "soon" not in caught.value.message


def test_an_element_of_a_parameter_becomes_a_value_of_the_field(source_url: str) -> None:
    fill(
        source_url,
        "CREATE TABLE t (id integer PRIMARY KEY, v numeric, u uuid)",
        (
            "INSERT INTO t VALUES (?, ?, ?)",
            [(1, "2.0", "00000000-0000-0000-0000-00000000002a"), (2, "2.5", None)],
        ),
    )
    types = {"id": "integer", "v": "decimal", "u": "uuid"}
    assert ids(source_url, by_parameter(types, "v", "in", "integer", (2, 3))) == [1]
    spelt = ("0000000000000000000000000000002A",)
    assert ids(source_url, by_parameter(types, "u", "in", "text", spelt)) == [1]
    with pytest.raises(InvalidRuntimeValue, match="an element of the parameter p is no UUID"):
        by_parameter(types, "u", "in", "text", (*spelt, "nope"))


@pytest.mark.parametrize(
    ("field", "type_", "values"),
    [("v", "text", ("a", "b\0")), ("v", "text", ("\ud800",)), ("id", "integer", (1, 2**63))],
)
def test_an_element_that_no_database_can_hold_is_refused(
    field: str, type_: str, values: tuple[object, ...]
) -> None:
    with pytest.raises(InvalidRuntimeValue, match="an element of the parameter p has"):
        by_parameter(TEXTS, field, "in", type_, values)


def test_a_list_is_found_by_an_index(source_url: str) -> None:
    fill(
        source_url,
        "CREATE TABLE t (id integer PRIMARY KEY, v text)",
        "CREATE INDEX i ON t (v)",
        ("INSERT INTO t VALUES (?, ?)", [(number, f"v{number}") for number in range(5_000)]),
        "ANALYZE",
    )
    query = listed(TEXTS, "v", "in", ["v1", "v4000"])
    with snapshot_engine(source_url) as engine, read_snapshot(engine, 30) as connection:
        if is_sqlite(source_url):
            explain = "EXPLAIN QUERY PLAN"
        else:
            explain = "EXPLAIN"
            connection.execute(text("SET enable_seqscan = off"))
        made = driver_statement(query.statement, engine.dialect)
        plan = str(connection.exec_driver_sql(f"{explain} {made.sql}", made.values).all())
    assert "INDEX i (v=?)" in plan or "v = ANY ('{v1,v4000}'::text[])" in plan
    assert ids(source_url, query) == [1, 4000]


# --- access rules


def test_an_access_rule_with_a_list_cuts_the_rows(source_url: str) -> None:
    rows = [(1, "EWR"), (2, "JFK"), (3, "LGA"), (4, None), (5, "x' OR '1'='1")]
    fill(
        source_url,
        "CREATE TABLE t (id integer PRIMARY KEY, v text)",
        ("INSERT INTO t VALUES (?, ?)", rows),
    )

    def seen(op: str, values: list[str], wanted: tuple[object, ...]) -> list[object]:
        rule = {**EVERYTHING, "rows": [{"field": "v", "op": op, "value": values}]}
        query = compiled(
            a_dataset(TEXTS, access=[rule]),
            "id",
            filters=[{"field": "id", "op": "in", "value": {"parameter": "p"}}],
            parameters=[{"name": "p", "type": "integer", "list": True}],
            values={"p": wanted},
        )
        return ids(source_url, query, 2)

    everybody = (1, 2, 3, 4, 5)
    assert seen("in", ["EWR", "JFK"], everybody) == [1, 2]
    assert seen("in", ["EWR", "JFK"], (2, 3, 4)) == [2]
    assert seen("not_in", ["EWR", "JFK"], everybody) == [3, 5]
    assert seen("in", [], everybody) == []
    assert seen("not_in", [], everybody) == [1, 2, 3, 4, 5]
