"""Queries as they are written in the catalog."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from queries_orchestration.model.columns import Column
from queries_orchestration.model.errors import InvalidQuery
from queries_orchestration.model.filters import Filter
from queries_orchestration.model.queries import Query, Sort, parse_query
from queries_orchestration_tests.model.definitions import a_dataset

TYPES = {
    "id": "integer",
    "carrier": "text",
    "cost": "decimal",
    "load": "float",
    "day": "date",
    "at": "timestamptz",
    "late": "boolean",
    "ref": "uuid",
    "extra": "json",
    "blob": "bytes",
}
COUNT = {"aggregate": "count", "label": "Flights"}


def parsed(*fields: Any, dataset: str = "things", **rest: Any) -> Query:
    columns = [{"field": name} if isinstance(name, str) else name for name in fields]
    return parse_query({"dataset": dataset, "fields": columns, **rest}, a_dataset(TYPES))


def where(field: str, op: str, *value: Any) -> dict[str, Any]:
    given = {"value": value[0]} if value else {}
    return {"filters": [{"field": field, "op": op, **given}]}


def test_columns_keep_their_order_and_may_share_a_label() -> None:
    query = parsed({"field": "id", "label": "a"}, {"field": "cost", "label": "a"}, "id")
    assert [column.column() for column in query.columns] == [
        Column("a", "integer"),
        Column("a", "decimal"),
        Column("id", "integer"),
    ]


@pytest.mark.parametrize(
    ("aggregate", "field", "type_"),
    [
        ("count", None, "integer"),
        ("count", "extra", "integer"),
        ("count_distinct", "carrier", "integer"),
        ("sum", "id", "integer"),
        ("sum", "cost", "decimal"),
        ("sum", "load", "float"),
        ("avg", "id", "decimal"),
        ("avg", "cost", "decimal"),
        ("avg", "load", "float"),
        ("min", "day", "date"),
        ("max", "carrier", "text"),
    ],
)
def test_an_aggregate_has_the_type_of_its_results(
    aggregate: str, field: str | None, type_: str
) -> None:
    named = {"field": field} if field else {}
    query = parsed({"aggregate": aggregate, "label": "x", **named})
    assert query.columns[0].type == type_
    assert query.is_grouped


def test_a_constant_becomes_the_exact_value_of_its_field() -> None:
    assert parsed("id", **where("cost", "ge", 0.1)).filters == (
        Filter(field="cost", op="ge", constant=Decimal("0.1")),
    )
    for day in ("2026-01-31", date(2026, 1, 31)):
        assert parsed("id", **where("day", "eq", day)).filters[0].constant == date(2026, 1, 31)


def test_a_list_of_constants_has_exact_values_in_their_order_each_once() -> None:
    assert parsed("id", **where("cost", "in", [2, "0.10", 0.1, "2.0"])).filters == (
        Filter(field="cost", op="in", constant=(Decimal(2), Decimal("0.10"))),
    )
    assert parsed("id", **where("carrier", "not_in", [])).filters == (
        Filter(field="carrier", op="not_in", constant=()),
    )
    most = list(range(10_000))
    assert parsed("id", **where("id", "in", most)).filters[0].constant == tuple(most)


@pytest.mark.parametrize(("parameter", "field"), [("text", "ref"), ("integer", "load")])
def test_a_parameter_that_is_a_list_fits_in_and_not_in(parameter: str, field: str) -> None:
    for op in ("in", "not_in"):
        query = parsed(
            "id",
            parameters=[{"name": "p", "type": parameter, "list": True}],
            **where(field, op, {"parameter": "p"}),
        )
        assert query.filters == (Filter(field=field, op=op, parameter="p"),)


@pytest.mark.parametrize(
    ("parameter", "field", "op", "message"),
    [
        ({"list": True}, "carrier", "eq", "p is a list; eq takes one value, in and not_in a list"),
        ({"list": True}, "carrier", "contains", "p is a list; contains takes one value"),
        ({"list": False}, "carrier", "in", "in takes a list; give the parameter p `list: true`"),
        ({"list": True}, "id", "in", "p is of type text and does not fit the field id"),
    ],
)
def test_a_list_and_one_value_are_told_apart(
    parameter: dict[str, Any], field: str, op: str, message: str
) -> None:
    with pytest.raises(InvalidQuery) as caught:
        parsed(
            "id",
            parameters=[{"name": "p", "type": "text", **parameter}],
            **where(field, op, {"parameter": "p"}),
        )
    assert caught.value.message.startswith(f"filters[0].value.parameter: {message}")


def test_a_sort_names_a_field_that_need_not_be_shown() -> None:
    query = parsed("id", sort=[{"field": "day", "direction": "desc"}, {"field": "cost"}])
    assert query.sort == (
        Sort(field="day", column=None, descending=True),
        Sort(field="cost", column=None, descending=False),
    )
    assert query.fields_used() == ("id", "day", "cost")


def test_a_sort_of_groups_names_a_column_of_the_result() -> None:
    query = parsed(
        "carrier",
        COUNT,
        sort=[{"label": "Flights", "direction": "desc"}, {"field": "carrier"}],
    )
    assert query.sort == (
        Sort(field=None, column=1, descending=True),
        Sort(field=None, column=0, descending=False),
    )


@pytest.mark.parametrize(
    ("parameter", "field"),
    [
        ("text", "carrier"),
        ("text", "ref"),
        ("integer", "id"),
        ("integer", "cost"),
        ("integer", "load"),
        ("decimal", "cost"),
        ("decimal", "load"),
        ("date", "day"),
        ("timestamptz", "at"),
        ("boolean", "late"),
    ],
)
def test_a_parameter_fits_fields_of_its_type(parameter: str, field: str) -> None:
    query = parsed(
        "id",
        parameters=[{"name": "p", "type": parameter}],
        **where(field, "eq", {"parameter": "p"}),
    )
    assert query.filters == (Filter(field=field, op="eq", parameter="p"),)
    assert [parameter.name for parameter in query.parameters] == ["p"]


@pytest.mark.parametrize(
    ("parameter", "field"),
    [("text", "id"), ("decimal", "id"), ("date", "at"), ("timestamp", "at"), ("integer", "late")],
)
def test_a_parameter_of_another_type_is_refused(parameter: str, field: str) -> None:
    with pytest.raises(InvalidQuery, match=r"^filters\[0\].value.parameter: p is of type"):
        parsed(
            "id",
            parameters=[{"name": "p", "type": parameter}],
            **where(field, "eq", {"parameter": "p"}),
        )


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"dataset": "other"}, "dataset: 'other' is not one of things"),
        ({"fields": []}, "fields: must be a list"),
        ({"fields": [{}]}, "fields[0]: must name a field or an aggregate"),
        ({"fields": [{"field": "nr"}]}, "fields[0].field: 'nr' is not one of id"),
        ({"fields": [{"aggregate": "sum", "label": "x"}]}, "fields[0]: sum needs a field"),
        ({"fields": [{"aggregate": "count"}]}, "fields[0]: 'label' is missing"),
        (
            {"fields": [{"aggregate": "sum", "field": "carrier", "label": "x"}]},
            "fields[0].aggregate: sum does not fit the field carrier, a text",
        ),
        (
            {"fields": [{"aggregate": "max", "field": "ref", "label": "x"}]},
            "fields[0].aggregate: max does not fit the field ref, a uuid",
        ),
        ({"fields": [{"field": "extra"}, COUNT]}, "fields[0]: a json field cannot be a group"),
        (where("carrier", "like", "x"), "filters[0].op: 'like' is not one of eq"),
        (where("id", "contains", "1"), "filters[0].op: contains does not fit the field id"),
        (where("late", "lt", True), "filters[0].op: lt does not fit"),
        (where("extra", "eq", "{}"), "filters[0].op: eq does not fit"),
        (where("id", "eq"), "filters[0]: 'value' is missing"),
        (where("id", "is_null", 1), "filters[0].value: is_null takes no value"),
        (where("id", "eq", None), "filters[0].value: nothing equals null; use"),
        (where("id", "eq", "1"), "filters[0].value: does not fit the field id"),
        (where("id", "eq", True), "filters[0].value: does not fit the field id"),
        (where("id", "eq", [1]), "filters[0].value: does not fit the field id"),
        (where("id", "in", 1), "filters[0].value: in takes a list such as [a, b], or a parameter"),
        (where("carrier", "in", "AA,BA"), "filters[0].value: in takes a list"),
        (where("carrier", "not_in", None), "filters[0].value: not_in takes a list"),
        (where("id", "in"), "filters[0]: 'value' is missing; in needs one"),
        (where("id", "in", [1, None]), "filters[0].value[1]: nothing equals null; use the"),
        (where("id", "in", [1, "2"]), "filters[0].value[1]: does not fit the field id"),
        (where("id", "in", [[1]]), "filters[0].value[0]: does not fit the field id"),
        (where("id", "in", [{"parameter": "p"}]), "filters[0].value[0]: does not fit the field"),
        (where("at", "in", ["2026-01-31 00:00"]), "filters[0].value[0]: does not fit the field at"),
        (where("extra", "in", []), "filters[0].op: in does not fit"),
        (where("blob", "not_in", []), "filters[0].op: not_in does not fit"),
        (where("id", "in", {"parameter": "p"}), "filters[0].value: must be a constant"),
        (
            where("id", "in", list(range(70_000))),
            "filters[0].value: has 70,000 elements; 10,000 is the most",
        ),
        (where("day", "eq", "soon"), "filters[0].value: does not fit the field day"),
        (where("at", "eq", "2026-01-31 00:00"), "filters[0].value: does not fit the field at"),
        (where("id", "eq", {"parameter": "p"}), "filters[0].value: must be a constant"),
        ({"sort": [{}]}, "sort[0]: must name either a field or the label"),
        ({"sort": [{"field": "nr"}]}, "sort[0].field: 'nr' is not one of"),
        ({"sort": [{"label": "nr"}]}, "sort[0].label: 'nr' is no column of the result"),
        ({"sort": [{"field": "extra"}]}, "sort[0].field: a json field cannot be sorted"),
        (
            {"sort": [{"field": "id", "direction": "up"}]},
            "sort[0].direction: 'up' is not one of asc, desc",
        ),
        (
            {"fields": [COUNT], "sort": [{"field": "id"}]},
            "sort[0].field: 'id' is no column of the result",
        ),
        (
            {"fields": [{"field": "id"}, {"field": "id"}], "sort": [{"label": "id"}]},
            "sort[0].label: 2 columns have the label 'id'",
        ),
        (
            {"parameters": [{"name": "p", "type": "text"}] * 2},
            "parameters[1]: there are two parameters p",
        ),
        ({"parameters": [{"name": "p", "type": "list"}]}, "parameters[0]: "),
        (
            {
                "parameters": [{"name": "p", "type": "text"}],
                **where("carrier", "eq", {"parameter": "q"}),
            },
            "filters[0].value.parameter: 'q' is not one of p",
        ),
        ({"limit": 10}, "unknown key 'limit'"),
    ],
)
def test_a_wrong_query_is_refused_at_its_place(query: dict[str, Any], message: str) -> None:
    whole = {"dataset": "things", "fields": [{"field": "id"}], **query}
    with pytest.raises(InvalidQuery) as caught:
        parse_query(whole, a_dataset(TYPES))
    assert caught.value.message.startswith(message)
