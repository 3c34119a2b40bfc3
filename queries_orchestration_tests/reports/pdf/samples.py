"""Contents of reports of every kind, ordinary and odd, for tests of what prints them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from queries_orchestration.model.columns import Column, ValueType
from queries_orchestration.model.reports import ChartKind
from queries_orchestration.reports.content import (
    Chart,
    Comparison,
    Content,
    Head,
    Number,
    Series,
    Shown,
    Table,
    Text,
)

BERLIN = "Europe/Berlin"

SALES = Column("Sales", "decimal")
ORDERS = Column("Orders", "integer")
REGION = Column("Region", "text")
DAY = Column("Day", "date")

WELCOME = """\
Sales rose in **most regions**; the *south* needs a look. See the
[price list](https://example.com/prices).

- Prices changed on 1 March.
- Returns are counted in the month of the order.
  1. also those of gift cards
  2. but no vouchers

> What is not measured is not managed.

| Term | Meaning |
|:-----|--------:|
| Net  | without tax |

Code: `select 1`
"""

UNKIND = (
    "<img src=file:///etc/passwd>",
    '<link rel="attachment" href="file:///etc/passwd">',
    "<style>@import 'http://localhost:9/x.css'; body { display: none }</style>",
    '<p style="background:url(http://localhost:9/x.png)">styled</p>',
    '<svg><image href="file:///etc/passwd"/><script>alert(1)</script></svg>',
    "{{ 7 * 7 }}{% include 'x' %}",
    "--> ]]> </svg></style></title></table><script>alert(1)</script>",
    "![](file:///etc/passwd) [x](javascript:alert(1)) [y](file:///etc/passwd)",
)
"""Texts that would do harm, were they anything else than text."""


def head(
    contents: Sequence[Content] = (),
    *,
    title: str = "Sales of the week",
    workspace: str = "Northwind Trading",
    reader: str = "Ada Lovelace",
    values: tuple[tuple[str, object], ...] = (("Region", "north"), ("From", date(2026, 12, 28))),
) -> Head:
    """Return the head of a report with these contents."""
    return Head(
        title=title,
        workspace=workspace,
        reader=reader,
        moment=datetime(2027, 1, 4, 7, 0, tzinfo=UTC),
        read_at=datetime(2027, 1, 4, 7, 0, 5, tzinfo=UTC),
        time_zone=BERLIN,
        version=3,
        values=values,
        headings=tuple((each.number, each.title) for each in contents if each.title is not None),
    )


def content(
    shown: Shown,
    title: str | None = "A section",
    *,
    number: int = 1,
    decimals: int | None = None,
    notices: tuple[str, ...] = (),
) -> Content:
    return Content(number=number, title=title, shown=shown, decimals=decimals, notices=notices)


def numbered(*contents: Content) -> list[Content]:
    """Return contents with the numbers of their places."""
    return [
        Content(
            number=number,
            title=each.title,
            shown=each.shown,
            decimals=each.decimals,
            notices=each.notices,
        )
        for number, each in enumerate(contents, 1)
    ]


def sales_table(rows: int, *, with_totals: bool = True) -> Table:
    """Return a table of eight columns of several types, with NULL in places."""
    types: dict[str, ValueType] = {
        "Customer": "text",
        "City": "text",
        "Ordered": "date",
        "Shipped": "timestamptz",
        "Orders": "integer",
        "Sales": "decimal",
        "Margin": "float",
        "Paid": "boolean",
    }
    lines = [
        (
            f"Customer {n:,} & Sons",
            ("Hamburg", "Lyon", "Aix-en-Provence", None)[n % 4],
            date(2026, 12, 28) + timedelta(days=n % 7),
            datetime(2027, 1, 1, 23, 30, tzinfo=UTC) + timedelta(hours=n),
            n * 37 % 1000,
            Decimal(n * 123_457 % 10_000_000) / 100 - 1000,
            (n * 7919 % 1000) / 7 if n % 5 else None,
            n % 3 == 0,
        )
        for n in range(rows)
    ]
    totals = (
        None,
        None,
        None,
        None,
        sum(line[4] for line in lines),
        Decimal("1234567.5"),
        None,
        None,
    )
    return Table(
        columns=tuple(Column(label, kind) for label, kind in types.items()),
        rows=lines,
        totals=totals if with_totals else None,
    )


def wide_table(columns: int, rows: int = 12) -> Table:
    """Return a table of a name and as many numbers as are wanted."""
    return Table(
        columns=(REGION, *(Column(f"Sales in week {n}", "decimal") for n in range(1, columns))),
        rows=[
            (
                f"Region {row}",
                *(Decimal(row * column * 98_765) / 100 for column in range(1, columns)),
            )
            for row in range(1, rows + 1)
        ],
        totals=None,
    )


def days_chart(kind: ChartKind = "line", days: int = 60, series: int = 2) -> Chart:
    """Return a chart over days, with a gap in each series."""
    return Chart(
        kind=kind,
        x=DAY,
        x_values=tuple(date(2026, 11, 1) + timedelta(days=n) for n in range(days)),
        series=tuple(
            Series(
                label=f"Region {which}",
                column=SALES,
                values=tuple(
                    None if n % 25 == 20 + which % 3 else Decimal(1000 * which + n * n * 3 % 997)
                    for n in range(days)
                ),
            )
            for which in range(1, series + 1)
        ),
    )


def names_chart(
    kind: ChartKind = "bar",
    names: Sequence[object] = ("North", "South", "East", "West"),
    series: int = 1,
) -> Chart:
    """Return a chart over names, with negative numbers in every series but the first."""
    return Chart(
        kind=kind,
        x=REGION,
        x_values=tuple(names),
        series=tuple(
            Series(
                label=f"Year {2020 + which}",
                column=ORDERS,
                values=tuple(
                    (n * 7919 + which * 104_729) % 5000 - 1500 * which for n in range(len(names))
                ),
            )
            for which in range(series)
        ),
    )


def number(value: object, *, is_empty: bool = False) -> Number:
    return Number(column=SALES, value=value, is_empty=is_empty)


def comparison(
    value: object, previous: object, change: object, percent: float | None
) -> Comparison:
    return Comparison(column=ORDERS, value=value, previous=previous, change=change, percent=percent)


def weekly_report() -> list[Content]:
    """Return an ordinary report with every kind of section."""
    return numbered(
        content(Text(markdown=WELCOME), title=None),
        content(number(Decimal("1234567.891")), title="Sales"),
        content(comparison(4321, 4000, 321, 8.025), title="Orders"),
        content(comparison(75, 100, -25, -25.0), title="Returns"),
        content(days_chart(), title="Sales a day"),
        content(names_chart(series=3), title="Orders by region"),
        content(names_chart("stacked", series=3), title="Orders by region, stacked"),
        content(
            sales_table(60),
            title="Customers",
            notices=("The first 60 of 4,213 rows are shown. The totals count all 4,213.",),
        ),
        content(sales_table(0, with_totals=False), title="Customers without an address"),
        content(names_chart(names=()), title="Complaints by region"),
        content(Text(markdown="## Method\n\nAll sums are net."), title="How this was counted"),
    )


def large_report() -> Iterator[Content]:
    """Yield ten sections: six tables, together of 2,000 rows, and four charts."""
    for which in range(6):
        yield content(sales_table(334 if which < 5 else 330), f"Table {which}", number=which + 1)
    yield content(days_chart(days=300, series=5), "Days", number=7)
    yield content(names_chart(names=[f"Name {n}" for n in range(40)], series=2), "Names", number=8)
    yield content(names_chart("stacked", series=4), "Stacked", number=9)
    yield content(days_chart("bar", days=31), "Bars", number=10)
