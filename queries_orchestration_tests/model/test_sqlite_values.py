"""SQLite may store anything anywhere: filters and totals go by the values, or name the fault."""

from __future__ import annotations

import operator
import sqlite3
from collections.abc import Callable, Sequence
from decimal import Context, Decimal
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings, strategies as st
from sqlalchemy import make_url

from queries_orchestration.exports.sources import read_snapshot
from queries_orchestration.exports.statements import driver_statement
from queries_orchestration.model.columns import ValueType
from queries_orchestration.model.errors import SourceBroken
from queries_orchestration.model.values import value
from queries_orchestration_tests.model.definitions import (
    a_dataset,
    compiled,
    fill,
    read_all,
    snapshot_engine,
    sqlite_url,
)

AFFINITIES = ("", "INTEGER", "REAL", "NUMERIC", "TEXT", "BLOB", "TEXT COLLATE NOCASE")
INSTANT = "2026-11-30T12:00:00+00:00"
LARGE = [2**63 - 1, -(2**63)]
STORED: dict[ValueType, list[object]] = {
    "integer": [
        9,
        10,
        "10",
        "9",
        "+9",
        "007",
        9.0,
        -3,
        "-3",
        2**53 + 1,
        str(2**53 + 1),
        2**63 - 1,
        -(2**63),
    ],
    "boolean": [0, 1, "0", "1", "true", "false"],
    "float": [0.5, "0.5", "5e-1", 1, "1", 1.0, -0.0, "1e300", 2**53],
    "decimal": [1, "1.0", "1.00", 1.5, "1.50", "9.9", "10", "0.1", "1e1"],
    "text": ["a", "B", "b", "10", "9", "010", 10, 9, 1.5, "1.5", "", "ä"],
    "date": ["2026-11-30", "20261130", "2026-11-30T00:00", "2026-02-03", "2026-12-01"],
    "timestamp": ["2026-11-30 12:00:00", "2026-11-30T12:00", "2026-12-01", "2026-11-30T12:00:01"],
    "timestamptz": [
        INSTANT,
        "2026-11-30T13:00:00+01:00",
        "2026-11-30 12:00:00",
        1796040000,
        "2026-11-30T23:00:00-05:00",
    ],
    "time": ["08:00", "08:00:00", "080000", "09:30"],
    "uuid": [
        "6f9619ff-8b86-d011-b42d-00c04fc964ff",
        "6F9619FF8B86D011B42D00C04FC964FF",
        "00000000-0000-0000-0000-000000000001",
    ],
}
ASKED: dict[ValueType, list[Any]] = {
    "integer": [9, 10, 0, -3, 2**53 + 1],
    "boolean": [True, False],
    "float": [0.5, 1, 0, 1e300],
    "decimal": ["1.0", "1.5", 10, "0.1"],
    "text": ["a", "b", "10", "010", "9", "", "1.5"],
    "date": ["2026-11-30", "2026-02-03"],
    "timestamp": ["2026-11-30T12:00:00"],
    "timestamptz": [INSTANT],
    "time": ["08:00", "09:30"],
    "uuid": ["6f9619ff-8b86-d011-b42d-00c04fc964ff"],
}
UNFIT: dict[ValueType, list[object]] = {
    "integer": ["many", "", "1.5", 1.5, b"1", "1 "],
    "boolean": ["yes", 2, "", b"1", 1.5],
    "float": ["many", "", b"1", "nan", 2**53 + 1],
    "decimal": ["many", "", b"1", "1,5", "NaN"],
    "text": [b"a", b""],
    "date": ["yesterday", "", b"1", 5, "2026-11-30T01:00"],
    "timestamp": ["now", INSTANT, 5],
    "timestamptz": ["now", "", b"1", 1.5],
    "time": ["noon", 8],
    "uuid": ["x", 5, ""],
}
COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}


def test_every_type_of_a_filter_is_tried() -> None:
    assert {*STORED} == {*ASKED} == {*UNFIT} == {*get_args(ValueType)} - {"json", "bytes"}


