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
EXACT_DIGITS: Final = 150_000
"""More than a numeric of PostgreSQL can have, so that totals are exact."""

_NAN: Final = float("nan")


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
    x_values, series, found = (
        _series_of_columns(frame, columns, view)
        if view.by is None
        else _series_by(frame, view, view.by, columns[view.y[0]], form)
    )
    chart = Chart(
        kind=view.kind,
        x=columns[view.x],
        x_values=tuple(x_values[: MOST_POINTS[view.kind]]),
        series=tuple(series),
    )
    return CutChart(chart, len(x_values), found)


def total_of(values: pd.Series[Any]) -> object:
    """Return the exact sum of the values that are not NULL; None if there are none."""
    present = values[values.map(_is_value).astype(bool)]
    if present.empty:
        return None
    with exact():
        # Of numpy's sum, floats without end would bring warnings.
        return sum(present.tolist())


def exact() -> AbstractContextManager[Context]:
    """Return the context in which decimals are added without rounding, and infinities too."""
    return localcontext(Context(prec=EXACT_DIGITS, traps=[]))


def _series_of_columns(
    frame: pd.DataFrame, columns: Sequence[Column], view: ChartView
) -> tuple[list[object], list[Series], int]:
    """Return all values of x, the series that are shown, and how many there are."""
    points = MOST_POINTS[view.kind]
    series = [
        Series(
            label=columns[position].label,
            column=columns[position],
            values=tuple(frame[position].head(points)),
        )
        for position in view.y[:MOST_SERIES]
    ]
    return frame[view.x].tolist(), series, len(view.y)


def _series_by(
    frame: pd.DataFrame, view: ChartView, by: int, y: Column, form: TextForm
) -> tuple[list[object], list[Series], int]:
    """Return as above, with one series for each value of ``by`` in the order in which they come.

    Rows that have the same x and the same ``by`` are summed up.
    """
    keyed = frame.assign(x=frame[view.x].map(_key), by=frame[by].map(_key))
    x_keys, by_keys = keyed["x"].drop_duplicates(), keyed["by"].drop_duplicates()
    present = keyed[keyed[view.y[0]].map(_is_value).astype(bool)]
    with exact():
        sums = present.groupby(["x", "by"], sort=False)[view.y[0]].sum(skipna=False).to_dict()
    series = [
        Series(
            label="\N{EN DASH}" if key.value is None else form(key.value),
            column=y,
            values=tuple(sums.get((x_key, key)) for x_key in x_keys.head(MOST_POINTS[view.kind])),
        )
        for key in by_keys.head(MOST_SERIES)
    ]
    return [key.value for key in x_keys], series, len(by_keys)


@dataclass(frozen=True, slots=True)
class _Key:
    """A value to group by; pandas would leave a bare NULL or NaN out."""

    value: object


def _key(value: object) -> _Key:
    # No NaN is equal to another, and here all of them are one.
    return _Key(value if value == value else _NAN)


def _is_value(value: object) -> bool:
    return value is not None


def _frame(rows: Sequence[Row], width: int) -> pd.DataFrame:
    # Not until a report is rendered: loading the definitions must stay quick.
    import pandas as pd

    return pd.DataFrame(list(rows), columns=range(width), dtype=object)
