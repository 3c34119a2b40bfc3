from __future__ import annotations

import io
import math
import re
import zipfile
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from uuid import UUID

import openpyxl
import pytest
from hypothesis import given
from python_calamine import load_workbook

from queries_orchestration.exports.file_writer import FileOptions, open_writer
from queries_orchestration.model.columns import Column, ValueType
from queries_orchestration_tests.exports.read_back import (
    BERLIN,
    Cell,
    Sink,
    as_page,
    calamine_rows,
    read_csv,
    read_sheet,
    written,
)
from queries_orchestration_tests.exports.typed_rows import typed_results

ILLEGAL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def cell(kind: ValueType, value: object) -> Cell | None:
    """The cell of one value, as it stands in the file."""
    return read_sheet(written("xlsx", [Column("a", kind)], [(value,)]))[1][0]


def text(content: str) -> Cell:
    return Cell("text", content)


def wall(
    year: int, month: int, day: int, hour: int = 0, minute: int = 0, microsecond: int = 0
) -> datetime:
    return datetime.combine(date(year, month, day), time(hour, minute, 0, microsecond))


FORMULAS = ["=1+1", "==== new line ====", '=HYPERLINK("https://e.test","x")', "{=A1}", "'=x"]
LOOKS_LIKE_A_NUMBER = ["007", "1234567890123456", "1E5", "nan", "NaN", "inf", "1e5", "-42"]
BLANKS = ["  a  ", "\tb\t", "\nc", "   ", "\n", ""]
LINKS = ["mailto:x", "internal:Sheet1!A1", "https://e.test/" + "x" * 2_100]
ESCAPES = ["_x0041_", "_x000D_", "a_x005F_b", "_x0041_x0042_"]
ERROR_WORDS = ["#N/A", "#REF!", "#DIV/0!", "TRUE"]


@pytest.mark.parametrize(
    "value",
    [*FORMULAS, *LOOKS_LIKE_A_NUMBER, *BLANKS, *LINKS, *ESCAPES, *ERROR_WORDS, "Zürich € 🛫"],
)
def test_text_is_the_exact_text_and_nothing_else(value: str) -> None:
    content = written("xlsx", [Column("a", "text"), Column("b", "integer")], [(value, 1)])
    assert read_sheet(content)[1][0] == text(value)
    assert calamine_rows(content)[1] == [value, 1]


def test_a_label_is_text_as_well() -> None:
    labels = ["=1+1", "#N/A", " a ", "", "a", "a"]
    content = written("xlsx", [Column(label, "integer") for label in labels], [range(6)])
    assert [found.content for found in read_sheet(content)[0] if found] == labels
    assert calamine_rows(content)[1] == [0, 1, 2, 3, 4, 5]


def test_control_characters_are_replaced_and_counted_and_tab_and_line_end_kept() -> None:
    sink = Sink()
    columns = [Column("a\x0b", "text")]
    with open_writer("xlsx", sink, columns, BERLIN) as writer:
        writer.write_page(
            as_page([("Rio\x0bGrande",), ("x\x1fy\x00\ufffe",), ("left\tright\nbelow",)])
        )
        writer.write_page(as_page([(f"a{chr(0xD800)}",)]))
        writer.finish()
    expected = [["a�"], ["Rio�Grande"], ["x�y��"], ["left\tright\nbelow"], ["a�"]]
    assert calamine_rows(sink.content) == expected
    assert writer.replaced_characters == 6


def test_line_ends_become_the_one_that_excel_uses() -> None:
    content = written("xlsx", [Column("a\r\nb", "text")], [("a\r\nb\rc\nd",)])
    assert calamine_rows(content) == [["a\nb"], ["a\nb\nc\nd"]]
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert b"\r" not in archive.read("xl/worksheets/sheet1.xml")


@pytest.mark.parametrize("fits", ["x" * 32_767, "🛫" * 16_383])
def test_the_longest_text_is_intact(fits: str) -> None:
    assert cell("text", fits) == text(fits)


@pytest.mark.parametrize(
    ("value", "kept"),
    [("x" * 32_768, "x" * 32_735), ("x" * 40_000, "x" * 32_735), ("🛫" * 16_384, "🛫" * 16_367)],
)
def test_longer_text_is_cut_with_a_note_and_counted(value: str, kept: str) -> None:
    sink = Sink()
    with open_writer("xlsx", sink, [Column("a", "text")], BERLIN) as writer:
        writer.write_page(as_page([(value,), ("short",)]))
        writer.finish()
    found = calamine_rows(sink.content)[1][0]
    assert found == f"{kept}… [cut: {len(value)} characters in all]"
    assert 32_760 <= len(found.encode("utf-16-le")) / 2 <= 32_767
    assert (writer.cut_cells, writer.replaced_characters) == (1, 0)


