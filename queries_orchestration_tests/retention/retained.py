"""A retention by a test: what it found, and what every table has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta

import sqlalchemy as sa

from queries_orchestration.retention.found import Found
from queries_orchestration.retention.retain import retain
from queries_orchestration.retention.runs import FinishedRun
from queries_orchestration.store import monthly
from queries_orchestration.store.tables import metadata
from queries_orchestration_tests.house import MONDAY, House

PAST = MONDAY + timedelta(days=401)
"""When what was settled on the first Monday is past its age."""
NOTHING = {
    "expired_files": 0,
    "stale_uploads": 0,
    "files_without_row": 0,
    "rows_without_file": 0,
    "occurrences": 0,
    "exports": 0,
    "audit_events": 0,
    "runs": 0,
}


@dataclass
class Runs:
    """What Dagster keeps, in memory; one that is removed is gone."""

    ended: list[FinishedRun] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)

    def finished(self, before: datetime, *, after: str | None, limit: int) -> list[FinishedRun]:
        return list(self._from(after))[:limit]

    def _from(self, after: str | None) -> Iterator[FinishedRun]:
        found = after is None
        for run in self.ended:
            if found:
                yield run
            found = found or run.run_id == after
        assert found, "Dagster finds nothing after a run that is gone"

    def remove(self, run_id: str) -> None:
        self.ended = [run for run in self.ended if run.run_id != run_id]
        self.removed.append(run_id)


def retained(
    house: House, *, do: bool = True, at: datetime | None = None, seconds: float | None = None
) -> dict[str, int]:
    """What a retention counts, by kind; kinds of nothing are left out."""
    return {one.kind: one.count for one in found(house, do=do, at=at, seconds=seconds) if one.count}


def found(
    house: House, *, do: bool = True, at: datetime | None = None, seconds: float | None = None
) -> list[Found]:
    if at is not None:
        house.clock.at = at
    return retain(house.backends, Runs(), do=do, seconds=seconds)


def rows(house: House) -> dict[str, int]:
    """How many rows each table has; tables without one are left out."""
    with house.backends.database.across.read() as connection:
        counted = {
            table.name: connection.scalar(sa.select(sa.func.count()).select_from(table)) or 0
            for table in metadata.sorted_tables
        }
    return {name: number for name, number in counted.items() if number}


def months(house: House, name: str = "weekly") -> list[dict[str, object]]:
    """What stays of a schedule's history; numbers of nothing and empty texts are left out."""
    schedule = house.schedule(name)
    with house.backends.database.across.read() as connection:
        told = monthly.of_schedule(connection, house.workspace_id, schedule.id)
    return [{key: value for key, value in asdict(one).items() if value} for one in told]
