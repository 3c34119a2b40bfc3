"""A text becomes the number, boolean, date or time that it is, or stays text with every digit."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, strategies as st
from openpyxl.cell import Cell as BookCell

from queries_orchestration.exports.text_form import TextForm
from queries_orchestration.exports.xlsx_stream.cells import PageCells
from queries_orchestration.exports.xlsx_stream.moment_cells import (
    plain_timestamps,
    timestamp_content,
)
from queries_orchestration.model.columns import Column, ValueType
from queries_orchestration.reports.workbook.book import new_book
from queries_orchestration.reports.workbook.cells import Cells, CellText
from queries_orchestration_tests.exports.read_back import Cell, read_sheet
from queries_orchestration_tests.exports.typed_rows import VALUES
from queries_orchestration_tests.exports.xlsx_stream.streamed import (
    ZONE,
    cell,
    number,
    streamed,
    text,
)

DATE, MOMENT = "yyyy-mm-dd", "yyyy-mm-dd hh:mm:ss"


@pytest.mark.parametrize("value", ["0", "-42", "999999999999999", "-999999999999999"])
def test_an_integer_of_up_to_15_digits_is_a_number(value: str) -> None:
    assert cell("integer", value) == number(value)


@pytest.mark.parametrize(
    "value",
    [
        "1000000000000000",
        "-1000000000000000",
        "1234567890123456",
        "9007199254740993",
        "9223372036854775807",
    ],
)
def test_a_longer_integer_is_text_with_all_its_digits(value: str) -> None:
    assert cell("integer", value) == text(value)


@pytest.mark.parametrize(
    "value",
    [
        "0.10",
        "-0.50",
        "99999.9999999999",
        "0.00000000",
        "100000.00000000000000000000",
        "0",
        "0." + "0" * 299 + "1",
    ],
)
def test_a_decimal_that_excel_holds_is_a_number(value: str) -> None:
    found = cell("decimal", value)
    assert found is not None
    assert (found.kind, Decimal(found.content)) == ("number", Decimal(value))


@pytest.mark.parametrize(
    "value",
    [
        "12345678901234567.89",
        "0.1234567890123456",
        "100000000000000000000",
        "1." + "0" * 30 + "1",
        "0." + "0" * 319 + "1",
        "1000000000000000",
        "NaN",
        "Infinity",
        "-Infinity",
    ],
)
def test_a_decimal_that_excel_would_round_is_text(value: str) -> None:
    assert cell("decimal", value) == text(value)


@pytest.mark.parametrize(
    "value",
    [
        "0.30000000000000004",
        "1e+20",
        "-1e-07",
        "9.2",
        "0",
        "-0",
        "1.7976931348623157e+308",
        "2.2250738585072014e-308",
        "100000",
        "0.3333333333333333",
        "9007199254740992",
        "-1000000000000000000000",
    ],
)
def test_a_float_is_a_number_with_all_its_digits(value: str) -> None:
    found = cell("float", value)
    assert found is not None
    assert (found.kind, float(found.content)) == ("number", float(value))


@pytest.mark.parametrize(
    "value",
    [
        *("NaN", "Infinity", "-Infinity", "5e-324", "2.225e-308", "1e+400"),
        *("9007199254740993", "-12345678901234567", "123456789012345678901"),
    ],
)
def test_a_float_that_excel_does_not_have_is_text(value: str) -> None:
    assert cell("float", value) == text(value)


def test_booleans_are_booleans() -> None:
    assert cell("boolean", "true") == Cell("boolean", "1")
    assert cell("boolean", "false") == Cell("boolean", "0")


@pytest.mark.parametrize(
    ("value", "serial"),
    [
        ("1900-03-01", "61"),
        ("2000-02-29", "36585"),
        ("2027-07-01", "46569"),
        ("9999-12-31", "2958465"),
    ],
)
def test_a_date_from_march_1900_is_a_real_date(value: str, serial: str) -> None:
    assert cell("date", value) == number(serial, DATE)


@pytest.mark.parametrize(
    "value", ["1899-12-31", "1900-01-01", "1900-02-28", "0025-08-14", "0001-01-01"]
)
def test_an_earlier_day_is_iso_text(value: str) -> None:
    assert cell("date", value) == text(value)
    assert cell("timestamp", f"{value}T23:59:59.9") == text(f"{value}T23:59:59.9")
    assert cell("timestamptz", f"{value}T00:00:00+00:53:28") == text(f"{value}T00:00:00+00:53:28")


def test_a_wall_time_is_a_real_date_with_its_time() -> None:
    assert cell("timestamp", "2027-07-01T12:00:00") == number("46569.5", MOMENT)
    assert cell("timestamp", "1900-03-01T00:00:00") == number("61.0", MOMENT)
    assert cell("timestamp", "2027-07-01T06:00:00.000001") == number(
        repr((46569 * 86_400_000_000 + 21_600_000_001) / 86_400_000_000), f"{MOMENT}.000"
    )


def test_a_microsecond_that_excels_days_cannot_tell_is_text() -> None:
    assert cell("timestamp", "9000-01-01T00:00:00.123457") == text("9000-01-01T00:00:00.123457")
    assert cell("timestamp", "2079-06-04T23:59:59.999999") == number(
        repr((65536 * 86_400_000_000 - 1) / 86_400_000_000), f"{MOMENT}.000"
    )


def test_an_instant_is_the_wall_time_of_the_zone_that_the_label_names() -> None:
    columns = [Column("at", "timestamptz"), Column("wall", "timestamp")]
    header, row = read_sheet(
        streamed(columns, [("2027-07-01T00:30:00+02:00", "2027-07-01T00:30:00")])[0]
    )
    assert header[0] == Cell("text", "at (Europe/Berlin)", bold=True)
    assert row[0] == row[1] == number(repr(46569 + 1 / 48), MOMENT)


def test_the_hour_that_a_zone_has_twice_is_there_twice() -> None:
    summer, winter = "2027-10-31T02:30:00+02:00", "2027-10-31T02:30:00+01:00"
    assert cell("timestamptz", summer) == cell("timestamptz", winter) != text(winter)


def test_an_instant_that_the_zone_does_not_have_is_text_with_its_offset() -> None:
    last = "9999-12-31T23:30:00"
    assert cell("timestamptz", f"{last}+00:00") == text(f"{last}+00:00")
    assert cell("timestamptz", f"{last}+01:00") == number(repr(2958465 + 47 / 48), MOMENT)


def test_a_time_of_day_is_a_fraction_of_a_day() -> None:
    assert cell("time", "12:00:00") == number("0.5", "hh:mm:ss")
    assert cell("time", "00:00:00") == number("0.0", "hh:mm:ss")
    assert cell("time", "06:00:00.000001") == number("0.2500000000115741", "hh:mm:ss.000")
    assert cell("time", "23:59:00+00:00") == text("23:59:00+00:00")


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        *[("integer", value) for value in ("", "007", "+1", "1.0", "1e5", "-", "-0", "٣", "1\n")],
        *[("decimal", value) for value in ("", "007.5", "1.", ".5", "1e5", "-NaN", "1,5", "1.5\n")],
        *[("float", value) for value in ("", "007", "nan", "inf", "1e5", "0x1p3", "1_000")],
        *[("boolean", value) for value in ("", "t", "TRUE", "1")],
        *[("date", value) for value in ("", "infinity", "-infinity", "2027-02-30", "2027-W01-1")],
        *[("date", value) for value in ("0044-03-15 BC", "10000-01-01", "20270701", "2027-7-1")],
        *[("timestamp", value) for value in ("infinity", "2027-07-01", "2027-07-01 00:00:00")],
        *[("timestamp", value) for value in ("2027-02-30T00:00:00", "2027-07-01T24:00:00")],
        *[("timestamp", value) for value in ("10000-01-01T00:00:00", "2027-07-01T00:00:00+02:00")],
        *[("timestamp", value) for value in ("2027-07-01T00:00:00 BC", "2027-07-01T00:00:00.")],
        *[("timestamptz", value) for value in ("infinity", "2027-07-01T00:00:00", "")],
        *[("timestamptz", value) for value in ("2027-02-30T00:00:00+01:00",)],
        *[("timestamptz", f"2027-07-01T00:30:00{offset}") for offset in ("+24:00", "-99:99")],
        *[("timestamptz", value) for value in ("9999-12-31T24:00:00+01:00",)],
        *[("time", value) for value in ("24:00:00", "12:00", "12:00:60", "12:00:00 AM", "")],
    ],
)
def test_what_is_not_of_its_types_form_is_that_text(kind: ValueType, value: str) -> None:
    assert cell(kind, value) == text(value)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("json", '{"a":null,"ok":true}'),
        ("text", '{x,"y,z",NULL}'),
        ("bytes", "\\xdeadbeef"),
        ("uuid", "00000000-0000-0000-0000-0000000000a0"),
        ("json", "1"),
    ],
)
def test_the_other_types_have_the_text_that_csv_has(kind: ValueType, value: str) -> None:
    assert cell(kind, value) == text(value)


def test_null_is_no_cell_and_the_empty_text_is_one() -> None:
    columns = [Column("a", "text"), Column("b", "integer"), Column("c", "text")]
    rows = [(None, None, ""), ("", "1", None), ("NULL", "x", "None"), (None, None, None)]
    assert read_sheet(streamed(columns, rows)[0])[1:] == [
        [None, None, text("")],
        [text(""), number("1"), None],
        [text("NULL"), text("x"), text("None")],
        [None, None, None],
    ]


@pytest.fixture(scope="module")
def cells() -> Cells:
    """Makes the cells of values, for workbooks that are no stream."""
    return Cells(new_book(), ZONE)


def _exact(found: Cell | None) -> Cell | None:
    """The cell with its number as the double that Excel reads."""
    if found is None or found.kind != "number":
        return found
    return replace(found, content=repr(float(found.content)))


def _of_book(made: object) -> Cell | None:
    """The same of what openpyxl would write."""
    if made is None:
        return None
    if isinstance(made, CellText):
        return text(re.sub("_x([0-9A-Fa-f]{4})_", lambda code: chr(int(code[1], 16)), made.text))
    if isinstance(made, bool):
        return Cell("boolean", str(int(made)))
    if isinstance(made, int):
        return number(repr(float(made)))
    assert isinstance(made, BookCell)
    number_format = "" if made.number_format == "General" else made.number_format
    return number(repr(float(str(made.value))), number_format)


def _digits(value: Any) -> int:
    return len(value.as_tuple().digits)


_AROUND_2079 = st.datetimes(
    min_value=datetime.fromisoformat("2079-06-01T00:00:00"),
    max_value=datetime.fromisoformat("2079-06-10T00:00:00"),
)
_ANY: dict[ValueType, st.SearchStrategy[Any]] = {
    **VALUES,
    "timestamp": VALUES["timestamp"] | _AROUND_2079,
    # The old way takes decimals of more digits for shorter ones.
    "decimal": VALUES["decimal"].filter(lambda value: _digits(value) <= 28),
    "float": st.floats() | st.floats(-1e18, 1e18) | st.floats(-1e-300, 1e-300),
    "time": st.times() | st.times(timezones=st.just(timezone(timedelta(hours=2)))),
    "uuid": st.uuids(),
}


@st.composite
def _values(draw: st.DrawFn) -> tuple[list[Column], list[object]]:
    kinds = draw(st.lists(st.sampled_from(sorted(_ANY)), min_size=1, max_size=6))
    columns = [Column(f"c{index}", kind) for index, kind in enumerate(kinds)]
    return columns, [draw(st.none() | _ANY[kind]) for kind in kinds]


@given(_values())
def test_the_cell_of_a_text_is_the_cell_of_its_value(
    cells: Cells, drawn: tuple[list[Column], list[object]]
) -> None:
    columns, values = drawn
    form = TextForm(ZONE)
    texts = [None if value is None else form(value) for value in values]
    found = read_sheet(streamed(columns, [texts])[0])[1]
    assert [_exact(cell) for cell in found] == [_of_book(cells.of(value)) for value in values]


_ODD = st.sampled_from(["", "\n", "1\n2", "x", "NaN", "infinity", "9999-12-31T23:30:00+00:00", "<"])


@given(st.sampled_from(sorted(_ANY)), st.data())
def test_a_cell_does_not_depend_on_the_other_rows(kind: ValueType, data: st.DataObject) -> None:
    texts = data.draw(st.lists(st.none() | _ANY[kind].map(TextForm(ZONE)) | _ODD, max_size=5))
    together = _cells(kind, texts)
    assert together == [_cells(kind, [text])[0] for text in texts]
    assert _cells(kind, [*texts, "no moment"])[:-1] == together


def _cells(kind: ValueType, texts: list[str | None]) -> list[str | None]:
    cells = PageCells([Column("a", kind)], ZONE)
    (contents,) = cells.contents([texts])
    (form,) = cells.forms
    return [None if content is None else form.around(content) for content in contents]


_UNTIL_2079 = st.datetimes(
    min_value=datetime.fromisoformat("1900-03-01T00:00:00"),
    max_value=datetime.fromisoformat("2079-06-04T23:59:59"),
)


@given(st.lists(_UNTIL_2079 | _UNTIL_2079.map(lambda at: at.replace(microsecond=0)), min_size=1))
def test_moments_made_together_have_the_digits_that_each_has(moments: list[datetime]) -> None:
    texts = [moment.isoformat() for moment in moments]
    assert plain_timestamps(texts) == [timestamp_content(text) for text in texts]


def test_a_column_with_one_text_of_another_form_is_the_same_cells_before_and_after() -> None:
    columns = [Column("n", "integer"), Column("d", "date"), Column("b", "boolean")]
    rows = [(str(n), f"2027-07-{n % 28 + 1:02}", "true") for n in range(3_000)]
    plain = read_sheet(streamed(columns, rows)[0])
    rows[1_500] = ("007", "infinity", "maybe")
    plain[1_501] = [text("007"), text("infinity"), text("maybe")]
    assert read_sheet(streamed(columns, rows)[0]) == plain