def test_text_that_looks_escaped_is_never_cut_without_being_counted() -> None:
    sink = Sink()
    value = "_x0041_" * 4_000
    with open_writer("xlsx", sink, [Column("a", "text")], BERLIN) as writer:
        writer.write_page(as_page([(value,)]))
        writer.finish()
    found = read_sheet(sink.content)[1][0]
    assert found is not None
    assert found.content.endswith("… [cut: 28000 characters in all]")
    assert found.content.startswith("_x0041_" * 2_300)
    assert writer.cut_cells == 1


@pytest.mark.parametrize("value", [0, -42, 999_999_999_999_999, -999_999_999_999_999])
def test_an_integer_of_up_to_15_digits_is_a_number(value: int) -> None:
    assert cell("integer", value) == Cell("number", str(value))


@pytest.mark.parametrize(
    "value", [10**15, -(10**15), 1234567890123456, 9007199254740993, 9223372036854775807]
)
def test_a_longer_integer_is_text_with_all_its_digits(value: int) -> None:
    assert cell("integer", value) == text(str(value))


@pytest.mark.parametrize("value", ["0.10", "-0.50", "99999.9999999999", "0.00000000", "1E-300"])
def test_a_decimal_that_excel_holds_is_a_number(value: str) -> None:
    found = cell("decimal", Decimal(value))
    assert found is not None
    assert (found.kind, Decimal(found.content)) == ("number", Decimal(value))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("12345678901234567.89", "12345678901234567.89"),
        ("0.1234567890123456", "0.1234567890123456"),
        ("1E+20", "100000000000000000000"),
        ("1E-320", "0." + "0" * 319 + "1"),
        ("NaN", "NaN"),
        ("Infinity", "Infinity"),
    ],
)
def test_a_decimal_that_excel_would_round_is_text(value: str, expected: str) -> None:
    assert cell("decimal", Decimal(value)) == text(expected)


@pytest.mark.parametrize("value", [0.1 + 0.2, 1e20, -1e-7, 9.2, 1 / 3, 1.7976931348623157e308])
def test_a_float_is_a_number_with_all_its_digits(value: float) -> None:
    found = cell("float", value)
    assert found is not None
    assert (found.kind, float(found.content)) == ("number", value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (math.nan, "NaN"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
        (5e-324, "5e-324"),
    ],
)
def test_a_float_that_excel_does_not_have_is_text_as_in_csv(value: float, expected: str) -> None:
    assert cell("float", value) == text(expected)


@pytest.mark.parametrize(
    ("value", "serial"), [(date(1900, 3, 1), 61), (date(2027, 7, 1), 46569), (date.max, 2958465)]
)
def test_a_date_from_march_1900_is_a_real_date(value: date, serial: int) -> None:
    assert cell("date", value) == Cell("number", str(serial), "yyyy-mm-dd")
    content = written("xlsx", [Column("a", "date")], [(value,)])
    assert calamine_rows(content)[1] == [value]
    assert openpyxl.load_workbook(io.BytesIO(content)).worksheets[0]["A2"].is_date


@pytest.mark.parametrize(
    "value", ["1899-12-31", "1900-01-01", "1900-02-28", "0025-08-14", "0001-01-01"]
)
def test_an_earlier_date_is_iso_text(value: str) -> None:
    assert cell("date", date.fromisoformat(value)) == text(value)
    midnight = datetime.combine(date.fromisoformat(value), time())
    assert cell("timestamp", midnight) == text(f"{value}T00:00:00")


def test_a_wall_time_is_a_real_date_and_is_not_shifted() -> None:
    found = cell("timestamp", wall(2027, 7, 1, 12, 0))
    assert found == Cell("number", "46569.5", "yyyy-mm-dd hh:mm:ss")


def test_a_fraction_of_a_second_is_kept_and_shown_to_the_millisecond() -> None:
    value = wall(2027, 7, 1, 0, 30, 123_456)
    found = cell("timestamp", value)
    assert found is not None
    assert found.format == "yyyy-mm-dd hh:mm:ss.000"
    assert _moment(found) == value


def test_a_microsecond_that_excels_days_cannot_tell_is_text() -> None:
    assert cell("timestamp", wall(9000, 1, 1, 0, 0, 123_457)) == text("9000-01-01T00:00:00.123457")


def test_an_instant_is_the_wall_time_of_the_zone_that_the_label_names() -> None:
    instant = datetime(2027, 7, 1, 0, 30, 0, tzinfo=timezone(timedelta(hours=2)))
    columns = [Column("at", "timestamptz"), Column("wall", "timestamp")]
    content = written("xlsx", columns, [(instant.astimezone(UTC), wall(2027, 7, 1, 0, 30))])
    assert calamine_rows(content) == [
        ["at (Europe/Berlin)", "wall"],
        [wall(2027, 7, 1, 0, 30), wall(2027, 7, 1, 0, 30)],
    ]