@st.composite
def columns(draw: st.DrawFn) -> tuple[ValueType, str, list[object], bool]:
    type_ = draw(st.sampled_from([*STORED]))
    affinity = draw(st.sampled_from(AFFINITIES))
    # Such a column holds no integer beyond 2**53 as it is.
    beyond = {2**53 + 1, str(2**53 + 1), *LARGE} if affinity == "REAL" else ()
    forms = [one for one in STORED[type_] if one not in beyond]
    stored = draw(st.lists(st.none() | st.sampled_from(forms), max_size=12))
    return type_, affinity, stored, draw(st.booleans())


@given(columns(), st.data())
@settings(max_examples=150, deadline=None)
def test_filters_find_what_equals_by_value_however_it_is_stored(
    tmp_path_factory: pytest.TempPathFactory,
    column: tuple[ValueType, str, list[object], bool],
    data: st.DataObject,
) -> None:
    type_, affinity, written, is_indexed = column
    url, stored = a_column(tmp_path_factory.mktemp("column"), affinity, written, is_indexed)
    op = data.draw(st.sampled_from([*COMPARE]))
    if type_ in ("boolean", "uuid"):
        op = data.draw(st.sampled_from(["eq", "ne"]))
    asked = data.draw(st.sampled_from(ASKED[type_]))
    other = data.draw(st.sampled_from(ASKED[type_]))
    # An integer in a column of text reads as text; 1.0 in one is no integer any more.
    exact = [(n, read_in(raw, type_, affinity)) for n, raw in stored]
    if any(one is UNREADABLE for _, one in exact):
        return
    wanted, second = (value(one, type_) for one in (asked, other))
    known = [(n, one) for n, one in exact if one is not None]
    if "NOCASE" in affinity:
        known = [(n, str(one).lower() if type_ == "text" else one) for n, one in known]

    assert found(url, type_, op, asked) == [n for n, one in known if COMPARE[op](one, wanted)]
    listed = [asked, other]
    assert found(url, type_, "in", listed) == [n for n, one in known if one in (wanted, second)]
    assert found(url, type_, "not_in", listed) == [
        n for n, one in known if one not in (wanted, second)
    ]
    if type_ == "text" and asked:
        texts = [(n, one) for n, one in exact if isinstance(one, str)]
        assert found(url, type_, "contains", asked) == [n for n, one in texts if asked in one]
        starting = [n for n, one in texts if one.startswith(asked)]
        assert found(url, type_, "starts_with", asked) == starting


@given(columns())
@settings(max_examples=100, deadline=None)
def test_totals_are_of_the_values_however_they_are_stored(
    tmp_path_factory: pytest.TempPathFactory, column: tuple[ValueType, str, list[object], bool]
) -> None:
    type_, affinity, written, is_indexed = column
    url, stored = a_column(tmp_path_factory.mktemp("column"), affinity, written, is_indexed)
    exact: list[Any] = [read_in(raw, type_, affinity) for _, raw in stored]
    if UNREADABLE in exact:
        return
    known = [one for one in exact if one is not None]
    if type_ != "text":  # told apart by the column's collation, as they are stored
        assert total(url, type_, "count_distinct") == len({*known})
    if type_ in ("integer", "decimal"):
        # Also where it is larger than SQLite's own integers.
        digits = [Decimal(one) for one in known]
        summed = Context(prec=1000).create_decimal(sum(digits)) if known else None
        assert total(url, type_, "sum") == summed
        average = Context().divide(sum(digits), Decimal(len(known))) if known else None
        assert total(url, type_, "avg") == average
    if type_ == "float":
        assert total(url, type_, "sum") == (pytest.approx(sum(known)) if known else None)
    if type_ not in ("text", "boolean", "uuid"):
        assert total(url, type_, "min") == min(known, default=None)
        assert total(url, type_, "max") == max(known, default=None)


