"""What a reader must be told about a section: everything that is left out, in words."""

from __future__ import annotations

from queries_orchestration.reports.content import Table
from queries_orchestration.reports.frames import CutChart


def of_reading(*, read: int, has_more: bool) -> list[str]:
    """Tell that the query has more rows than a section reads."""
    if not has_more:
        return []
    return [f"The query has more than {read:,} rows; this section is made of the first {read:,}."]


def of_table(table: Table, *, read: int, of_document: str | None) -> list[str]:
    """Tell that rows are not printed, and what the totals count.

    Args:
        read: rows that the section has.
        of_document: how many a document shows, if that was the reason.
    """
    shown = len(table.rows)
    if shown == read:
        return []
    because = f", since a document holds {of_document} at most" if of_document else ""
    totals = f" The totals count all {read:,}." if table.totals is not None else ""
    of_rows = f"The first {shown:,} of {read:,} rows are" if shown else f"No row of {read:,} is"
    return [f"{of_rows} shown{because}.{totals}"]


def of_chart(cut: CutChart) -> list[str]:
    """Tell that a chart shows the first values of x, or the first series, only."""
    chart, told = cut.chart, []
    if cut.x_values > len(chart.x_values):
        told.append(
            f"The chart shows the first {len(chart.x_values):,} of {cut.x_values:,} values of"
            f" {chart.x.label}."
        )
    if cut.series > len(chart.series):
        told.append(f"The chart shows the first {len(chart.series)} of {cut.series:,} series.")
    return told


def of_first_row(*, has_more: bool) -> list[str]:
    """Tell that a number is of the first row of several."""
    return ["The query has more than one row; this is of the first."] if has_more else []
