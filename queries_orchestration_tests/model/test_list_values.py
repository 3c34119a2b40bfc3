"""Parameters that take lists: each element exact, one rule for NULL and none (cases P01, P02)."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from queries_orchestration.model.errors import InvalidRuntimeValue
from queries_orchestration.model.runtime_values import (
    MOST_ELEMENTS,
    Parameter,
    parse_parameter,
    resolve_values,
)
from queries_orchestration.model.value_forms import StartOf

SLOT = datetime(2027, 2, 1, 8, 5, tzinfo=UTC)
LAST_MONTH = {"start_of": "month", "shift": -1}


def parameter(type_: str, **keys: object) -> Parameter:
    return parse_parameter({"name": "value", "type": type_, "list": True, **keys})


def resolved(one: Parameter, given_value: object) -> object:
    values = resolve_values([one], {"value": given_value}, moment=SLOT, time_zone="UTC")
    return values["value"]


def elements(type_: str, given_value: object, **keys: object) -> object:
    return resolved(parameter(type_, **keys), given_value)


@pytest.mark.parametrize(
    ("type_", "given_value", "expected"),
    [
        ("text", ["b", "a", "b"], ("b", "a")),
        ("text", [], ()),
        ("text", [""], ("",)),
        ("text", ("EWR,JFK",), ("EWR,JFK",)),
        ("integer", [3, "1", 3, "3"], (3, 1)),
        ("decimal", ["1.50", 2, "1.5"], (Decimal("1.50"), Decimal(2))),
        ("boolean", [True, "false"], (True, False)),
        ("date", ["2027-01-31", LAST_MONTH], (date(2027, 1, 31), date(2027, 1, 1))),
        ("date", [{"start_of": "year"}, LAST_MONTH], (date(2027, 1, 1),)),
        (
            "timestamptz",
            ["2027-01-31T08:30:00Z", "2027-01-31T09:30:00+01:00"],
            (datetime(2027, 1, 31, 8, 30, tzinfo=UTC),),
        ),
    ],
)
def test_a_list_keeps_its_order_and_drops_duplicates(
    type_: str, given_value: object, expected: tuple[object, ...]
) -> None:
    values = elements(type_, given_value)
    assert values == expected
    assert isinstance(values, tuple)
    assert [str(value) for value in values] == [str(value) for value in expected]


@pytest.mark.parametrize(
    ("type_", "words", "expected"),
    [
        ("text", '["EWR", "JFK"]', ("EWR", "JFK")),
        ("text", '["a,b", "[]", "\\u00e9\\"", "null"]', ("a,b", "[]", 'é"', "null")),
        ("text", "[]", ()),
        ("integer", " [1, 9223372036854775807] ", (1, 2**63 - 1)),
        ("decimal", "[12.50, 0.1234567890123456789]",
         (Decimal("12.50"), Decimal("0.1234567890123456789"))),
        ("date", '["2027-01-31", "start_of:month", {"start_of": "month", "shift": -1}]',
         (date(2027, 1, 31), date(2027, 2, 1), date(2027, 1, 1))),
    ],
)  # fmt: skip
def test_a_list_is_json_on_the_command_line(
    type_: str, words: str, expected: tuple[object, ...]
) -> None:
    assert elements(type_, words) == expected


@pytest.mark.parametrize(
    "not_a_list",
    [
        *("EWR", "EWR,JFK", "", "[", '["a"', "{}", '{"a": 1}', '"a"', "1", "null", 7, {"a": 1}),
        *("a\0", "[" * 100_000, "[" + "9" * 5_000 + "]", "[NaN]", "[1] [2]"),
        "[1e99999999999999999999]",
    ],
)
def test_what_is_no_list_is_refused_with_the_form_of_one(not_a_list: object) -> None:
    with pytest.raises(InvalidRuntimeValue) as refusal:
        elements("text", not_a_list)
    assert refusal.value.message == (
        "Parameter 'value': give a list, on the command line as JSON such as '[…, …]',"
        " each element a text (in YAML, in quotes)."
    )


@pytest.mark.parametrize(
    ("type_", "given_value", "reason"),
    [
        ("text", [None], "element 1 is null, and nothing equals null; leave it out"),
        ("integer", [1, None], "element 2 is null, and nothing equals null; leave it out"),
        ("integer", "[1, null]", "element 2 is null, and nothing equals null; leave it out"),
        ("integer", [1, "a secret"], "element 2: give a whole number"),
        ("integer", "[42.0]", "element 1: give a whole number"),
        ("integer", [True], "element 1: give a whole number"),
        ("decimal", [0.1], "element 1: give a decimal number in quotes"),
        ("text", ["a", ["b"]], "element 2: give a text"),
        ("text", ["a\0"], "element 1: give a text"),
        ("text", '["\\ud800"]', "element 1: give a text"),
        ("text", [StartOf("month")], "element 1: give a text"),
        ("date", [{"parameter": "since"}], "element 1: give a date"),
        ("text", ["x"] * 10_001, "the list has 10,001 elements; 10,000 is the most"),
        ("integer", list(range(70_000)), "the list has 70,000 elements; 10,000 is the most"),
    ],
)
def test_a_wrong_element_is_refused_by_its_place(
    type_: str, given_value: object, reason: str
) -> None:
    with pytest.raises(InvalidRuntimeValue) as refusal:
        elements(type_, given_value)
    assert refusal.value.message.startswith(f"Parameter 'value': {reason}")
    assert "secret" not in refusal.value.message


def test_as_many_elements_as_are_allowed_are_taken() -> None:
    values = list(range(MOST_ELEMENTS))
    assert elements("integer", values) == tuple(values)


def test_each_element_must_be_an_allowed_value() -> None:
    assert elements("decimal", ["2", "1.50"], allowed=["1.5", "2"]) == (Decimal(2), Decimal("1.5"))
    with pytest.raises(
        InvalidRuntimeValue, match=r"'value': element 2: give one of \"a\", \"b\"\."
    ):
        elements("text", ["a", "c"], allowed=["a", "b"])


def test_a_list_without_a_value_has_none_and_the_empty_list_is_a_value() -> None:
    one = parameter("text", required=False, default=["a", "b", "a"])
    assert one.default == ("a", "b")
    assert resolve_values([one], {}, moment=SLOT, time_zone="UTC") == {"value": ("a", "b")}
    assert resolved(one, None) is None
    assert resolved(one, []) == ()
    needed = parameter("text")
    assert resolved(needed, []) == ()
    for missing in ({}, {"value": None}):
        with pytest.raises(InvalidRuntimeValue, match="'value' is required: give a list"):
            resolve_values([needed], missing, moment=SLOT, time_zone="UTC")


def test_relative_elements_of_a_default_count_from_the_slot() -> None:
    one = parameter("timestamptz", default=[LAST_MONTH, {"start_of": "month"}])
    values = resolve_values([one], {}, moment=SLOT, time_zone="Asia/Kathmandu")
    assert values["value"] == (
        datetime(2026, 12, 31, 18, 15, tzinfo=UTC),
        datetime(2027, 1, 31, 18, 15, tzinfo=UTC),
    )