@pytest.mark.parametrize(
    ("type_", "unfit"), [(type_, one) for type_, unfit in UNFIT.items() for one in unfit]
)
def test_what_is_none_of_its_type_fails_filters_and_totals(
    tmp_path: Path, type_: ValueType, unfit: object
) -> None:
    url, _ = a_column(tmp_path, "", [STORED[type_][0], unfit], False)
    asks: list[Callable[[], object]] = [lambda: found(url, type_, "ne", ASKED[type_][0])]
    asks.append(lambda: found(url, type_, "not_in", ASKED[type_][:1]))
    if type_ != "text":
        asks.append(lambda: total(url, type_, "count_distinct"))
    if type_ in ("integer", "decimal", "float"):
        asks += [lambda: total(url, type_, "sum"), lambda: total(url, type_, "avg")]
    if type_ not in ("text", "boolean", "uuid"):
        asks += [lambda: total(url, type_, "min"), lambda: total(url, type_, "max")]
    for ask in asks:
        with pytest.raises(SourceBroken, match="a value in it is none of its field's type"):
            ask()


@pytest.mark.parametrize(
    ("type_", "filter_"),
    [
        ("text", {"op": "eq", "value": "v7"}),
        ("integer", {"op": "eq", "value": 7}),
        ("float", {"op": "eq", "value": 7}),
        ("integer", {"op": "in", "value": [7, 8]}),
        ("text", {"op": "in", "value": ["v7"]}),
    ],
)
def test_an_index_still_finds_what_is_stored_as_its_type(
    tmp_path: Path, type_: ValueType, filter_: dict[str, Any]
) -> None:
    rows: list[object] = [f"v{n}" if type_ == "text" else n for n in range(1000)]
    url, _ = a_column(tmp_path, "", rows, True)
    query = compiled(
        a_dataset({"id": "integer", "v": type_}), "id", filters=[{"field": "v", **filter_}]
    )
    with snapshot_engine(url) as engine, read_snapshot(engine, 30) as connection:
        made = driver_statement(query.statement, engine.dialect)
        plan = str(connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {made.sql}", made.values).all())
    assert "INDEX by_v (v=?)" in plan


UNREADABLE = object()


def read_in(raw: object, type_: ValueType, affinity: str) -> object:
    """Read what a column made of what was written into it; its affinity may have spoiled it."""
    try:
        return value(raw, type_)
    except ValueError:
        assert affinity not in ("", "BLOB")
        return UNREADABLE


def a_column(
    folder: Path, affinity: str, written: Sequence[object], is_indexed: bool
) -> tuple[str, list[tuple[int, object]]]:
    """Make a source of one column; returns its URL, and what it stores."""
    url = sqlite_url(folder)
    fill(
        url,
        f"CREATE TABLE t (id INTEGER PRIMARY KEY, v {affinity})",
        ("INSERT INTO t VALUES (?, ?)", list(enumerate(written))),
        *(["CREATE INDEX by_v ON t (v)"] if is_indexed else []),
    )
    with sqlite3.connect(str(make_url(url).database)) as connection:
        return url, connection.execute("SELECT id, v FROM t ORDER BY id").fetchall()


def found(url: str, type_: ValueType, op: str, asked: object) -> list[object]:
    dataset = a_dataset({"id": "integer", "v": type_})
    filters = [{"field": "v", "op": op, "value": asked}]
    return [row[0] for row in read_all(url, compiled(dataset, "id", filters=filters))]


def total(url: str, type_: ValueType, aggregate: str) -> object:
    dataset = a_dataset({"id": "integer", "v": type_})
    asked = {"field": "v", "aggregate": aggregate, "label": "total"}
    [(one,)] = read_all(url, compiled(dataset, asked))
    return one


def test_a_list_beside_a_column_of_reals_holds_whole_numbers_exactly(tmp_path: Path) -> None:
    url, _ = a_column(tmp_path, "REAL", [2**53, 1, 2], False)
    assert found(url, "integer", "not_in", [2**53 + 1]) == [0, 1, 2]
    assert found(url, "integer", "in", [2**53 + 1, 1]) == [1]


def test_decimals_of_as_many_digits_as_postgresql_holds_are_added_up(tmp_path: Path) -> None:
    digits = "9" * 131_072 + "." + "9" * 16_383
    url, _ = a_column(tmp_path, "", [digits, "0." + "0" * 16_382 + "1"], False)
    assert total(url, "decimal", "count_distinct") == 2
    assert found(url, "decimal", "in", ["1.5", digits]) == [0]
    assert total(url, "decimal", "max") == Decimal(digits)
