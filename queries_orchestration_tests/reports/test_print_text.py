"""Values as they are printed."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from uuid import UUID

import pytest
from hypothesis import given, strategies as st

from queries_orchestration.model.errors import UnknownTimeZone
from queries_orchestration.reports.print_text import PrintText, Replacer, percent_text

BERLIN = "Europe/Berlin"
NUMBERS = st.integers() | st.floats() | st.decimals()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "\N{EN DASH}"),
        ("", ""),
        ("a\nb", "a\nb"),
        (True, "yes"),
        (False, "no"),
        (0, "0"),
        (-1234567, "-1,234,567"),
        (10**29, "100,000,000,000,000,000,000,000,000,000"),
        (10**30 + 5, "1e+30"),
        (Decimal("12.50"), "12.50"),
        (Decimal("12"), "12"),
        (Decimal("1E+3"), "1,000"),
        (Decimal("-1234.505"), "-1,234.51"),
        (Decimal("-0.00"), "0.00"),
        (Decimal("-1.23456789e400"), "-1.23457e+400"),
        (Decimal("1e-900000"), "1e-900000"),
        (Decimal("0.00123"), "0.0012"),
        (Decimal("-0.004"), "-0.004"),
        (Decimal("NaN"), "NaN"),
        (Decimal("sNaN"), "NaN"),
        (Decimal("-Infinity"), "-Infinity"),
        (12.5, "12.5"),
        (3.0, "3"),
        (-0.0, "0"),
        (2.675, "2.68"),
        (1234567.891, "1,234,567.89"),
        (999999999999999.0, "999,999,999,999,999"),
        (1e15, "1e+15"),
        (-1.7976931348623157e308, "-1.79769e+308"),
        (5e-324, "5e-324"),
        (-3.46e-9, "-3.5e-09"),
        (float("nan"), "NaN"),
        (float("inf"), "Infinity"),
        (date(2027, 1, 4), "2027-01-04"),
        (date(1, 1, 1), "0001-01-01"),
        (time(8, 0), "08:00"),
        (time(8, 0, 5, 999999), "08:00:05"),
        (datetime(2027, 1, 4, 8, 0, 5), "2027-01-04 08:00:05"),  # noqa: DTZ001 - a wall time
        (datetime(2027, 1, 4, 7, 0, tzinfo=UTC), "2027-01-04 08:00"),
        (datetime(2026, 10, 25, 0, 30, tzinfo=UTC), "2026-10-25 02:30 +02:00"),
        (datetime(2026, 10, 25, 1, 30, tzinfo=UTC), "2026-10-25 02:30 +01:00"),
        (datetime(2026, 10, 25, 2, 30, tzinfo=UTC), "2026-10-25 03:30"),
        (datetime.max.replace(tzinfo=UTC), "9999-12-31 23:59:59 +00:00"),
        (datetime.min.replace(tzinfo=timezone(timedelta(hours=9))), "0001-01-01 00:00 +09:00"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (b"\xde\xad", "\\xdead"),
        (memoryview(b"\x01" * 17), "\\x" + "01" * 16 + "… (17 bytes)"),
        ("x" * 2_000, "x" * 2_000),
        ("x" * 2_001, "x" * 2_000 + "… (2,001 characters)"),
    ],
)
def test_a_value_is_printed_for_a_person(value: object, text: str) -> None:
    assert PrintText(BERLIN)(value) == text


@pytest.mark.parametrize(
    ("decimals", "value", "text"),
    [
        (0, Decimal("0.5"), "1"),
        (0, -0.4, "0"),
        (0, Decimal("-2.4"), "-2"),
        (2, 0.0012, "0"),
        (2, Decimal("-0.0012"), "0.00"),
        (10, Decimal("1.00000000005"), "1.0000000001"),
        (10, 0.1, "0.1"),
    ],
)
def test_no_more_digits_are_printed_than_were_chosen(
    decimals: int, value: object, text: str
) -> None:
    assert PrintText(BERLIN, decimals)(value) == text


def test_the_points_of_a_column_stand_in_line() -> None:
    column = PrintText("UTC").column([12.5, None, Decimal("3.14159"), 7.0, 7, "x", math.inf])
    assert column == ["12.50", "\N{EN DASH}", "3.14", "7.00", "7", "x", "Infinity"]


def test_a_column_of_whole_floats_has_no_points() -> None:
    assert PrintText("UTC").column([1.0, 2000.0]) == ["1", "2,000"]


@given(value=NUMBERS, decimals=st.none() | st.integers(0, 10))
def test_every_number_has_a_short_text_with_its_sign(
    value: int | float | Decimal, decimals: int | None
) -> None:
    text = PrintText("UTC", decimals)(value)
    assert len(text) <= 60
    if any(digit in text for digit in "123456789") and not Decimal(value).is_nan():
        assert text.startswith("-") == (value < 0)
    elif "I" not in text:
        assert not text.startswith("-")


@given(value=st.decimals(-(10**12), 10**12, allow_nan=False) | st.floats(-1e12, 1e12))
def test_a_printed_number_is_at_most_half_a_digit_away(value: Decimal | float) -> None:
    printed = Decimal(PrintText("UTC", 2)(value).replace(",", ""))
    assert abs(printed - Decimal(repr(value) if isinstance(value, float) else value)) <= Decimal(
        "0.005"
    )


@pytest.mark.parametrize(
    ("value", "text"), [(8.04, "+8%"), (-25.55, "-25.6%"), (0.0, "0%"), (0.01, "0%")]
)
def test_a_percentage_has_its_sign(value: float, text: str) -> None:
    assert percent_text(value) == text


def test_what_is_no_value_of_ours_has_no_text() -> None:
    with pytest.raises(TypeError, match="object is none of our value types"):
        PrintText("UTC")(object())


def test_an_unknown_zone_is_refused() -> None:
    with pytest.raises(UnknownTimeZone):
        PrintText("Mars/Olympus")


def test_what_no_page_can_show_is_replaced_and_counted() -> None:
    clean = Replacer()
    assert clean("a\x00b\ud800c\x1b") == "a\ufffdb\ufffdc\ufffd"
    assert clean("\ufffe") == "\ufffd"
    assert clean("fine: ä 日本 😀 \t \n \ufffd") == "fine: ä 日本 😀 \t \n \ufffd"
    assert clean.replaced == 4


def test_line_ends_are_no_replaced_characters() -> None:
    clean = Replacer()
    assert clean("a\r\nb\rc\x85d") == "a\nb\nc\nd"
    assert clean.replaced == 0


def test_an_integer_of_thousands_of_digits_is_printed() -> None:
    assert PrintText("UTC")(-(10**5000)) == "-1e+5000"
