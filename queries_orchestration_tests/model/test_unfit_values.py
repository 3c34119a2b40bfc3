"""Values that no row can have: they find none, or are named, and the dataset is not blamed."""

from __future__ import annotations

from typing import Any

import pytest

from queries_orchestration.exports.paging import is_paged_by_key
from queries_orchestration.exports.sources import read_snapshot
from queries_orchestration.model.compile import CompiledQuery
from queries_orchestration.model.errors import InvalidRuntimeValue, SourceBroken
from queries_orchestration_tests.exports.query_files import csv_of, file_of
from queries_orchestration_tests.model.definitions import (
    EVERYTHING,
    POSTGRESQL,
    a_dataset,
    compiled,
    fill,
    read_all,
    snapshot_engine,
)
from queries_orchestration_tests.reports.opened import open_sections, reader_of, table

INTEGERS = pytest.mark.parametrize(
    "column", ["smallint", "integer", "bigint", "numeric(5,2)", "double precision", "real"]
)
BEYOND = [40_000, 3_000_000_000, 2**63 - 1, -(2**63)]


def asked(type_: str, op: str, value: object) -> CompiledQuery:
    return compiled(
        a_dataset({"id": "integer", "v": type_}),
        "id",
        filters=[{"field": "v", "op": op, "value": value}],
    )


def found(url: str, op: str, value: object) -> list[object]:
    return [row[0] for row in read_all(url, asked("integer", op, value))]


@INTEGERS
@pytest.mark.parametrize("beyond", BEYOND)
@POSTGRESQL
def test_an_integer_beyond_its_column_has_no_row_of_it(
    source_url: str, column: str, beyond: int
) -> None:
    fill(
        source_url,
        f"CREATE TABLE t (id integer PRIMARY KEY, v {column})",
        "INSERT INTO t VALUES (1, 1), (2, 2), (3, NULL)",
    )
    below = [1, 2] if beyond > 0 else []
    above = [1, 2] if beyond < 0 else []
    assert found(source_url, "eq", beyond) == []
    assert found(source_url, "ne", beyond) == [1, 2]
    assert found(source_url, "lt", beyond) == found(source_url, "le", beyond) == below
    assert found(source_url, "gt", beyond) == found(source_url, "ge", beyond) == above
    assert found(source_url, "in", [1, beyond]) == [1]
    assert found(source_url, "not_in", [1, beyond]) == [2]
    assert found(source_url, "in", []) == []


@POSTGRESQL
def test_an_index_still_finds_a_smaller_integer(source_url: str) -> None:
    fill(
        source_url,
        "CREATE TABLE t (id smallint PRIMARY KEY)",
        "INSERT INTO t SELECT generate_series(1, 20000)",
        "ANALYZE",
    )
    dataset = a_dataset({"id": "integer"}, not_null=["id"])
    for filter_ in ({"op": "ge", "value": 7}, {"op": "in", "value": [7, 9]}):
        query = compiled(dataset, "id", filters=[{"field": "id", **filter_}])
        with snapshot_engine(source_url) as engine, read_snapshot(engine, 30) as connection:
            made = query.statement.compile(engine, compile_kwargs={"literal_binds": True})
            plan = connection.exec_driver_sql(f"EXPLAIN {made}").scalars().all()
            assert any("Index Cond" in line for line in plan)
            assert is_paged_by_key(connection, query) or filter_["op"] == "in"


@pytest.fixture
def odd_url(source_url: str) -> str:
    fill(
        source_url,
        "CREATE TYPE mood AS ENUM ('good', 'bad')",
        "CREATE TABLE t (id integer PRIMARY KEY, m mood, i interval, r real, a integer[])",
        "INSERT INTO t VALUES (1, 'good', '1 day', 1, '{1}')",
    )
    return source_url


ODD = {"id": "integer", "m": "text", "i": "text", "r": "float", "a": "text"}
UNFIT: list[tuple[str, str, Any]] = [
    ("m", "eq", "nolabel"),
    ("m", "in", ["good", "nolabel"]),
    ("i", "eq", "hello"),
    ("r", "eq", 1e300),
]


@pytest.mark.parametrize(("field", "op", "value"), UNFIT)
@pytest.mark.parametrize("file_format", ["csv", "xlsx"])
@POSTGRESQL
def test_a_value_that_is_none_of_its_column_is_named(
    odd_url: str, field: str, op: str, value: Any, file_format: Any
) -> None:
    constant = compiled(a_dataset(ODD), "id", filters=[{"field": field, "op": op, "value": value}])
    with pytest.raises(InvalidRuntimeValue, match=f"the filter on {field}") as caught:
        file_of(odd_url, constant, file_format)
    assert caught.value.code == "invalid_value"
    assert "nolabel" not in caught.value.message
    is_list = isinstance(value, list)
    parameter = compiled(
        a_dataset(ODD),
        "id",
        filters=[
            {"field": "id", "op": "not_null"},
            {"field": field, "op": op, "value": {"parameter": "p"}},
        ],
        parameters=[
            {
                "name": "p",
                "type": {"float": "decimal"}.get(ODD[field], ODD[field]),
                **({"list": True} if is_list else {}),
            },
        ],
        values={"p": tuple(value) if is_list else value},
    )
    with pytest.raises(InvalidRuntimeValue, match=rf"p \(the filter on {field}\): give") as caught:
        file_of(odd_url, parameter, file_format)
    assert "filter on id" not in caught.value.message


@POSTGRESQL
def test_without_a_value_of_the_query_the_dataset_is_to_be_corrected(odd_url: str) -> None:
    rows = [{"field": "m", "op": "eq", "value": "nolabel"}]
    query = compiled(a_dataset(ODD, access=[{**EVERYTHING, "rows": rows}]), "id")
    with pytest.raises(SourceBroken, match=r"22P02.*Correct the dataset") as caught:
        csv_of(odd_url, query)
    assert caught.value.code == "source_broken"


@POSTGRESQL
def test_what_cannot_be_computed_names_both(source_url: str) -> None:
    fill(source_url, "CREATE VIEW t AS SELECT 1 AS id, 1 / (SELECT 0) AS v")
    with pytest.raises(SourceBroken, match=r"Correct the dataset, or .*the filter on v"):
        csv_of(source_url, asked("integer", "eq", 1))


@POSTGRESQL
def test_a_list_beside_an_array_is_told_as_what_its_type_does_not_allow(odd_url: str) -> None:
    query = compiled(a_dataset(ODD), "id", filters=[{"field": "a", "op": "in", "value": ["{1}"]}])
    with pytest.raises(SourceBroken, match="type does not allow what is asked"):
        csv_of(odd_url, query)


@POSTGRESQL
def test_a_report_names_the_value_too(source_url: str) -> None:
    fill(
        source_url,
        "CREATE VIEW orders AS SELECT 1 AS id, 'x' AS region, ('x' || 1)::numeric AS amount",
    )
    reader = reader_of(open_sections(source_url, table(title="One")))
    with reader.reading(), pytest.raises(InvalidRuntimeValue, match="the parameter since"):
        list(reader.sections())
