"""What stays of old history by month: added to when history goes, and read by people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite

from queries_orchestration.model.monthly import OfDeliveries, OfExports
from queries_orchestration.store.rows import every, select_records
from queries_orchestration.store.tables import monthly_deliveries, monthly_exports


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthOfDeliveries:
    """The occurrences of a schedule that ended alike in a month, and what recipients got.

    ``month`` is its first day, of UTC; ``code`` is empty where there is none. ``sent`` and the
    others are deliveries; ``rows`` and ``bytes`` are of the files.
    """

    month: date
    purpose: str
    outcome: str
    code: str
    occurrences: int
    sending: int
    sent: int
    skipped: int
    refused: int
    uncertain: int
    unsent: int
    downloads: int
    rows: int
    bytes: int


def of_schedule(
    connection: Connection, workspace_id: str, schedule_id: str
) -> list[MonthOfDeliveries]:
    """Return what stays of a schedule's old history, the earliest month first."""
    kept = monthly_deliveries.c
    found = select_records(MonthOfDeliveries, monthly_deliveries).where(
        kept.workspace_id == workspace_id, kept.schedule_id == schedule_id
    )
    return every(
        connection,
        MonthOfDeliveries,
        found.order_by(kept.month, kept.purpose, kept.outcome, kept.code),
    )


def add_deliveries(
    connection: Connection, workspace_id: str, counted: Mapping[OfDeliveries, Mapping[str, int]]
) -> None:
    """Add to what there is, in the order given: two who add at once take each row in turn."""
    for key, numbers in counted.items():
        _add(
            connection, monthly_deliveries, {"workspace_id": workspace_id, **key._asdict()}, numbers
        )


def add_exports(
    connection: Connection, workspace_id: str, counted: Mapping[OfExports, Mapping[str, int]]
) -> None:
    """Add to what there is, as :func:`add_deliveries`."""
    for key, numbers in counted.items():
        _add(connection, monthly_exports, {"workspace_id": workspace_id, **key._asdict()}, numbers)


def _add(
    connection: Connection, table: Table, key: Mapping[str, Any], numbers: Mapping[str, int]
) -> None:
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    inserting = dialect.insert(table).values({**key, **numbers})
    connection.execute(
        inserting.on_conflict_do_update(
            index_elements=[table.c[name] for name in key],
            set_={name: table.c[name] + inserting.excluded[name] for name in numbers},
        )
    )
