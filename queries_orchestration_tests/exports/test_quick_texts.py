"""A column at once has the texts that its values have one by one."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings, strategies as st

from queries_orchestration.exports.column_texts import to_texts
from queries_orchestration.exports.quick_texts import quickly
from queries_orchestration.exports.text_form import TextForm
from queries_orchestration.model.columns import ValueType
from queries_orchestration.model.values import UnfitValue, value

ZONES = [
    "UTC",
    "Europe/Berlin",
    "America/St_Johns",
    "Asia/Kathmandu",
    "Pacific/Apia",
    "Africa/Cairo",
]

WITHIN_ZONES = tuple(map(datetime.fromisoformat, ("0001-01-02", "9999-12-30")))
FORMS: dict[ValueType, st.SearchStrategy[Any]] = {
    "text": st.text(max_size=5) | st.integers(),
    "json": st.sampled_from(['{"a": 1}', "[1]", "null", "x"]),
    "integer": st.integers() | st.sampled_from(["7", "007", "1.5", "x", 1.5, 2.0]),
    "decimal": st.integers() | st.from_regex(r"-?[0-9]{1,4}(\.[0-9]{0,3})?", fullmatch=True),
    "float": st.floats() | st.integers(-9, 9),
    "boolean": st.sampled_from([0, 1, 2, True, "true", "x"]),
    "date": st.dates().map(str) | st.sampled_from(["2027-02-30", "2027-01-01T00:00:00", "x"]),
    "timestamp": st.datetimes().map(lambda moment: moment.isoformat()),
    "timestamptz": st.tuples(
        st.datetimes(*WITHIN_ZONES),
        st.sampled_from(["T", " "]),
        st.sampled_from(["", "Z", "+00:00", "+01:00"]),
    ).map(lambda parts: parts[0].isoformat(parts[1]) + parts[2]),
    "uuid": st.uuids().map(str) | st.uuids().map(lambda one: one.hex),
    "time": st.times().map(str),
    "bytes": st.binary(max_size=4),
}


@settings(max_examples=300)
@given(data=st.data(), zone=st.sampled_from(ZONES))
def test_a_column_at_once_is_as_its_values_one_by_one(data: st.DataObject, zone: str) -> None:
    type_ = data.draw(st.sampled_from(sorted(FORMS)))
    column = data.draw(st.lists(st.none() | FORMS[type_], max_size=6))
    form = TextForm(ZoneInfo(zone))

    assert list(to_texts(type_, form)(column)) == [_one(cell, type_, form) for cell in column]


def _number(most: int, *rarely: int) -> st.SearchStrategy[str]:
    return (st.integers(0, most) | st.sampled_from(rarely)).map("{:02}".format)


DAYS = st.tuples(
    st.sampled_from(["2016", "2027", "1999", "0000", "0001", "9999"]),
    _number(12, 13, 99),
    _number(31, 32, 99),
).map("-".join)
TIMES = st.tuples(
    st.tuples(_number(23, 24, 99), _number(59, 60, 99), _number(59, 60, 61, 99)).map(":".join),
    st.sampled_from(["", "", ".5", ".000000", ".123456", ".999999", ".1234567"]),
).map("".join)
MOMENTS = st.tuples(
    DAYS, st.sampled_from("T T T_"), TIMES, st.sampled_from(["", "Z", "+00:00", "-05:30", "+24:00"])
).map("".join)


@settings(max_examples=500)
@given(
    type_=st.sampled_from(["timestamptz", "timestamp", "date", "time"]),
    page=st.lists(st.none() | MOMENTS, max_size=6)
    | st.lists(DAYS, max_size=6)
    | st.lists(TIMES, max_size=6),
    zone=st.sampled_from(ZONES),
)
def test_moments_that_are_none_are_told_as_they_are_whatever_their_neighbours(
    type_: ValueType, page: list[str | None], zone: str
) -> None:
    form = TextForm(ZoneInfo(zone))
    texts = to_texts(type_, form)

    told = list(texts(page))
    assert told == [_one(cell, type_, form) for cell in page]
    assert list(texts([*page, "unusual"])) == [*told, "unusual"]


@pytest.mark.parametrize(
    ("type_", "column", "texts"),
    [
        ("decimal", ["1.50", "0", "-7.0", None], ["1.50", "0", "-7.0", None]),
        ("decimal", ["1.5", "07"], None),
        ("date", ["2027-01-31", None], ["2027-01-31", None]),
        ("date", ["2027-01-31\n2027-02-01"], None),
        ("boolean", [1, 0, None], ["true", "false", None]),
        ("boolean", [1, 2], None),
        ("float", [1.0, -0.5, 0.0001, None], ["1", "-0.5", "0.0001", None]),
        ("float", [-0.0, 0.1 + 0.2, 2.0], ["-0", "0.30000000000000004", "2"]),
        ("float", [1.0, float("nan")], None),
        ("float", [float("nan"), float("inf"), 1.0], None),
        ("float", [1e15], None),
        ("float", [0.5, 0.00009], None),
        ("float", [1e-07], None),
        (
            "timestamptz",
            ["2027-07-01T22:30:00Z", "2027-01-01 22:30:00.500", "2027-10-31T00:59:59.120Z", None],
            [
                "2027-07-02T00:30:00+02:00",
                "2027-01-01T23:30:00.5+01:00",
                "2027-10-31T02:59:59.12+02:00",
                None,
            ],
        ),
        ("timestamptz", ["2027-13-01T00:00:00Z"], None),
        ("timestamptz", ["2027-01-01T24:00:00Z"], None),
        ("timestamptz", ["2016-12-31T23:59:60Z"], None),
        ("timestamptz", ["2027-07-01T00:99:59Z"], None),
        ("timestamptz", ["1890-01-01T00:00:00Z"], None),  # an offset of minutes and seconds
    ],
)
def test_usual_forms_are_done_at_once_and_others_are_left(
    type_: ValueType, column: list[Any], texts: list[str | None] | None
) -> None:
    found = quickly(type_, TextForm(ZoneInfo("Europe/Berlin")))(column)
    assert (None if found is None else list(found)) == texts


@pytest.mark.parametrize(
    ("type_", "stored"),
    [
        ("uuid", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd_80a11"),
        ("uuid", "0xeebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
        ("uuid", "+0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
        ("uuid", " 0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
        ("uuid", "\N{ARABIC-INDIC DIGIT ONE}0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
        ("time", "1000000000000"),
        ("time", "1230451234567"),
        ("time", "20270701"),
        ("timestamptz", "20270701T1230451234567Z"),
        ("timestamp", "2027-07-01\udcff00:30:00"),
        ("timestamp", "2027-07-01x00:30:00"),
        ("date", "2027-W01-1"),
    ],
)
def test_what_only_resembles_a_value_is_told_as_it_is(type_: ValueType, stored: str) -> None:
    texts = to_texts(type_, TextForm(ZoneInfo("Europe/Berlin")))
    assert list(texts([stored])) == [stored]


@pytest.mark.parametrize("zone", ["Europe/Berlin", "Australia/Lord_Howe", "America/New_York"])
def test_hours_in_which_a_clock_changes_are_shown_as_they_are(zone: str) -> None:
    start = datetime.fromisoformat("2027-01-01T00:00:00+00:00")
    stored = [
        (start + timedelta(minutes=30 * half)).strftime("%Y-%m-%dT%H:%M:%SZ")
        for half in range(2 * 24 * 366)
    ]
    form = TextForm(ZoneInfo(zone))
    assert list(to_texts("timestamptz", form)(stored)) == [
        _one(one, "timestamptz", form) for one in stored
    ]


def _one(raw: Any, type_: ValueType, form: TextForm) -> str | None:
    if raw is None:
        return None
    try:
        exact = value(raw, type_)
    except UnfitValue:
        return form(raw) if isinstance(raw, int | float | bytes) else str(raw)
    return exact if isinstance(exact, str) else form(exact)
