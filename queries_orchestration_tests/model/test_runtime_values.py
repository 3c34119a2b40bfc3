"""Runtime values: typed, exact, never expanded (cases P01, P02)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import pytest
import yaml
from hypothesis import given, settings, strategies as st

from queries_orchestration.model.errors import InvalidQuery, InvalidRuntimeValue
from queries_orchestration.model.runtime_values import (
    Parameter,
    dump_values,
    load_values,
    parse_parameter,
    resolve_values,
)
from queries_orchestration.model.value_forms import StartOf

SLOT = datetime(2027, 2, 1, 8, 5, tzinfo=UTC)
LAST_MONTH = {"start_of": "month", "shift": -1}


def wall(text: str) -> datetime:
    return datetime.fromisoformat(text)


def parameter(type_: str, **keys: object) -> Parameter:
    return parse_parameter({"name": "value", "type": type_, **keys})


def resolved(one: Parameter, given_value: object, *, moment: datetime = SLOT) -> object:
    values = resolve_values([one], {"value": given_value}, moment=moment, time_zone="UTC")
    return values["value"]


# --- P01: values are data


@pytest.mark.parametrize(
    "text",
    [
        "O'Neil & Sons",
        "x' OR '1'='1",
        "1; DROP TABLE t --",
        "\\'",
        'name" FROM secrets --',
        "{{other}}",
        ":other",
        "%(other)s",
        "start_of:month,shift:-1",
        "null",
        "",
        " padded ",
        "Zoë 🚀",
    ],
)
def test_a_text_value_is_taken_as_it_is_and_never_expanded(text: str) -> None:
    one = parameter("text")
    other = parse_parameter({"name": "other", "type": "text", "default": "expanded"})
    values = resolve_values([one, other], {"value": text}, moment=SLOT, time_zone="UTC")
    assert values == {"value": text, "other": "expanded"}
    assert load_values(dump_values(values), [one, other]) == values


@pytest.mark.parametrize("not_text", [7, 1.5, True, date(2027, 1, 1), LAST_MONTH, [], ["a"]])
def test_what_is_not_text_is_refused_for_a_text_parameter(not_text: object) -> None:
    with pytest.raises(InvalidRuntimeValue, match="Parameter 'value': give a text"):
        resolved(parameter("text"), not_text)


@pytest.mark.parametrize("text", ["nul\0", "\ud800"])
def test_text_that_a_database_cannot_hold_is_refused(text: str) -> None:
    with pytest.raises(InvalidRuntimeValue, match="give a text"):
        resolved(parameter("text"), text)


# --- P02: no value


def test_a_required_parameter_that_is_missing_is_refused_by_name() -> None:
    with pytest.raises(InvalidRuntimeValue, match=r"'value' is required: give a whole number"):
        resolve_values([parameter("integer")], {}, moment=SLOT, time_zone="UTC")


def test_null_is_refused_for_a_required_parameter_even_with_a_default() -> None:
    with pytest.raises(InvalidRuntimeValue, match="'value' is required"):
        resolved(parameter("text", default="north"), None)


def test_an_optional_parameter_left_out_or_null_has_no_value() -> None:
    optional = parameter("text", required=False, allowed=["north", "south"])
    assert resolve_values([optional], {}, moment=SLOT, time_zone="UTC") == {"value": None}
    assert resolved(optional, None) is None


def test_a_default_fills_what_is_left_out_and_null_puts_it_aside() -> None:
    optional = parameter("text", required=False, default="north")
    assert resolve_values([optional], {}, moment=SLOT, time_zone="UTC") == {"value": "north"}
    assert resolved(optional, None) is None


def test_the_empty_text_is_a_value() -> None:
    assert resolved(parameter("text", required=False), "") == ""


def test_an_unknown_name_is_refused_and_the_known_ones_are_named() -> None:
    with pytest.raises(InvalidRuntimeValue, match=r"no parameter 'vale': it takes value\."):
        resolve_values([parameter("text")], {"vale": "x"}, moment=SLOT, time_zone="UTC")
    with pytest.raises(InvalidRuntimeValue, match=r"no parameter 'x': it takes none\."):
        resolve_values([], {"x": "x"}, moment=SLOT, time_zone="UTC")


# --- the types


@pytest.mark.parametrize(
    ("type_", "given_value", "expected"),
    [
        ("integer", 42, 42),
        ("integer", "-42", -42),
        ("integer", "9223372036854775807", 2**63 - 1),
        ("integer", -(2**63), -(2**63)),
        ("decimal", "12.50", Decimal("12.50")),
        ("decimal", "-.5", Decimal("-0.5")),
        ("decimal", 12, Decimal(12)),
        ("decimal", Decimal("0.1"), Decimal("0.1")),
        ("decimal", Decimal("1E+3"), Decimal(1000)),
        (
            "decimal",
            "0.1234567890123456789012345678901",
            Decimal("0.1234567890123456789012345678901"),
        ),
        ("boolean", True, True),
        ("boolean", "false", False),
        ("date", "2028-02-29", date(2028, 2, 29)),
        ("date", date(2027, 1, 31), date(2027, 1, 31)),
        ("timestamp", "2027-01-31T08:30", wall("2027-01-31T08:30")),
        ("timestamp", "2027-01-31 23:59:59.999999", wall("2027-01-31T23:59:59.999999")),
        ("timestamptz", "2027-01-31T08:30:00Z", datetime(2027, 1, 31, 8, 30, tzinfo=UTC)),
        ("timestamptz", "2027-01-31T08:30:00+05:45", datetime(2027, 1, 31, 2, 45, tzinfo=UTC)),
    ],
)
def test_a_value_is_read_exactly(type_: str, given_value: object, expected: object) -> None:
    value = resolved(parameter(type_), given_value)
    assert value == expected
    assert type(value) is type(expected)
    assert str(value) == str(expected)


@pytest.mark.parametrize(
    ("type_", "given_value", "form"),
    [
        ("integer", True, "whole number"),
        ("integer", 5.0, "whole number"),
        ("integer", "5.0", "whole number"),
        ("integer", "1_000", "whole number"),
        ("integer", "٣", "whole number"),
        ("integer", "", "whole number"),
        ("integer", "9" * 10_000, "whole number"),
        ("integer", 2**63, "whole number"),
        ("decimal", 0.1, "in quotes"),
        ("decimal", True, "in quotes"),
        ("decimal", "NaN", "in quotes"),
        ("decimal", Decimal("Infinity"), "in quotes"),
        ("decimal", Decimal("1E+999999"), "in quotes"),
        ("decimal", "1e3", "in quotes"),
        ("decimal", "1,5", "in quotes"),
        ("boolean", 1, "true or false"),
        ("boolean", "yes", "true or false"),
        ("date", "2027-02-29", "2027-01-31"),
        ("date", "20270131", "2027-01-31"),
        ("date", "31.01.2027", "2027-01-31"),
        ("date", datetime(2027, 1, 31, tzinfo=UTC), "2027-01-31"),
        ("timestamp", "2027-05-20", "without offset"),
        ("timestamp", "2027-01-31T08:30:00Z", "without offset"),
        ("timestamp", "2027-01-31T08:30:00.1234567", "without offset"),
        ("timestamp", "2027-01-31T24:30", "without offset"),
        ("timestamp", datetime(2027, 1, 31, tzinfo=UTC), "without offset"),
        ("timestamptz", "2027-05-20T08:30:00", "with its offset"),
        ("timestamptz", wall("2027-01-31T08:30:00"), "with its offset"),
        ("timestamptz", "0001-01-01T00:00:00+14:00", "with its offset"),
        ("timestamptz", date(2027, 5, 20), "with its offset"),
    ],
)
def test_another_form_is_refused_with_the_expected_one(
    type_: str, given_value: object, form: str
) -> None:
    with pytest.raises(InvalidRuntimeValue, match=rf"^Parameter 'value': give .*{form}"):
        resolved(parameter(type_), given_value)


def test_a_refusal_does_not_repeat_the_value() -> None:
    for one in (parameter("integer"), parameter("date"), parameter("text", allowed=["north"])):
        with pytest.raises(InvalidRuntimeValue) as refusal:
            resolved(one, "a secret")
        assert "secret" not in refusal.value.message


def test_what_yaml_reads_is_taken() -> None:
    given_values = yaml.safe_load(
        "{region: north, top: 10, share: '0.10', open: true, day: 2027-01-31,"
        " seen: 2027-01-31 08:30:00, paid: 2027-01-31T08:30:00+01:00,"
        " since: {start_of: year, shift: -1}}"
    )
    types = ["text", "integer", "decimal", "boolean", "date", "timestamp", "timestamptz", "date"]
    parameters = [
        parse_parameter({"name": name, "type": type_})
        for name, type_ in zip(given_values, types, strict=True)
    ]
    assert list(
        resolve_values(parameters, given_values, moment=SLOT, time_zone="UTC").values()
    ) == [
        "north",
        10,
        Decimal("0.10"),
        True,
        date(2027, 1, 31),
        wall("2027-01-31T08:30"),
        datetime(2027, 1, 31, 7, 30, tzinfo=UTC),
        date(2026, 1, 1),
    ]


def test_only_allowed_values_are_taken() -> None:
    sizes = parameter("decimal", allowed=["1.5", "2"])
    assert resolved(sizes, "1.50") == Decimal("1.5")
    with pytest.raises(InvalidRuntimeValue, match=r"'value': give one of \"1\.5\", \"2\"\."):
        resolved(sizes, "3")


def test_a_naive_moment_is_a_programming_error() -> None:
    with pytest.raises(ValueError, match="aware"):
        resolved(parameter("text"), "x", moment=wall("2027-01-01T00:00"))


# --- definitions


def test_a_parameter_is_required_and_labelled_by_its_name_unless_told_otherwise() -> None:
    assert parameter("date", default={"start_of": "week"}) == Parameter(
        name="value",
        type="date",
        is_list=False,
        required=True,
        default=StartOf("week"),
        allowed=None,
        label="value",
    )


@pytest.mark.parametrize(
    ("definition", "reason"),
    [
        ({"type": "text"}, "its name must be"),
        ({"name": "Bad Name", "type": "text"}, "'Bad Name': its name must be"),
        ({"name": "n" * 64, "type": "text"}, "its name must be"),
        ({"name": "value"}, "its type must be one of text, integer"),
        ({"name": "value", "type": ["text"]}, "its type must be one of"),
        ({"name": "value", "type": "text", "lable": "x"}, "there is no key 'lable'"),
        ({"name": "value", "type": "text", "required": "yes"}, "'required' must be true or false"),
        ({"name": "value", "type": "text", "list": "yes"}, "'list' must be true or false"),
        ({"name": "value", "type": "list"}, "its type must be one of text, integer"),
        ({"name": "value", "type": "text", "list": True, "default": "a"}, "'default': give a list"),
        (
            {"name": "value", "type": "text", "list": True, "default": ["a", None]},
            "'default': element 2 is null, and nothing equals null",
        ),
        (
            {"name": "value", "type": "integer", "list": True, "default": [1, "x"]},
            "'default': element 2: give a whole number",
        ),
        (
            {"name": "value", "type": "text", "list": True, "allowed": ["a"], "default": ["b"]},
            "'default': element 1: give one of \"a\"",
        ),
        ({"name": "value", "type": "text", "label": ""}, "'label' must be a text"),
        ({"name": "value", "type": "integer", "default": "x"}, "'default': give a whole number"),
        ({"name": "value", "type": "text", "default": LAST_MONTH}, "'default': give a text"),
        ({"name": "value", "type": "text", "allowed": []}, "'allowed' must be a list"),
        ({"name": "value", "type": "text", "allowed": "abc"}, "'allowed' must be a list"),
        ({"name": "value", "type": "text", "allowed": ["a", None]}, "each allowed value must be"),
        ({"name": "value", "type": "date", "allowed": [LAST_MONTH]}, "each allowed value must be"),
        (
            {"name": "value", "type": "text", "allowed": ["a"], "default": "b"},
            "'default': give one of \"a\"",
        ),
    ],
)
def test_a_wrong_definition_is_refused_with_the_reason(
    definition: Mapping[str, object], reason: str
) -> None:
    with pytest.raises(InvalidQuery, match=reason):
        parse_parameter(definition)


# --- storing

instants = st.datetimes(
    min_value=wall("0002-01-01"), max_value=wall("9998-12-31"), timezones=st.just(UTC)
)
exact_values: dict[str, st.SearchStrategy[object]] = {
    "text": st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
    "integer": st.integers(-(2**63), 2**63 - 1),
    "decimal": st.decimals(allow_nan=False, allow_infinity=False, places=12),
    "boolean": st.booleans(),
    "date": st.dates(),
    "timestamp": st.datetimes(),
    "timestamptz": instants,
}


@given(st.fixed_dictionaries({name: st.none() | values for name, values in exact_values.items()}))
def test_stored_values_come_back_exactly(values: dict[str, object]) -> None:
    _come_back(values, is_list=False)


@settings(max_examples=50)
@given(
    st.fixed_dictionaries(
        {
            name: st.none() | st.lists(values, unique=True, max_size=4).map(tuple)
            for name, values in exact_values.items()
        }
    )
)
def test_stored_lists_come_back_exactly(values: dict[str, object]) -> None:
    _come_back(values, is_list=True)


def _come_back(values: dict[str, object], *, is_list: bool) -> None:
    parameters = [
        parse_parameter({"name": name, "type": name, "list": is_list, "required": False})
        for name in exact_values
    ]
    exact = resolve_values(parameters, values, moment=SLOT, time_zone="UTC")
    assert exact == values
    loaded = load_values(dump_values(exact), parameters)
    assert loaded == exact
    assert _texts(loaded) == _texts(exact)
    # What is stored with an export is given again when its file is made.
    stored = json.loads(dump_values(exact))
    again = resolve_values(parameters, stored, moment=SLOT, time_zone="UTC")
    assert _texts(again) == _texts(exact)


def _texts(values: Mapping[str, object]) -> list[object]:
    return [
        tuple(map(str, value)) if isinstance(value, tuple) else str(value)
        for value in values.values()
    ]


def test_stored_values_of_other_parameters_are_refused() -> None:
    with pytest.raises(InvalidRuntimeValue, match="another version"):
        load_values('{"gone": 1}', [parameter("integer")])
    with pytest.raises(InvalidRuntimeValue, match="'value': give a whole number"):
        load_values('{"value": "north"}', [parameter("integer")])
    for stored in ('{"value": 1}', '{"value": [1, "start_of:month"]}', '{"value": [null]}'):
        with pytest.raises(InvalidRuntimeValue, match=r"'value': (give a list|element)"):
            load_values(stored, [parameter("integer", list=True)])


def test_an_instant_is_kept_in_utc() -> None:
    value = resolved(
        parameter("timestamptz"),
        datetime(2027, 1, 1, tzinfo=timezone(timedelta(hours=5, minutes=45))),
    )
    assert isinstance(value, datetime)
    assert value.tzinfo is UTC
