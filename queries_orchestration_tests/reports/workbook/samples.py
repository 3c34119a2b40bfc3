"""Reports as they come to the workbook: one of everything, and any one section."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import openpyxl
from openpyxl import Workbook
from openpyxl.worksheet.worksheet import Worksheet

from queries_orchestration.model.columns import Column, ValueType
from queries_orchestration.model.reports import ChartKind
from queries_orchestration.reports.content import (
    Chart,
    Comparison,
    Content,
    Head,
    Number,
    Row,
    Series,
    Shown,
    Table,
    Text,
)
from queries_orchestration.reports.workbook.document import WorkbookCounts, write_workbook
from queries_orchestration_tests.exports.read_back import Sink

MOMENT = datetime(2027, 3, 1, 8, tzinfo=UTC)
COUNT = Column("Flights", "integer")
NAME = Column("Name", "text")


def a_head(
    title: str = "Punctuality",
    *,
    reader: str = "Ada",
    time_zone: str = "Europe/Berlin",
    values: Sequence[tuple[str, object]] = (),
) -> Head:
    return Head(
        title=title,
        workspace="Flight operations",
        reader=reader,
        moment=MOMENT,
        read_at=MOMENT + timedelta(seconds=90),
        time_zone=time_zone,
        version=7,
        values=tuple(values),
        headings=(),
    )


def a_content(
    shown: Shown,
    *,
    title: str | None = "Section",
    number: int = 1,
    decimals: int | None = None,
    notices: Sequence[str] = (),
) -> Content:
    return Content(
        number=number, title=title, shown=shown, decimals=decimals, notices=tuple(notices)
    )


def a_table(
    columns: Sequence[tuple[str, ValueType]], rows: Sequence[Row], totals: Row | None = None
) -> Table:
    return Table(
        columns=tuple(Column(label, kind) for label, kind in columns), rows=rows, totals=totals
    )


def a_chart(
    x_values: Sequence[object],
    *series: tuple[str, Sequence[object]],
    kind: ChartKind = "line",
    x: Column = NAME,
    y: Column = COUNT,
) -> Chart:
    return Chart(
        kind=kind,
        x=x,
        x_values=tuple(x_values),
        series=tuple(
            Series(label=label, column=y, values=tuple(values)) for label, values in series
        ),
    )


def written_workbook(
    contents: Iterable[Content], head: Head | None = None
) -> tuple[bytes, WorkbookCounts]:
    """Return the workbook and what its cells could not hold."""
    sink = Sink()
    counts = write_workbook(head or a_head(), contents, sink)
    return sink.content, counts


def opened(content: bytes) -> Workbook:
    return openpyxl.load_workbook(io.BytesIO(content), rich_text=True)


def sheet_of(shown: Shown, **given: object) -> Worksheet:
    """Return the sheet of a report's only section, as it is read back."""
    content, _ = written_workbook([a_content(shown, **given)])  # type: ignore[arg-type]
    sheet = opened(content).worksheets[1]
    assert isinstance(sheet, Worksheet)
    return sheet


def values_of(sheet: Worksheet) -> list[list[object]]:
    """Return what stands in the cells, row by row."""
    return [list(row) for row in sheet.iter_rows(values_only=True)]


def charts_of(sheet: Any) -> list[Any]:
    """Return the native charts of a sheet."""
    return list(sheet._charts)


MARKDOWN = """\
# What this is

The flights of **New York** in *2013*, as [the bureau](https://example.test/data) counts them.
A line in the same paragraph.

1. First
2. Second
   - deeper `code`
   - and deeper

> Quoted.

| Airport | Runways |
| ------- | ------- |
| JFK     | 4       |

```
=1+1
  indented
```

---
<b>HTML</b> stays text; a line break\\
follows.
"""
EVERY_TYPE: tuple[tuple[str, ValueType], ...] = (
    ("Text", "text"),
    ("Integer", "integer"),
    ("Decimal", "decimal"),
    ("Float", "float"),
    ("Boolean", "boolean"),
    ("Date", "date"),
    ("Wall time", "timestamp"),
    ("Instant", "timestamptz"),
    ("Time", "time"),
    ("Identifier", "uuid"),
    ("JSON", "json"),
    ("Bytes", "bytes"),
)
EVERY_VALUE: tuple[Row, ...] = (
    (
        "Zürich",
        1_234_567,
        Decimal("1234.50"),
        0.1,
        True,
        date(2027, 1, 31),
        datetime.combine(date(2027, 1, 31), time(4, 5, 6)),
        datetime(2027, 7, 1, 12, 0, tzinfo=UTC),
        time(23, 59),
        UUID(int=42),
        '{"a": 1.50}',
        b"\xde\xad",
    ),
    (
        "=1+1",
        9_007_199_254_740_993,
        Decimal("12345678901234567.89"),
        float("nan"),
        False,
        date(1899, 12, 31),
        datetime.combine(date(1850, 1, 1), time(1)),
        datetime(1800, 1, 1, tzinfo=UTC),
        time(0, 0, 0, 1),
        UUID(int=2**128 - 1),
        "[]",
        b"",
    ),
    (None,) * 12,
)
_DAYS = [date(2027, 1, 1) + timedelta(days=day) for day in range(31)]
_MONTHS = ["January", "February", "March", "April"]


def everything() -> list[Content]:
    """One section of each kind, with what is hard about each."""
    shown: list[tuple[str | None, Shown]] = [
        (None, Text(markdown=MARKDOWN)),
        (
            "All types & 'quotes'",
            a_table(EVERY_TYPE, EVERY_VALUE, [None, 7, Decimal("2.25"), *[None] * 9]),
        ),
        (
            "Delays a day",
            a_chart(
                _DAYS,
                ("Arrivals", [None if n == 9 else 1200 + 40 * (n % 7) for n in range(31)]),
                ("Departures", [None if 14 < n < 18 else 1100 + 30 * (n % 5) for n in range(31)]),
                x=Column("Day", "date"),
            ),
        ),
        (
            "Flights a month",
            a_chart(_MONTHS, ("Flights", [27004, 24951, 28834, 28330]), kind="bar"),
        ),
        (
            "Flights a carrier",
            a_chart(
                _MONTHS,
                ("United", [4637, 4346, 4971, 5047]),
                ("=JetBlue", [4427, 4103, 4772, None]),
                ("Delta", [3690, 3444, 4189, 4092]),
                kind="stacked",
            ),
        ),
        (
            "Mean delay",
            a_chart(
                [2011, 2012, 2013],
                ("Mean delay", [Decimal(37) / 3, Decimal(-5) / 7, Decimal("4.5")]),
                kind="bar",
                x=Column("Year", "integer"),
                y=Column("Minutes", "decimal"),
            ),
        ),
        ("How many", Number(column=COUNT, value=336_776, is_empty=False)),
        (
            "Against the month before",
            Comparison(
                column=Column("Revenue", "decimal"),
                value=Decimal("10250.50"),
                previous=Decimal("10000.00"),
                change=Decimal("250.50"),
                percent=2.505,
            ),
        ),
        ("Nothing in a table", a_table([("A", "text"), ("B", "integer")], [], [None, None])),
        ("Nothing in a chart", a_chart([])),
        ("No number", Number(column=COUNT, value=None, is_empty=True)),
        ("delays A DAY", Text(markdown="The same name in other letters.")),
    ]
    return [
        a_content(
            piece,
            title=title,
            number=number,
            notices=["The query has more than 2,000 rows."] if number == 2 else [],
        )
        for number, (title, piece) in enumerate(shown, start=1)
    ]
