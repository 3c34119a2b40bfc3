from __future__ import annotations

import math
import string
import subprocess
import sys
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from uuid import UUID

import pytest
from hypothesis import given, strategies as st

from queries_orchestration.exports.file_writer import FileOptions, open_writer
from queries_orchestration.model.columns import Column, ValueType
from queries_orchestration.model.errors import InvalidSettings, UnknownTimeZone
from queries_orchestration_tests.exports.read_back import (
    BERLIN,
    Sink,
    as_page,
    meaning,
    read_csv,
    written,
)
from queries_orchestration_tests.exports.typed_rows import typed_results

NO_GUARD = FileOptions(time_zone="Europe/Berlin", csv_guard=False)


def field(kind: ValueType, value: object, options: FileOptions = BERLIN) -> str:
    """The bytes of one value, as they stand in the file."""
    columns = [Column("a", kind), Column("b", "integer")]
    lines = written("csv", columns, [(value, 7)], options=options).decode()
    return lines.removeprefix("a,b\n").removesuffix(",7\n")


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1+2", "@SUM(A1)", "\t=1+1", "\r=1+1", "-42"])
def test_text_that_a_spreadsheet_would_run_gets_a_leading_apostrophe(text: str) -> None:
    content = written("csv", [Column("a", "text")], [(text,)])
    assert read_csv(content) == [["a"], ["'" + text]]


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [("integer", -42, "-42"), ("decimal", Decimal("-0.50"), "-0.50"), ("float", -1e-7, "-1e-07")],
)
def test_the_guard_never_touches_numbers(kind: ValueType, value: object, expected: str) -> None:
    assert field(kind, value) == expected


def test_the_guard_can_be_switched_off() -> None:
    assert field("text", "=1+1", NO_GUARD) == "=1+1"


def test_a_header_label_is_guarded_too() -> None:
    assert written("csv", [Column("=cmd", "integer")]) == b"'=cmd\n"


@pytest.mark.parametrize(
    ("value", "expected"), [("=1+1", "'=1+1"), ("-5", "-5"), ("-1e400", "-1e400"), ("-5 ", "'-5 ")]
)
def test_text_in_a_number_column_is_guarded_unless_it_is_a_number(
    value: str, expected: str
) -> None:
    assert field("integer", value) == expected


def test_a_mark_comes_once_and_first_and_never_at_a_seam_of_pages() -> None:
    options = FileOptions(time_zone="Europe/Berlin", csv_bom=True)
    columns = [Column("id", "integer"), Column("ville", "text")]
    pages = [[(n, "Zürich €") for n in range(page, page + 1000)] for page in (0, 1000, 2000)]
    content = written("csv", columns, *pages, options=options)
    assert content.startswith(b"\xef\xbb\xbfid,ville\n0,Z\xc3\xbcrich \xe2\x82\xac\n")
    assert content.count(b"\xef\xbb\xbf") == 1
    assert len(read_csv(content)) == 3001


def test_without_the_mark_the_file_starts_with_the_first_label() -> None:
    assert written("csv", [Column("id", "integer")]) == b"id\n"


def test_a_quoted_first_label_stands_after_the_mark() -> None:
    options = FileOptions(time_zone="UTC", csv_bom=True)
    content = written("csv", [Column("a,b", "integer")], options=options)
    assert content == b'\xef\xbb\xbf"a,b"\n'


@pytest.mark.parametrize("text", ["a\rb", "a\r\nb", "a\nb", 'say "hi", ok', '"', "a,b"])
def test_text_with_line_ends_quotes_or_commas_stays_one_field(text: str) -> None:
    content = written("csv", [Column("a", "text"), Column("b", "text")], [(text, "x")])
    assert read_csv(content) == [["a", "b"], [text, "x"]]


def test_null_the_empty_string_and_the_word_null_are_three_things() -> None:
    columns = [Column("a", "text"), Column("b", "text")]
    content = written("csv", columns, [(None, ""), ("", None)], [("NULL", "None")])
    assert content == b'a,b\n,""\n"",\nNULL,None\n'
    assert read_csv(content)[1:] == [[None, ""], ["", None], ["NULL", "None"]]


def test_a_null_in_a_single_column_is_a_line_of_its_own_and_not_the_empty_string() -> None:
    content = written("csv", [Column("a", "text")], [(None,), ("",), ("x",)])
    assert content == b'a\n\n""\nx\n'
    assert read_csv(content) == [["a"], [None], [""], ["x"]]


