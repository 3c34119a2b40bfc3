"""Workbooks are valid, and other programs read in them what the texts say."""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Sequence
from datetime import date, datetime, time, timedelta
from pathlib import Path

import openpyxl
import pytest
from hypothesis import given
from openxml_audit import (  # type: ignore[import-untyped]
    OpenXmlValidator,
    ValidationSeverity,
)
from python_calamine import load_workbook

from queries_orchestration.exports.xlsx_stream.stream import XlsxStream
from queries_orchestration.model.columns import Column, ValueType
from queries_orchestration_tests.exports.read_back import BERLIN, Sink, as_page, calamine_rows
from queries_orchestration_tests.exports.typed_rows import typed_results
from queries_orchestration_tests.exports.xlsx_stream.streamed import as_texts, streamed
from queries_orchestration_tests.exports.xlsx_stream.test_cell_text import UNREPRESENTABLE

CUT = "x" * 32_735 + "… [cut: 40000 characters in all]"
WALL = datetime.fromisoformat

READ: dict[ValueType, list[tuple[str | None, object]]] = {
    "text": [
        ("=1+1", "=1+1"),
        (" a\n_x0041_🛫 ", " a\n_x0041_🛫 "),
        (None, ""),
        ("x" * 40_000, CUT),
    ],
    "integer": [("42", 42), ("9007199254740993", "9007199254740993"), (None, ""), ("-1", -1)],
    "decimal": [
        ("1.50", 1.5),
        ("12345678901234567.89", "12345678901234567.89"),
        (None, ""),
        ("-0.00", 0),
    ],
    "float": [("0.30000000000000004", 0.1 + 0.2), ("NaN", "NaN"), (None, ""), ("1e+20", 1e20)],
    "boolean": [("true", True), ("false", False), (None, ""), ("unknown", "unknown")],
    "date": [
        ("2027-07-01", date(2027, 7, 1)),
        ("1899-12-31", "1899-12-31"),
        (None, ""),
        ("1900-03-01", date(1900, 3, 1)),
    ],
    "timestamp": [
        ("2027-07-01T12:00:00", WALL("2027-07-01T12:00:00")),
        ("infinity", "infinity"),
        (None, ""),
        ("9999-12-31T23:59:59", WALL("9999-12-31T23:59:59")),
    ],
    "timestamptz": [
        ("2027-07-01T00:30:00.5+02:00", WALL("2027-07-01T00:30:00.500")),
        ("1899-07-01T01:00:00+01:00", "1899-07-01T01:00:00+01:00"),
        (None, ""),
        ("2027-07-01T00:30:00+02:00", WALL("2027-07-01T00:30:00")),
    ],
    "time": [
        ("06:00:00", time(6)),
        ("23:59:00+00:00", "23:59:00+00:00"),
        (None, ""),
        ("23:59:59.5", time(23, 59, 59, 500_000)),
    ],
    "uuid": [("a0", "a0"), ("", ""), (None, ""), ("b0", "b0")],
    "json": [('{"a": "<&>"}', '{"a": "<&>"}'), ("null", "null"), (None, ""), ("1", "1")],
    "bytes": [("\\xdead", "\\xdead"), ("", ""), (None, ""), ("\\x00", "\\x00")],
}
COLUMNS = [Column(f"<{kind}>", kind) for kind in READ]
ROWS = [[text for text, _ in row] for row in zip(*READ.values(), strict=True)]
VALUES = [[value for _, value in row] for row in zip(*READ.values(), strict=True)]


def three_sheets() -> bytes:
    """A row on each sheet but the last, which has two."""
    sink = Sink()
    with XlsxStream(sink, COLUMNS, BERLIN, sheet_rows=3) as writer:
        writer.write_page(as_page(ROWS))
        writer.write_page(as_page(ROWS[:1]))
        writer.finish()
    return sink.content


def errors_of(path: Path) -> list[str]:
    found = OpenXmlValidator().validate(path).errors
    return [str(error) for error in found if error.severity is ValidationSeverity.ERROR]


