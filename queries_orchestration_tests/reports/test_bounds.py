"""How much a report reads and shows at most, and what it says of the rest."""

from __future__ import annotations

from decimal import Decimal

import pytest

from queries_orchestration.reports.content import Chart, Table
from queries_orchestration.reports.read import Bounds
from queries_orchestration_tests.model.definitions import SQLITE
from queries_orchestration_tests.reports.opened import (
    open_sections,
    read,
    shown,
    table,
)

NUMBER = shown("number", "count", "Number", value="orders")


@SQLITE
@pytest.mark.parametrize("bound", [3, 1_000, 2_000])
@pytest.mark.parametrize("more", [-1, 0, 1])
def test_a_section_reads_so_many_rows_at_most_and_says_if_there_are_more(
    orders: str, bound: int, more: int
) -> None:
    opened = open_sections(
        orders,
        table(until=bound + more, totals=["id"]),
        shown("line", "orders", "Chart", x="id", y="amount", until=bound + more),
    )

    of_table, of_chart = read(
        opened,
        bounds=Bounds(
            section_reads=bound, table_shows=20_000, document_shows=20_000, document_cells=1_000_000
        ),
    )

    rows = min(bound, bound + more)
    cut = [f"The query has more than {rows:,} rows; this section is made of the first {rows:,}."]
    assert isinstance(of_table.shown, Table)
    assert [row[0] for row in of_table.shown.rows] == list(range(1, rows + 1))
    assert of_table.shown.totals is not None
    assert of_table.shown.totals[0] == rows * (rows + 1) // 2
    assert list(of_table.notices) == (cut if more > 0 else [])
    assert isinstance(of_chart.shown, Chart)
    of_x = [f"The chart shows the first 1,000 of {rows:,} values of id."] if rows > 1_000 else []
    assert list(of_chart.notices) == (cut if more > 0 else []) + of_x


@SQLITE
@pytest.mark.parametrize(
    ("rows", "totals", "printed", "notices"),
    [
        (499, ["amount"], 499, []),
        (500, ["amount"], 500, []),
        (501, [], 500, ["The first 500 of 501 rows are shown."]),
        (
            501,
            ["amount"],
            500,
            ["The first 500 of 501 rows are shown. The totals count all 501."],
        ),
        (
            2_001,
            ["amount"],
            500,
            [
                "The query has more than 2,000 rows; this section is made of the first 2,000.",
                "The first 500 of 2,000 rows are shown. The totals count all 2,000.",
            ],
        ),
    ],
)
def test_a_table_shows_so_many_rows_at_most_and_totals_count_all(
    orders: str, rows: int, totals: list[str], printed: int, notices: list[str]
) -> None:
    opened = open_sections(
        orders, table(until=rows, totals=totals) if totals else table(until=rows)
    )

    (content,) = read(
        opened,
        bounds=Bounds(
            section_reads=2_000, table_shows=500, document_shows=3_000, document_cells=1_000_000
        ),
    )

    counted = min(rows, 2_000)
    assert isinstance(content.shown, Table)
    assert len(content.shown.rows) == printed
    if totals:
        exact = Decimal(counted * (counted + 1) // 2) + Decimal("0.25") * counted
        assert content.shown.totals == (None, None, exact)
    assert list(content.notices) == notices


@SQLITE
@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (
            9,
            [
                (4, "The first 4 of 5 rows are shown."),
                (3, None),
                (2, "The first 2 of 3 rows are shown, since a document holds 9 at most."),
                (0, "No row of 2 is shown, since a document holds 9 at most."),
                (0, None),
            ],
        ),
        (
            7,
            [
                (4, "The first 4 of 5 rows are shown."),
                (3, None),
                (0, "No row of 3 is shown, since a document holds 7 at most."),
                (0, "No row of 2 is shown, since a document holds 7 at most."),
                (0, None),
            ],
        ),
        (
            11,
            [
                (4, "The first 4 of 5 rows are shown."),
                (3, None),
                (3, None),
                (1, "The first 1 of 2 rows are shown, since a document holds 11 at most."),
                (0, None),
            ],
        ),
        (
            12,
            [
                (4, "The first 4 of 5 rows are shown."),
                (3, None),
                (3, None),
                (2, None),
                (0, None),
            ],
        ),
        # One table may not show more than four either.
        (
            4,
            [
                (4, "The first 4 of 5 rows are shown."),
                (0, "No row of 3 is shown, since a document holds 4 at most."),
                (0, "No row of 3 is shown, since a document holds 4 at most."),
                (0, "No row of 2 is shown, since a document holds 4 at most."),
                (0, None),
            ],
        ),
        (
            3,
            [
                (3, "The first 3 of 5 rows are shown, since a document holds 3 at most."),
                (0, "No row of 3 is shown, since a document holds 3 at most."),
                (0, "No row of 3 is shown, since a document holds 3 at most."),
                (0, "No row of 2 is shown, since a document holds 3 at most."),
                (0, None),
            ],
        ),
    ],
)
def test_all_tables_together_show_so_many_rows_at_most(
    orders: str, document: int, expected: list[tuple[int, str | None]]
) -> None:
    opened = open_sections(
        orders,
        table(title="Five", until=5),
        table(title="Three", until=3),
        shown("bar", "orders", "Not a table", x="id", y="amount"),
        table(title="Three again", until=3),
        table(title="Two", until=2),
        table(title="None", since=9_999),
    )

    contents = read(
        opened,
        bounds=Bounds(
            section_reads=100, table_shows=4, document_shows=document, document_cells=1_000_000
        ),
    )

    found = [
        (len(one.shown.rows), one.notices[0] if one.notices else None)
        for one in contents
        if isinstance(one.shown, Table)
    ]
    assert found == expected