def test_the_end_mark_of_postgresql_copy_is_quoted_where_it_would_end_the_data() -> None:
    assert written("csv", [Column("a", "text")], [("\\.",)]) == b'a\n"\\."\n'


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Decimal("0E-8"), "0.00000000"),
        (Decimal("1E+20"), "100000000000000000000"),
        (Decimal("12345678901234567890.0123456789"), "12345678901234567890.0123456789"),
        (Decimal("1.50"), "1.50"),
        (Decimal("1E-20"), "0.00000000000000000001"),
        (Decimal("NaN"), "NaN"),
        (Decimal("-Infinity"), "-Infinity"),
    ],
)
def test_a_decimal_keeps_its_scale_and_never_has_an_exponent(value: Decimal, expected: str) -> None:
    assert field("decimal", value) == expected


@pytest.mark.parametrize("value", [9007199254740993, 9223372036854775807, -(10**38), 0])
def test_an_integer_keeps_every_digit(value: int) -> None:
    assert int(field("integer", value)) == value


@pytest.mark.parametrize(
    ("value", "expected"),  # each as PostgreSQL's float8 prints it
    [
        (100000.0, "100000"),
        (0.0001, "0.0001"),
        (0.00001, "1e-05"),
        (1e-7, "1e-07"),
        (999999999999999.0, "999999999999999"),
        (1e15, "1e+15"),
        (1234567890123456.0, "1.234567890123456e+15"),
        (1e20, "1e+20"),
        (1e23, "9.999999999999999e+22"),  # 1e+23 lies exactly between two floats
        (3.092535278770144e18, "3.0925352787701443e+18"),
        (3.602879701896397e16, "3.602879701896397e+16"),
        (5e-324, "5e-324"),
        (1.7976931348623157e308, "1.7976931348623157e+308"),
        (0.1 + 0.2, "0.30000000000000004"),
        (-0.0, "-0"),
        (float("nan"), "NaN"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
    ],
)
def test_a_float_is_printed_as_postgresql_prints_it(value: float, expected: str) -> None:
    assert field("float", value) == expected


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_reads_back_as_itself(value: float) -> None:
    read = float(field("float", value))
    assert (read, math.copysign(1, read)) == (value, math.copysign(1, value))


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("json", '{"a":null,"ok":true}', '"{""a"":null,""ok"":true}"'),
        ("json", "-5", "-5"),
        ("text", '{x,"y,z",NULL}', '"{x,""y,z"",NULL}"'),
        ("bytes", b"\xde\xad\xbe\xef", "\\xdeadbeef"),
        ("bytes", memoryview(b"\xde\xad"), "\\xdead"),
        ("bytes", b"", "\\x"),
        (
            "uuid",
            UUID("A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11"),
            "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
        ),
        ("uuid", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
        ("boolean", True, "true"),
        ("boolean", False, "false"),
        ("date", date(25, 8, 14), "0025-08-14"),
        ("time", time(23, 59), "23:59:00"),
        ("time", time(0, 30, 0, 500_000), "00:30:00.5"),
        ("time", time(23, 59, tzinfo=UTC), "23:59:00+00:00"),
    ],
)
def test_every_type_has_one_text_and_never_a_python_repr(
    kind: ValueType, value: object, expected: str
) -> None:
    assert field(kind, value) == expected


def test_a_value_of_no_type_of_ours_is_a_fault_and_not_a_repr() -> None:
    with pytest.raises(TypeError, match="dict is none of our value types"):
        field("json", {"a": None})


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (
            datetime(2027, 7, 1, 0, 30, 0, 123456, tzinfo=timezone(timedelta(hours=2))),
            "2027-07-01T00:30:00.123456+02:00",
        ),
        (datetime(2027, 6, 30, 22, 30, tzinfo=UTC), "2027-07-01T00:30:00+02:00"),
        (datetime(2027, 1, 1, 0, 0, 0, 120_000, tzinfo=UTC), "2027-01-01T01:00:00.12+01:00"),
        # The hour that Berlin has twice: the offset tells which.
        (datetime(2027, 10, 31, 0, 30, tzinfo=UTC), "2027-10-31T02:30:00+02:00"),
        (datetime(2027, 10, 31, 1, 30, tzinfo=UTC), "2027-10-31T02:30:00+01:00"),
        # The end of the calendar, where Berlin has no such time.
        (datetime(9999, 12, 31, 23, 30, tzinfo=UTC), "9999-12-31T23:30:00+00:00"),
    ],
)
def test_an_instant_is_shown_in_the_zone_with_its_offset(value: datetime, expected: str) -> None:
    assert field("timestamptz", value) == expected


def test_a_wall_time_is_not_shifted() -> None:
    wall_time = datetime.combine(date(2027, 7, 1), time(0, 30))
    assert field("timestamp", wall_time) == "2027-07-01T00:30:00"


