"""What a report says once its sections are read: the same for the printed page and the workbook.

Values are exact, as the database gave them, NULL is None. Each writer shows them in its own way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from queries_orchestration.model.columns import Column
from queries_orchestration.model.reports import ChartKind
from queries_orchestration.model.time_zones import zone

Row: TypeAlias = Sequence[object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """What stands before the sections.

    Args:
        workspace: its title.
        reader: title of the person as whom everything was read.
        moment: what relative values count from: the slot, or when it was asked for; aware.
        read_at: when reading began; aware.
        time_zone: IANA name of the zone in which instants are shown.
        version: of the report.
        values: label and exact value of each of the report's parameters that has a value.
        headings: number and title of each section that has a title, in order.
    """

    title: str
    workspace: str
    reader: str
    moment: datetime
    read_at: datetime
    time_zone: str
    version: int
    values: tuple[tuple[str, object], ...]
    headings: tuple[tuple[int, str], ...]

    def told(self, instant: datetime) -> str:
        """Return an instant for people, by the clocks of the document's zone."""
        local = instant.astimezone(zone(self.time_zone))
        return f"{local:%Y-%m-%d %H:%M} {self.time_zone} (UTC{local.isoformat()[-6:]})"


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A text as it was written."""

    markdown: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows under their columns; ``totals`` has a value, or None, for each column."""

    columns: tuple[Column, ...]
    rows: Sequence[Row]
    totals: Row | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One line, or one colour of bars: a number, or None, for each value of x."""

    label: str
    column: Column
    values: tuple[object, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """Series over ``x_values``, which are values of the column ``x``; none of either if empty."""

    kind: ChartKind
    x: Column
    x_values: tuple[object, ...]
    series: tuple[Series, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Number:
    """One value; ``is_empty`` where the query has no row."""

    column: Column
    value: object
    is_empty: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A number, that of the previous period, and the change; None where there is none.

    Args:
        change: ``value`` minus ``previous``, exact.
        percent: the change as a percentage of what was before.
    """

    column: Column
    value: object
    previous: object
    change: object
    percent: float | None


Shown: TypeAlias = Text | Table | Chart | Number | Comparison


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """One section; ``number`` counts from 1, over sections with and without a title.

    Args:
        decimals: how many digits after the point are printed at most; None: two.
        notices: what the reader must know, such as rows that are left out; printed with it.
    """

    number: int
    title: str | None
    shown: Shown
    decimals: int | None
    notices: tuple[str, ...]
