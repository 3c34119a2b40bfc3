"""What stays of old history: a month's occurrences and exports, counted.

A month is told by its first day, of UTC. What is counted has no person and no address.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import NamedTuple


class OfDeliveries(NamedTuple):
    """Which occurrences are counted together; ``code`` is empty where there is none."""

    schedule_id: str
    month: date
    purpose: str
    outcome: str
    code: str


class OfExports(NamedTuple):
    """Which exports that people asked for are counted together."""

    source_id: str
    month: date
    state: str
    code: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PastOccurrence:
    """A settled occurrence as far as it is counted.

    Its ``moment`` is its slot, or when it was asked for. ``deliveries`` are numbers by state, and
    ``downloads`` those of its file. A resend has the file of another one, so that its ``rows`` and
    ``bytes`` are nothing.
    """

    schedule_id: str
    moment: datetime
    purpose: str
    outcome: str
    code: str | None
    deliveries: Mapping[str, int]
    downloads: int
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PastExport:
    """An export that a person asked for, whose file is gone, as far as it is counted."""

    source_id: str
    created_at: datetime
    state: str
    code: str | None
    downloads: int
    rows: int
    bytes: int


def month_of(moment: datetime) -> date:
    """Return the first day of the UTC month of an aware instant."""
    return moment.astimezone(UTC).date().replace(day=1)


def deliveries_by_month(
    past: Iterable[PastOccurrence],
) -> dict[OfDeliveries, Counter[str]]:
    """Count occurrences, their deliveries by state, downloads, rows and bytes, in key order."""
    counted: dict[OfDeliveries, Counter[str]] = {}
    for one in past:
        key = OfDeliveries(
            one.schedule_id, month_of(one.moment), one.purpose, one.outcome, one.code or ""
        )
        counted.setdefault(key, Counter()).update(
            {
                "occurrences": 1,
                **one.deliveries,
                "downloads": one.downloads,
                "rows": one.rows,
                "bytes": one.bytes,
            }
        )
    return dict(sorted(counted.items()))


def exports_by_month(past: Iterable[PastExport]) -> dict[OfExports, Counter[str]]:
    """Count exports, downloads, rows and bytes, in key order."""
    counted: dict[OfExports, Counter[str]] = {}
    for one in past:
        key = OfExports(one.source_id, month_of(one.created_at), one.state, one.code or "")
        counted.setdefault(key, Counter()).update(
            {"exports": 1, "downloads": one.downloads, "rows": one.rows, "bytes": one.bytes}
        )
    return dict(sorted(counted.items()))
