"""Filters on decimals and floats, whatever numbers PostgreSQL's columns of them hold."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest

from queries_orchestration.exports.sources import read_snapshot
from queries_orchestration.model.compile import CompiledQuery
from queries_orchestration.model.errors import SourceBroken
from queries_orchestration_tests.exports.query_files import csv_of, file_of
from queries_orchestration_tests.model.definitions import (
    POSTGRESQL,
    a_dataset,
    compiled,
    fill,
    read_all,
    snapshot_engine,
)

INTEGERS = ["smallint", "integer", "bigint", "whole"]
EXACT = [*INTEGERS, "numeric", "numeric(5,2)", "price"]
CALLED = pytest.mark.parametrize("called", ["decimal", "float"])
FLOATS = ["real", "double precision"]
DOMAINS = ("CREATE DOMAIN price AS numeric(12,2)", "CREATE DOMAIN whole AS integer")


def asked(op: str, value: str | Sequence[str], called: str = "decimal") -> CompiledQuery:
    exact: Any = Decimal(value) if isinstance(value, str) else tuple(map(Decimal, value))
    return compiled(
        a_dataset({"id": "integer", "v": called}, not_null=["id", "v"]),
        "id",
        filters=[{"field": "v", "op": op, "value": {"parameter": "p"}}],
        parameters=[{"name": "p", "type": "decimal", "list": isinstance(exact, tuple)}],
        values={"p": exact},
    )


def found(url: str, op: str, value: str | Sequence[str], called: str = "decimal") -> list[object]:
    return [row[0] for row in read_all(url, asked(op, value, called))]


@CALLED
@pytest.mark.parametrize("column", EXACT + FLOATS)
@POSTGRESQL
def test_a_fraction_lies_between_the_integers_of_any_column(
    source_url: str, column: str, called: str
) -> None:
    fill(
        source_url,
        *DOMAINS,
        f"CREATE TABLE t (id integer PRIMARY KEY, v {column})",
        "INSERT INTO t VALUES (1, 1), (2, 2), (3, 3), (4, NULL)",
    )
    assert found(source_url, "gt", "1.5", called) == [2, 3]
    assert found(source_url, "le", "2.000", called) == [1, 2]
    assert found(source_url, "lt", "2.001", called) == [1, 2]
    assert found(source_url, "eq", "1.5", called) == []
    assert found(source_url, "ne", "1.5", called) == [1, 2, 3]
    assert found(source_url, "gt", "-1E+1", called) == [1, 2, 3]
    assert found(source_url, "lt", "1E+25", called) == [1, 2, 3]
    assert found(source_url, "in", ["1.5", "2", "1E+25"], called) == [2]
    assert found(source_url, "in", ["1", "3.0"], called) == [1, 3]
    assert found(source_url, "in", [], called) == []
    assert found(source_url, "not_in", ["1.5", "2"], called) == [1, 3]
    for file_format in ("csv", "xlsx"):
        file_of(source_url, asked("gt", "1.5", called), file_format)
    assert csv_of(source_url, asked("gt", "1.5", called)) == [["2"], ["3"]]


@CALLED
@pytest.mark.parametrize("column", [*FLOATS, "numeric", "numeric(5,2)", "price"])
@POSTGRESQL
def test_a_fraction_is_compared_as_its_column_holds_it(
    source_url: str, column: str, called: str
) -> None:
    fill(
        source_url,
        *DOMAINS,
        f"CREATE TABLE t (id integer PRIMARY KEY, v {column})",
        "INSERT INTO t VALUES (1, 0.1), (2, 0.2)",
    )
    assert found(source_url, "eq", "0.1", called) == [1]
    assert found(source_url, "gt", "0.1", called) == [2]
    assert found(source_url, "gt", "0.101", called) == [2]
    assert found(source_url, "in", ["0.1", "7"], called) == [1]
    assert found(source_url, "not_in", ["0.1"], called) == [2]


@pytest.mark.parametrize(
    ("column", "op", "value"),
    [
        *((column, "ge", "7") for column in EXACT + FLOATS),
        *((column, "in", ["7", "9.00"]) for column in EXACT + FLOATS),
        *((column, "ge", "7.5") for column in ["numeric", "numeric(9,2)", "price", *FLOATS]),
        *((column, "in", ["7.5", "9"]) for column in ["numeric", "numeric(9,2)", "price", *FLOATS]),
    ],
)
@POSTGRESQL
def test_an_index_finds_it(source_url: str, column: str, op: str, value: Any) -> None:
    fill(
        source_url,
        *DOMAINS,
        f"CREATE TABLE t (id integer, v {column.replace('(5', '(9')} PRIMARY KEY)",
        "INSERT INTO t SELECT 1, i FROM generate_series(1, 20000) i",
        "ANALYZE",
    )
    query = asked(op, value)
    with snapshot_engine(source_url) as engine, read_snapshot(engine, 30) as connection:
        made = query.statement.compile(engine, compile_kwargs={"literal_binds": True})
        connection.exec_driver_sql("SET LOCAL enable_seqscan = off")
        plan = connection.exec_driver_sql(f"EXPLAIN {made}").scalars().all()
    assert any("Index Cond: (v " in line or "Index Cond: ((v)" in line for line in plan), plan


@pytest.mark.parametrize("column", ["text", "money"])
@POSTGRESQL
def test_beside_a_column_of_no_number_it_is_told(source_url: str, column: str) -> None:
    fill(
        source_url,
        f"CREATE TABLE t (id integer PRIMARY KEY, v {column})",
        "INSERT INTO t VALUES (1, '1'), (2, '2')",
    )
    for op, value in (("gt", "1.5"), ("in", ["1.5"])):
        with pytest.raises(SourceBroken, match="type does not allow what is asked"):
            csv_of(source_url, asked(op, value))


@POSTGRESQL
def test_a_list_may_hold_what_the_domain_of_its_column_forbids(source_url: str) -> None:
    fill(
        source_url,
        "CREATE DOMAIN amount AS numeric(12,2) CHECK (value >= 0)",
        "CREATE DOMAIN price AS amount CHECK (value < 1000)",
        "CREATE TABLE t (id integer PRIMARY KEY, v price)",
        "INSERT INTO t VALUES (1, 1), (2, 1.5)",
    )
    assert found(source_url, "in", ["-1", "1"]) == [1]
    assert found(source_url, "in", ["-1.5", "1.5", "99999999999999.5"]) == [2]
    assert found(source_url, "not_in", ["-1", "99999999999999"]) == [1, 2]


@POSTGRESQL
def test_whole_numbers_are_compared_exactly_with_reals(source_url: str) -> None:
    fill(
        source_url,
        "CREATE TABLE t (id integer PRIMARY KEY, v real)",
        "INSERT INTO t VALUES (1, 16777216)",
    )
    assert found(source_url, "eq", "16777217") == []
    assert found(source_url, "lt", "16777217", "float") == [1]
    assert found(source_url, "in", ["16777217"]) == []
