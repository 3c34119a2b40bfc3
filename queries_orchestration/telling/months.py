"""What stays of a schedule's old history, by month, as it is told."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection

from queries_orchestration.store import monthly
from queries_orchestration.store.schedules import Schedule


def months_json(connection: Connection, plan: Schedule) -> list[dict[str, Any]]:
    """Tell how many occurrences ended how in each UTC month, and what recipients got.

    The earliest month comes first; of a month that is not wholly past its age, only what is.
    """
    return [
        asdict(one) | {"month": f"{one.month:%Y-%m}", "code": one.code or None}
        for one in monthly.of_schedule(connection, plan.workspace_id, plan.id)
    ]