def test_equal_labels_are_all_written_each_with_its_own_value() -> None:
    columns = [Column("a", "integer"), Column("a", "integer"), Column("A", "integer")]
    assert written("csv", columns, [(1, 2, 3)]) == b"a,a,A\n1,2,3\n"


@pytest.mark.parametrize("bad", [f"a{chr(code)}b" for code in (0, 0xD800, 0xDCFC)])
def test_what_utf_8_cannot_hold_is_replaced_and_counted_on_any_page(bad: str) -> None:
    sink = Sink()
    with open_writer("csv", sink, [Column("a", "text")], BERLIN) as writer:
        writer.write_page(as_page([("x",)] * 1000))
        writer.write_page(as_page([("x",)] * 499 + [(bad,)] + [("x",)] * 500))
        writer.finish()
    rows = read_csv(sink.content)
    assert rows[1500] == ["a\N{REPLACEMENT CHARACTER}b"]
    assert (len(rows), writer.rows, writer.replaced_characters) == (2001, 2000, 1)


def test_an_empty_result_is_its_header() -> None:
    assert written("csv", [Column("a", "text"), Column("", "text")]) == b'a,""\n'
    assert written("csv", [Column("a", "text")], []) == b"a\n"


def test_quoting_follows_the_delimiter_and_numbers_keep_their_point() -> None:
    options = FileOptions(time_zone="UTC", csv_delimiter=";")
    columns = [Column("a", "text"), Column("b", "text"), Column("c", "decimal")]
    content = written("csv", columns, [("1,5", "a;b", Decimal("1.5"))], options=options)
    assert content == b'a;b;c\n1,5;"a;b";1.5\n'


@pytest.mark.parametrize("delimiter", ["", "\n", '"', "::", "-", "1"])
def test_a_delimiter_that_would_spoil_the_file_is_refused(delimiter: str) -> None:
    with pytest.raises(InvalidSettings, match="csv_delimiter"):
        FileOptions(time_zone="UTC", csv_delimiter=delimiter)


@pytest.mark.parametrize("zone", ["", "Europe", "Mars/Olympus", "../etc/passwd", "a\x00"])
def test_a_zone_that_there_is_not_is_refused(zone: str) -> None:
    with pytest.raises(UnknownTimeZone, match="IANA"):
        FileOptions(time_zone=zone)


def test_a_row_of_another_width_than_the_columns_is_a_fault() -> None:
    with pytest.raises(ValueError, match="zip"):
        written("csv", [Column("a", "text"), Column("b", "text")], [("x",)])


def test_each_page_reaches_the_sink_as_it_is_written() -> None:
    sink = Sink()
    with open_writer("csv", sink, [Column("a", "integer")], BERLIN) as writer:
        writer.write_page(as_page([("1",), ("2",)]))
        assert sink.content == b"a\n1\n2\n"


def test_choosing_csv_does_not_load_the_excel_library() -> None:
    script = (
        "import sys; import queries_orchestration.exports.file_writer as f;"
        "from queries_orchestration.model.columns import Column; import io;"
        "f.open_writer('csv', io.BytesIO(), [Column('a','text')], f.FileOptions(time_zone='UTC'));"
        "sys.exit('openpyxl' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


@given(st.lists(st.lists(st.none() | st.text(), min_size=2, max_size=2)))
def test_any_text_and_null_round_trips(rows: list[list[str | None]]) -> None:
    columns = [Column("a", "text"), Column("b", "text")]
    content = written("csv", columns, rows, options=NO_GUARD)
    expected = [[None if v is None else v.replace("\0", "\ufffd") for v in row] for row in rows]
    assert read_csv(content)[1:] == expected


@given(st.text(alphabet=string.printable, max_size=5))
def test_no_guarded_text_starts_as_a_formula(text: str) -> None:
    read = read_csv(written("csv", [Column("a", "text")], [(text,)]))[1][0]
    assert read is not None
    assert not read.startswith(("=", "+", "-", "@", "\t", "\r"))
    assert read in (text, "'" + text)


@given(typed_results())
def test_any_typed_row_reads_back_equal(
    result: tuple[list[Column], list[tuple[object, ...]]],
) -> None:
    columns, rows = result
    header, *lines = read_csv(written("csv", columns, rows, options=NO_GUARD))
    assert header == [column.label for column in columns]
    assert len(lines) == len(rows)
    for row, line in zip(rows, lines, strict=True):
        for column, value, text in zip(columns, row, line, strict=True):
            assert (value is None) == (text is None)
            if text is not None:
                assert meaning(column.type, text) == value