@SQLITE
def test_wide_tables_fill_a_document_by_their_cells(orders: str) -> None:
    opened = open_sections(
        orders, table(title="First", until=5), table(title="Second", until=4), table(title="Third")
    )
    bounds = Bounds(section_reads=9, table_shows=9, document_shows=99, document_cells=20)

    first, second, third = read(opened, bounds=bounds)

    assert [len(one.shown.rows) for one in (first, second, third)] == [5, 1, 0]  # type: ignore[union-attr]
    assert first.notices == ()
    assert second.notices == (
        "The first 1 of 4 rows are shown, since a document holds 20 cells at most.",
    )
    assert third.notices[-1].startswith("No row of 9 is shown, since a document holds 20 cells")


@SQLITE
def test_a_document_that_is_full_still_counts_the_totals(orders: str) -> None:
    opened = open_sections(
        orders, table(title="First", until=5), table(title="Second", until=3, totals=["id"])
    )

    _, second = read(
        opened,
        bounds=Bounds(section_reads=9, table_shows=9, document_shows=5, document_cells=1_000_000),
    )

    assert isinstance(second.shown, Table)
    assert second.shown.totals == (6, None, None)
    assert second.notices == (
        "No row of 3 is shown, since a document holds 5 at most. The totals count all 3.",
    )


@SQLITE
def test_a_chart_that_is_cut_says_what_of_it_is_shown(orders: str) -> None:
    opened = open_sections(
        orders,
        shown("bar", "orders", "Many bars", x="id", y="amount", until=61),
        shown("stacked", "orders", "Enough bars", x="id", y="amount", until=60),
        shown("line", "orders", "Many points", x="id", y="amount", until=1_001),
        shown("line", "orders", "Many series", x="region", y="amount", by="id", until=13),
        shown("bar", "orders", "Both", x="amount", y="id", by="region", until=61),
    )

    bars, enough, points, series, both = (one.notices for one in read(opened))

    assert bars == ("The chart shows the first 60 of 61 values of id.",)
    assert enough == ()
    assert points == ("The chart shows the first 1,000 of 1,001 values of id.",)
    assert series == ("The chart shows the first 12 of 13 series.",)
    assert both == ("The chart shows the first 60 of 61 values of amount.",)
