"""Tables, numbers, comparisons and texts as sheets."""

from __future__ import annotations

import math
import re
import zipfile
from collections.abc import Sequence
from decimal import Decimal
from io import BytesIO

import pytest
from hypothesis import given, settings

from queries_orchestration.model.columns import Column, ValueType
from queries_orchestration.reports.content import Comparison, Number, Row, Text
from queries_orchestration.reports.workbook.document import WorkbookCounts
from queries_orchestration.reports.workbook.number_looks import as_number
from queries_orchestration_tests.exports.read_back import calamine_rows, written
from queries_orchestration_tests.exports.typed_rows import typed_results
from queries_orchestration_tests.reports.workbook.samples import (
    COUNT,
    EVERY_TYPE,
    EVERY_VALUE,
    MARKDOWN,
    a_chart,
    a_content,
    a_head,
    a_table,
    opened,
    sheet_of,
    values_of,
    written_workbook,
)

FORMULA = re.compile(rb"<f[ />]")
REVENUE = Column("Revenue", "decimal")


def formats(kind: ValueType, values: Sequence[object], decimals: int | None = None) -> list[str]:
    """The number formats of a column's cells."""
    sheet = sheet_of(a_table([("A", kind)], [(value,) for value in values]), decimals=decimals)
    return [cell.number_format for (cell,) in sheet.iter_rows(min_row=4)]


@settings(max_examples=25)
@given(typed_results())
def test_a_table_has_the_cells_that_an_export_of_the_same_rows_has(
    result: tuple[list[Column], list[tuple[object, ...]]],
) -> None:
    columns, rows = result
    table = a_table([(column.label, column.type) for column in columns], rows)
    content, _ = written_workbook([a_content(table)])
    in_report = calamine_rows(content, 2)[2 : 3 + len(rows)]
    if not rows:
        in_report = in_report[:1]
    exported = calamine_rows(written("xlsx", columns, [list(map(as_number, row)) for row in rows]))
    assert repr([row[: len(columns)] for row in in_report]) == repr(exported)


def test_values_of_every_type_are_read_back_exactly() -> None:
    sheet = sheet_of(a_table(EVERY_TYPE, EVERY_VALUE))
    _, _, header, first, second = values_of(sheet)  # NULL makes no cell
    labels = [label for label, _ in EVERY_TYPE]
    labels[7] = "Instant (Europe/Berlin)"
    assert header == labels
    assert [str(value) for value in first] == [
        "Zürich",
        "1234567",
        "1234.5",
        "0.1",
        "True",
        "2027-01-31 00:00:00",
        "2027-01-31 04:05:06",
        "2027-07-01 14:00:00",
        "23:59:00",
        "00000000-0000-0000-0000-00000000002a",
        '{"a": 1.50}',
        "\\xdead",
    ]
    assert [str(value) for value in second[:9]] == [
        "=1+1",
        "9007199254740993",
        "12345678901234567.89",
        "NaN",
        "False",
        "1899-12-31",
        "1850-01-01T01:00:00",
        "1800-01-01T00:53:28+00:53:28",
        "00:00:00",
    ]
    kinds = [cell.data_type for cell in sheet[5]]
    assert kinds == ["s", "s", "s", "s", "b", "s", "s", "s", "d", "s", "s", "s"]


def test_a_tables_header_is_bold_frozen_filtered_and_printed_on_every_page() -> None:
    table = a_table([("A", "text"), ("B", "integer")], [("x", 1), ("y", 2)], [None, 3])
    sheet = sheet_of(table, notices=["One.", "Two."])
    assert [cell.value for cell in sheet[5]] == ["A", "B"]
    assert all(cell.font.b for cell in sheet[5])
    assert sheet.freeze_panes == "A6"
    assert sheet.auto_filter.ref == "A5:B7"
    assert sheet.print_title_rows == "$5:$5"


def test_totals_are_bold_exact_values_and_no_formulas() -> None:
    rows: list[Row] = [("x", 1, Decimal("0.10")), ("y", 2, None)]
    columns: list[tuple[str, ValueType]] = [("A", "text"), ("B", "integer"), ("C", "decimal")]
    content, _ = written_workbook(
        [a_content(a_table(columns, rows, [None, 3, Decimal("12345678901234567.10")]))]
    )
    sheet = opened(content).worksheets[1]
    assert [cell.value for cell in sheet[6]] == ["Total", 3, "12345678901234567.10"]
    assert all(cell.font.b for cell in sheet[6])
    with zipfile.ZipFile(BytesIO(content)) as archive:
        assert not FORMULA.search(archive.read("xl/worksheets/sheet2.xml"))


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("12.3456789012345678", 12.3456789012346),
        ("-0.66666666666666666667", -0.666666666666667),
        ("999999999999999.95", "999999999999999.95"),
        ("123456789012345.25", 123_456_789_012_345),
        ("1234567890123456.5", "1234567890123456.5"),
        ("NaN", "NaN"),
    ],
)
def test_an_average_of_many_digits_is_a_number_of_those_that_excel_keeps(
    value: str, shown: object
) -> None:
    sheet = sheet_of(a_table([("Mean", "decimal")], [(Decimal(value),)]))
    assert values_of(sheet)[-1] == [shown]

    number = Number(column=Column("Mean", "decimal"), value=Decimal(value), is_empty=False)
    assert values_of(sheet_of(number))[-1][1] == shown


