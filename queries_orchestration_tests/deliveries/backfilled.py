"""What the tests of backfills share: an hourly schedule, days around its creation."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

from queries_orchestration.deliveries.backfill import Backfilled, backfill
from queries_orchestration.model.audit import OPERATOR
from queries_orchestration_tests.house import SET_UP, House

HOURLY = """\
workspace: {{name: acme}}
schedules:
  hourly: {{title: Hourly, query: all-orders, owner: ada, cron: {cron}, time_zone: UTC,
    format: csv, recipients: [bob]{more}}}
"""
FRIDAY = SET_UP.date()
"""The day of the catalog, which is applied at 07:00 by UTC."""
SATURDAY = FRIDAY + timedelta(days=1)
SUNDAY = FRIDAY + timedelta(days=2)


def at(day: date, hour: int, minute: int = 0) -> datetime:
    return datetime(day.year, day.month, day.day, hour, minute, tzinfo=UTC)


def fill(house: House, day: date, **more: Any) -> Backfilled:
    return backfill(house.backends, day, **({"by": OPERATOR} | more))


def of_hourly(house: House) -> dict[str, Any]:
    return {"workspace_id": house.workspace_id, "schedule_id": house.schedule("hourly").id}


def hours(house: House, day: date, via: str = "backfill") -> list[int]:
    """The hours of a day whose slots came in by some way."""
    return [
        one.slot.hour
        for one in house.history("hourly")
        if one.slot is not None and one.slot.date() == day and one.via == via
    ]