def test_an_instant_that_the_zone_or_excel_does_not_have_is_text_with_its_offset() -> None:
    assert cell("timestamptz", datetime(9999, 12, 31, 23, 30, tzinfo=UTC)) == text(
        "9999-12-31T23:30:00+00:00"
    )
    assert cell("timestamptz", datetime(1899, 7, 1, tzinfo=UTC)) == text(
        "1899-07-01T01:00:00+01:00"
    )


def test_a_time_of_day_is_a_fraction_of_a_day() -> None:
    assert cell("time", time(12, 0)) == Cell("number", "0.5", "hh:mm:ss")
    assert cell("time", time(6, 0, 0, 1)) == Cell("number", "0.2500000000115741", "hh:mm:ss.000")
    assert cell("time", time(23, 59, tzinfo=UTC)) == text("23:59:00+00:00")


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("json", '{"a":null,"ok":true}', '{"a":null,"ok":true}'),
        ("text", '{x,"y,z",NULL}', '{x,"y,z",NULL}'),
        ("bytes", b"\xde\xad\xbe\xef", "\\xdeadbeef"),
        ("uuid", UUID(int=0xA0), "00000000-0000-0000-0000-0000000000a0"),
    ],
)
def test_the_other_types_have_the_text_that_csv_has(
    kind: ValueType, value: object, expected: str
) -> None:
    assert cell(kind, value) == text(expected)


def test_booleans_are_booleans() -> None:
    assert cell("boolean", True) == Cell("boolean", "1")
    assert cell("boolean", False) == Cell("boolean", "0")


def test_null_is_no_cell_and_the_empty_string_is_one() -> None:
    columns = [Column("a", "text"), Column("b", "text")]
    content = written("xlsx", columns, [(None, ""), ("", None), ("NULL", "None"), (None, None)])
    assert read_sheet(content)[1:] == [
        [None, text("")],
        [text(""), None],
        [text("NULL"), text("None")],
        [None, None],
    ]


def test_addresses_are_never_links_however_many() -> None:
    urls = [(f"https://e.test/{n}",) for n in range(65_540)]
    content = written("xlsx", [Column("a", "text")], urls)
    assert calamine_rows(content)[1:] == [list(row) for row in urls]
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert not [name for name in archive.namelist() if "worksheets/_rels" in name]
        assert b"<hyperlink" not in archive.read("xl/worksheets/sheet1.xml")


@given(typed_results())
def test_csv_and_excel_agree_on_every_value(
    result: tuple[list[Column], list[tuple[object, ...]]],
) -> None:
    columns, rows = result
    plain = FileOptions(time_zone="Europe/Berlin", csv_guard=False)
    lines = read_csv(written("csv", columns, rows, options=plain))[1:]
    workbook = written("xlsx", columns, rows)
    cells = read_sheet(workbook)[1:]
    assert len(load_workbook(io.BytesIO(workbook)).sheet_names) == 1
    assert len(cells) == len(lines) == len(rows)
    for line, sheet_row in zip(lines, cells, strict=True):
        for column, in_csv, in_excel in zip(columns, line, sheet_row, strict=True):
            assert (in_csv is None) == (in_excel is None)
            if in_csv is not None and in_excel is not None:
                assert _says(column.type, in_excel, in_csv)


def _says(kind: ValueType, found: Cell, in_csv: str) -> bool:
    """Whether a cell says what the CSV field says."""
    if found.kind == "text":
        return found.content == ILLEGAL.sub("�", re.sub("\r\n?", "\n", in_csv))
    if found.kind == "boolean":
        return kind == "boolean" and found.content == {"true": "1", "false": "0"}[in_csv]
    match kind:
        case "integer" | "decimal":
            return Decimal(found.content) == Decimal(in_csv)
        case "float":
            return float(found.content) == float(in_csv)
        case "date":
            return _moment(found).date() == date.fromisoformat(in_csv)
        case "timestamp":
            return _moment(found) == datetime.fromisoformat(in_csv)
        case "timestamptz":
            instant = datetime.fromisoformat(in_csv)
            return _moment(found) == instant.replace(tzinfo=None)
        case "time":
            return _moment(found).time() == time.fromisoformat(in_csv)
    return False


def _moment(found: Cell) -> datetime:
    """Excel's count of days, a double, as a wall time of the exactness that the format tells."""
    microseconds = round(Decimal(float(found.content)) * 86_400_000_000)
    if not found.format.endswith(".000"):
        microseconds = round(microseconds, -6)
    return wall(1899, 12, 30) + timedelta(microseconds=microseconds)
