"""What has happened since the beginning, counted in the transaction that does it.

The counts outlive the history that they count: what retention deletes stays counted, and no number
ever goes back. They are written last, right before the commit and in one order, so that no
transaction holds them for long, and no two wait for each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, select
from sqlalchemy.dialects import postgresql, sqlite

from queries_orchestration.store.tables import counters

OCCURRENCES_SETTLED: Final = "occurrences_settled"  # label: outcome
EXPORTS_SETTLED: Final = "exports_settled"  # label: state
DELIVERIES_SETTLED: Final = "deliveries_settled"  # label: state
RECEIVES_STARTED: Final = "receives_started"  # label: lane
RECEIVES_FAILED: Final = "receives_failed"  # label: lane
OFFERS_RELEASED: Final = "offers_released"  # label: lane
DEAD_LETTERS: Final = "dead_letters"  # label: lane
RUNS_FAILED: Final = "schedule_run_failed"
AUTO_PAUSES: Final = "schedule_auto_paused"

_COUNTED: Final = "queries_counted"
Tally = dict[tuple[str, str, str], int]


@dataclass(frozen=True, slots=True)
class Counter:
    """How often something has happened; ``label`` is its lane, outcome or state."""

    name: str
    label: str
    code: str
    value: int


def begin(connection: Connection) -> None:
    """Let what follows in this transaction be counted."""
    connection.info[_COUNTED] = {}


def count(
    connection: Connection, name: str, *, label: str = "", code: str | None = None, by: int = 1
) -> None:
    """Count what this transaction does, if it commits.

    Args:
        label: a lane, outcome or state; never what a workspace has named.
        code: one of our own.
    """
    if by:
        tally: Tally = connection.info[_COUNTED]
        key = (name, label, code or "")
        tally[key] = tally.get(key, 0) + by


def counted(connection: Connection) -> Tally:
    """Return what this transaction has counted so far, to go back to it with a savepoint."""
    return dict(connection.info.get(_COUNTED, {}))


def go_back(connection: Connection, tally: Tally) -> None:
    """Count no more than ``tally``: what came after it was rolled back."""
    connection.info[_COUNTED] = tally


def write(connection: Connection) -> None:
    """Write what the transaction has counted; the last that it does."""
    tally: Tally = connection.info.pop(_COUNTED)
    if not tally:
        return
    rows: list[dict[str, Any]] = [
        {"name": name, "label": label, "code": code, "value": tally[name, label, code]}
        for name, label, code in sorted(tally)
    ]
    is_postgresql = connection.dialect.name == "postgresql"
    inserting = (postgresql.insert if is_postgresql else sqlite.insert)(counters).values(rows)
    connection.execute(
        inserting.on_conflict_do_update(
            index_elements=list(counters.primary_key),
            set_={"value": counters.c.value + inserting.excluded.value},
        )
    )


def read(connection: Connection) -> list[Counter]:
    """Return all counts: some for each lane, outcome and code, whatever the history's size."""
    order = (counters.c.name, counters.c.label, counters.c.code)
    found = connection.execute(select(*order, counters.c.value).order_by(*order))
    return [Counter(*row) for row in found]