def test_a_total_of_the_first_column_has_no_label() -> None:
    sheet = sheet_of(a_table([("A", "integer"), ("B", "text")], [(1, "x")], [1, None]))
    assert values_of(sheet)[-1] == [1, None]


def test_an_empty_table_says_so_under_its_header() -> None:
    sheet = sheet_of(a_table([("A", "text"), ("B", "integer")], [], [None, None]))
    assert values_of(sheet)[2:] == [["A", "B"], ["No rows", None]]
    assert not sheet.auto_filter.ref


@pytest.mark.parametrize(
    ("kind", "values", "decimals", "expected"),
    [
        ("integer", [1, 1_000_000], None, "#,##0"),
        ("integer", [1], 3, "#,##0"),
        ("decimal", [Decimal("1.5"), Decimal(2)], None, "#,##0.0"),
        ("decimal", [Decimal("1.00")], None, "#,##0.00"),
        ("decimal", [Decimal("1.23456")], None, "#,##0.00"),
        ("decimal", [Decimal("1.23456")], 4, "#,##0.0000"),
        ("decimal", [Decimal("1.5")], 4, "#,##0.0"),
        ("decimal", [Decimal("1.5")], 0, "#,##0"),
        ("float", [1.0, 2.0], None, "#,##0"),
        ("float", [0.1 + 0.2], None, "#,##0.0"),
        ("float", [2 / 3], None, "#,##0.00"),
        ("float", [1e15, 1e300], None, "General"),
        ("float", [1e-9], None, "General"),
        ("float", [1e-9], 1, "#,##0"),
        ("float", [1e-9, 0.5], 1, "#,##0.0"),
        ("float", [-0.004], None, "General"),
    ],
)
def test_numbers_of_a_column_are_shown_with_the_same_decimals(
    kind: ValueType, values: Sequence[object], decimals: int | None, expected: str
) -> None:
    assert formats(kind, values, decimals) == [expected] * len(values)


def test_rounding_is_only_shown() -> None:
    sheet = sheet_of(a_table([("A", "float")], [(2 / 3,)]), decimals=1)
    assert sheet["A4"].value == 2 / 3


def test_a_number_that_is_text_stands_at_the_right_like_the_others() -> None:
    sheet = sheet_of(a_table([("A", "integer")], [(10**15,), (1,)]))
    assert (sheet["A4"].value, sheet["A4"].alignment.horizontal) == (str(10**15), "right")


def test_columns_are_as_wide_as_what_they_show() -> None:
    columns: list[tuple[str, ValueType]] = [("A", "integer"), ("B", "text"), ("C", "decimal")]
    rows: list[Row] = [(1_234_567, "y" * 100, Decimal(1) / 3)]
    sheet = sheet_of(a_table(columns, rows, [10**14, None, None]))
    widths = [sheet.column_dimensions[letter].width for letter in "ABC"]
    assert widths == [len("100,000,000,000,000") + 2, 60, 8]


@pytest.mark.parametrize(
    ("column", "value", "shown", "number_format"),
    [
        (COUNT, 336_776, 336_776, "#,##0"),
        (COUNT, 10**15, "1000000000000000", "General"),
        (COUNT, None, "–", "General"),  # noqa: RUF001
        (REVENUE, Decimal("0.125"), 0.125, "#,##0.00"),
        (Column("N", "float"), math.inf, "Infinity", "General"),
        (Column("N", "text"), "=1+1", "=1+1", "General"),
    ],
)
def test_a_number_is_big_beside_its_label(
    column: Column, value: object, shown: object, number_format: str
) -> None:
    sheet = sheet_of(Number(column=column, value=value, is_empty=False))
    label, cell = sheet[3]
    assert (label.value, cell.value) == (column.label, shown)
    assert cell.number_format == number_format
    assert (cell.font.b, cell.font.sz) == (True, 20)
    assert sheet.row_dimensions[3].height == 28


def test_a_number_of_no_row_says_so() -> None:
    sheet = sheet_of(Number(column=COUNT, value=None, is_empty=True))
    assert values_of(sheet) == [["Section"], [None], ["No rows"]]