@pytest.mark.parametrize("make", [three_sheets, lambda: streamed(COLUMNS)[0]])
def test_a_workbook_is_valid(make: Callable[[], bytes], tmp_path: Path) -> None:
    path = tmp_path / "file.xlsx"
    path.write_bytes(make())
    assert errors_of(path) == []


def test_calamine_reads_the_values() -> None:
    header, *rows = calamine_rows(streamed(COLUMNS, ROWS)[0])
    assert header == [f"<{kind}>" + " (Europe/Berlin)" * (kind == "timestamptz") for kind in READ]
    assert _agree(rows, VALUES)


def test_openpyxl_reads_the_values() -> None:
    assert _agree(openpyxl_rows(streamed(COLUMNS, ROWS)[0])[1:], VALUES)


def test_libreoffice_reads_the_values(
    libreoffice: Callable[[Path, str], Path], tmp_path: Path
) -> None:
    path = tmp_path / "file.xlsx"
    path.write_bytes(three_sheets())
    saved = libreoffice(path, "xlsx")
    assert load_workbook(saved).sheet_names == ["Result", "Result (2)", "Result (3)"]
    sheets = [calamine_rows(saved.read_bytes(), number)[1:] for number in (1, 2, 3)]
    assert _agree(sheets[0], VALUES[:2])
    assert _agree(sheets[1], VALUES[2:])
    assert _agree(sheets[2], VALUES[:1])


@given(typed_results())
def test_two_readers_read_what_any_text_says(
    result: tuple[list[Column], list[tuple[object, ...]]],
) -> None:
    columns, rows = result
    texts = as_texts(rows)
    content, _ = streamed(columns, texts)
    for found in (openpyxl_rows(content), calamine_rows(content)):
        for number, row in enumerate(texts, start=1):
            # A reader may end where the last cell is.
            cells = [*(found[number] if number < len(found) else []), *[""] * len(row)]
            for column, text, cell in zip(columns, row, cells, strict=False):
                assert _says(column.type, cell, text), (column.type, cell, text)


def openpyxl_rows(content: bytes) -> list[list[object]]:
    sheet = openpyxl.load_workbook(io.BytesIO(content)).worksheets[0]
    return [
        ["" if value is None else _shown(value) for value in row]
        for row in sheet.iter_rows(values_only=True)
    ]


def _shown(value: object) -> object:
    """What Excel shows: openpyxl leaves its escapes as they are."""
    return value.replace("_x005F_", "_") if isinstance(value, str) else value


def _agree(found: Sequence[Sequence[object]], expected: Sequence[Sequence[object]]) -> bool:
    return all(
        _same(*cells)
        for rows in zip(found, expected, strict=True)
        for cells in zip(*rows, strict=True)
    )


def _same(found: object, expected: object) -> bool:
    match expected:
        case bool() | str():
            return found is expected or (isinstance(found, str) and found == expected)
        case int() | float():  # LibreOffice saves 15 digits
            return isinstance(found, int | float) and math.isclose(found, expected, rel_tol=1e-14)
        case date() | time():
            return abs(_moment(found) - _moment(expected)) < timedelta(milliseconds=1)
    return False


def _says(kind: ValueType, found: object, text: str | None) -> bool:
    """Whether a cell is what the text says, or the text itself."""
    if text is None:
        return found == ""
    if isinstance(found, str):
        return found == re.sub(UNREPRESENTABLE, "�", re.sub("\r\n?", "\n", text))
    match kind:
        case "boolean":
            return found is (text == "true")
        case "integer" | "decimal" | "float":
            return isinstance(found, int | float) and found == float(text)
        case "date":
            return _same(found, date.fromisoformat(text))
        case "timestamp" | "timestamptz":
            return _same(found, datetime.fromisoformat(text).replace(tzinfo=None))
        case "time":
            return _same(found, time.fromisoformat(text))
    return False


def _moment(value: object) -> datetime:
    match value:
        case datetime():
            return value
        case date():
            return datetime.combine(value, time())
        case time():
            return datetime.combine(date(1899, 12, 30), value)
    raise AssertionError(f"{value!r} is no date")
