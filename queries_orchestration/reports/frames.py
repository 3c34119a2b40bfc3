"""Tables, totals and series out of the rows that a section has read, by pandas.

Frames hold the values as they are (``dtype=object``): no number loses a digit, no NULL becomes a
NaN, no instant its zone.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from decimal import Context, localcontext
from typing import TYPE_CHECKING, Any, Final

from queries_orchestration.exports.text_form import TextForm
from queries_orchestration.model.columns import Column
from queries_orchestration.model.reports import ChartView, TableView
from queries_orchestration.reports.content import Chart, Row, Series, Table

if TYPE_CHECKING:
    import pandas as pd

MOST_POINTS: Final = {"line": 1_000, "bar": 60, "stacked": 60}
"""Values of x that a chart can show and still be read."""

MOST_SERIES: Final = 12
EXACT_DIGITS: Final = 2_000
"""What no sum of a database's decimals goes beyond, so that totals are exact."""


@dataclass(frozen=True, slots=True)
class CutChart:
    """A chart, and what of it is left out: how many values of x and how many series there were."""

    chart: Chart
    x_values: int
    series: int


def table_of(
    columns: Sequence[Column], rows: Sequence[Row], view: TableView, *, printed: int
) -> Table:
    """Return the table of a section; the totals are of all ``rows``, of which some are printed."""
    frame = _frame(rows, len(columns))
    totals: list[object] = [None] * len(view.columns)
    for position in view.totals:
        totals[view.columns.index(position)] = total_of(frame[position])
    return Table(
        columns=tuple(columns[position] for position in view.columns),
        rows=frame.loc[:, list(view.columns)].head(printed).to_numpy().tolist(),
        totals=tuple(totals) if view.totals else None,
    )


def chart_of(
    columns: Sequence[Column], rows: Sequence[Row], view: ChartView, form: TextForm
) -> CutChart:
    """Return the chart of a section, as much of it as can be read; ``form`` names its series."""
    frame = _frame(rows, len(columns))
    if view.by is None:
        x_values = frame[view.x].tolist()
        named = [
            (columns[position].label, columns[position], frame[position].tolist())
            for position in view.y
        ]
    else:
        x_values, named = _series_by(frame, view, columns[view.y[0]], form)
    points = MOST_POINTS[view.kind]
    chart = Chart(
        kind=view.kind,
        x=columns[view.x],
        x_values=tuple(x_values[:points]),
        series=tuple(
            Series(label=label, column=column, values=tuple(values[:points]))
            for label, column, values in named[:MOST_SERIES]
        ),
    )
    return CutChart(chart, len(x_values), len(named))


def total_of(values: pd.Series[Any]) -> object:
    """Return the exact sum of the values that are not NULL; None if there are none."""
    present = values[values.map(lambda value: value is not None)]
    if present.empty:
        return None
    with exact():
        return present.sum(skipna=False)


def exact() -> AbstractContextManager[Context]:
    """Return the context in which decimals are added without rounding, and infinities too."""
    return localcontext(Context(prec=EXACT_DIGITS, traps=[]))


def _series_by(
    frame: pd.DataFrame, view: ChartView, y: Column, form: TextForm
) -> tuple[list[object], list[tuple[str, Column, list[object]]]]:
    """Return one series for each value of ``by``, in the order in which they come.

    Rows that have the same x and the same ``by`` are summed up.
    """
    by, position = view.by, view.y[0]
    # NULL is a value of x and of the series like any other; pandas would leave it out.
    keyed = frame.assign(
        x=frame[view.x].map(_Key), by=frame[by].map(_Key) if by is not None else None
    )
    sums = keyed.groupby(["x", "by"], sort=False)[position].agg(total_of)
    x_keys, by_keys = keyed["x"].drop_duplicates(), keyed["by"].drop_duplicates()
    found = sums.to_dict()
    return (
        [key.value for key in x_keys],
        [
            (
                "\N{EN DASH}" if key.value is None else form(key.value),
                y,
                [found.get((x_key, key)) for x_key in x_keys],
            )
            for key in by_keys
        ],
    )


@dataclass(frozen=True, slots=True)
class _Key:
    """A value to group by, NULL included."""

    value: object


def _frame(rows: Sequence[Row], width: int) -> pd.DataFrame:
    # Not until a report is rendered: loading the definitions must stay quick.
    import pandas as pd

    return pd.DataFrame(list(rows), columns=range(width), dtype=object)
