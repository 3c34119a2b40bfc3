"""What stays of history that is past its age: numbers by month, of nobody."""

from __future__ import annotations

from typing import get_args

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Date,
    PrimaryKeyConstraint,
    String,
    Table,
    text,
)

from queries_orchestration.model.outcomes import DeliveryState
from queries_orchestration.store.tables.columns import id_column, metadata, one_of, within
from queries_orchestration.store.tables.work import OUTCOMES

DELIVERY_STATES: tuple[DeliveryState, ...] = get_args(DeliveryState)


def _count(name: str) -> Column[int]:
    return Column(name, BigInteger, nullable=False, server_default=text("0"))


# Month: its first day, of UTC. Code: empty where there is none, since it is of the key.
monthly_deliveries = Table(
    "monthly_deliveries",
    metadata,
    id_column("workspace_id"),
    id_column("schedule_id"),
    Column("month", Date, nullable=False),
    Column("purpose", String(8), nullable=False),
    Column("outcome", String(16), nullable=False),
    Column("code", String(64), nullable=False),
    _count("occurrences"),
    *(_count(state) for state in DELIVERY_STATES),
    _count("downloads"),
    _count("rows"),
    _count("bytes"),
    PrimaryKeyConstraint("workspace_id", "schedule_id", "month", "purpose", "outcome", "code"),
    within("schedules", "schedule_id"),
    one_of("purpose", "delivery", "test", "resend"),
    one_of("outcome", *OUTCOMES),
    CheckConstraint("occurrences >= 1", name="occurrences"),
)

monthly_exports = Table(
    "monthly_exports",
    metadata,
    id_column("workspace_id"),
    id_column("source_id"),
    Column("month", Date, nullable=False),
    Column("state", String(9), nullable=False),
    Column("code", String(64), nullable=False),
    _count("exports"),
    _count("downloads"),
    _count("rows"),
    _count("bytes"),
    PrimaryKeyConstraint("workspace_id", "source_id", "month", "state", "code"),
    within("sources", "source_id"),
    one_of("state", "failed", "cancelled", "expired"),
    CheckConstraint("exports >= 1", name="exports"),
)