def test_a_comparison_shows_both_values_and_the_change_with_its_sign() -> None:
    sheet = sheet_of(
        Comparison(
            column=REVENUE,
            value=Decimal("90.50"),
            previous=Decimal(100),
            change=Decimal("-9.50"),
            percent=-9.5,
        )
    )
    assert values_of(sheet)[2:] == [
        ["Revenue", 90.5],
        ["Previous period", 100],
        ["Change", -9.5],
        ["Change in percent", -9.5],
    ]
    assert [row[1].number_format for row in sheet.iter_rows(min_row=3)] == [
        "#,##0.00",
        "#,##0.00",
        "+#,##0.00;-#,##0.00;#,##0.00",
        "+#,##0.0;-#,##0.0;#,##0.0",
    ]


def test_a_comparison_with_nothing_says_so() -> None:
    sheet = sheet_of(
        Comparison(column=REVENUE, value=Decimal(1), previous=None, change=None, percent=None)
    )
    assert [row[1] for row in values_of(sheet)[2:]] == [1, "–", "–", "–"]  # noqa: RUF001


def test_a_text_is_lines_in_a_wide_column() -> None:
    sheet = sheet_of(Text(markdown=MARKDOWN), title=None)
    lines = [row[0] for row in values_of(sheet)]
    assert lines[0] == "What this is"
    assert sheet["A1"].font.b
    assert not sheet["A3"].font.b
    assert {"2. Second", "    • deeper code", "=1+1", "follows."} <= {*lines}
    assert sheet.column_dimensions["A"].width == 60
    assert sheet["A3"].alignment.wrap_text
    height = sheet.row_dimensions[3].height
    assert height is not None
    assert height > 30


@pytest.mark.parametrize("text", ["word " * 4_000, "x" * 20_000, "語" * 20_000])
def test_a_long_paragraph_stands_in_rows_that_are_not_higher_than_excel_can(text: str) -> None:
    sheet = sheet_of(Text(markdown=text), title=None)
    lines = [str(row[0]) for row in values_of(sheet)]
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    heights = [sheet.row_dimensions[row].height or 15 for row in range(1, sheet.max_row + 1)]
    assert max(heights) < 409


NASTY = ["=1+1", "Rio\x0bGrande", "_x0041_", "#N/A", "  a  ", f"a{chr(0xD800)}", "+1", "-1", "@x"]
SEEN = [
    "=1+1",
    "Rio\ufffdGrande",
    "_x0041_",
    "#N/A",
    "  a  ",
    "a\ufffd",
    "+1",
    "-1",
    "@x",
]


@pytest.mark.parametrize(("text", "seen"), [*zip(NASTY, SEEN, strict=True)])
def test_text_is_text_wherever_it_stands(text: str, seen: str) -> None:
    contents = [
        a_content(a_table([(text, "text"), (text, "text")], [(text, text)]), title=text),
        a_content(Number(column=Column(text, "text"), value=text, is_empty=False), title=text),
        a_content(a_chart([text], (text, [1]), x=Column(text, "text")), title=text),
        a_content(Text(markdown="x"), notices=[text]),
    ]
    head = a_head(title=text, reader=text, values=[(text, text)])
    content, counts = written_workbook(contents, head)
    overview, table, number, chart, notice = [
        calamine_rows(content, sheet) for sheet in range(1, 6)
    ]
    assert overview[0][0] == seen
    assert overview[5][1] == f"as {seen} may see it"
    assert overview[7][:2] == [seen, seen]
    assert [row[1] for row in overview[10:13]] == [seen] * 3
    assert [table[0][0], *table[2], *table[3]] == [seen] * 5
    assert [number[0][0], *number[2]] == [seen] * 3
    assert [chart[0][0], *chart[-2], chart[-1][0]] == [seen] * 4
    assert notice[1][0] == seen
    assert counts.replaced_characters == (21 if "\ufffd" in seen else 0)
    with zipfile.ZipFile(BytesIO(content)) as archive:
        for name in archive.namelist():
            if name.startswith("xl/worksheets/sheet"):
                assert not FORMULA.search(archive.read(name))


def test_text_that_is_too_long_is_cut_with_a_note_and_counted() -> None:
    table = a_table([("A", "text")], [("x" * 40_000,), ("y" * 32_767,)])
    content, counts = written_workbook([a_content(table)])
    rows = calamine_rows(content, 2)
    assert str(rows[3][0]).endswith("… [cut: 40000 characters in all]")
    assert rows[4][0] == "y" * 32_767
    assert counts == WorkbookCounts(replaced_characters=0, cut_cells=1)


def test_characters_that_a_cell_cannot_hold_are_counted_once_each() -> None:
    content, counts = written_workbook(
        [a_content(a_table([("A\x0b", "text")], [("x\x1fy\x00",), ("left\tright\nbelow",)]))]
    )
    assert calamine_rows(content, 2)[2:] == [
        ["A\ufffd"],
        ["x\ufffdy\ufffd"],
        ["left\tright\nbelow"],
    ]
    assert counts == WorkbookCounts(replaced_characters=3, cut_cells=0)
