"""Which runs of Dagster somebody may still ask for: those of work that is not done.

They are of all workspaces, as Dagster's are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, and_, select

from queries_orchestration.store.tables import claims, receives


@dataclass(frozen=True, slots=True)
class Unfinished:
    """The runs that had a part in work that is not done, and the keys of such work."""

    run_ids: frozenset[str]
    keys: frozenset[str]


def of_unfinished(
    connection: Connection, *, run_ids: Sequence[str], keys: Sequence[str]
) -> Unfinished:
    """Return those of runs, and of keys of work, whose work is not done."""
    of_work = and_(receives.c.workspace_id == claims.c.workspace_id, receives.c.key == claims.c.key)
    running = (
        select(receives.c.run_id)
        .join(claims, of_work)
        .where(claims.c.state != "done", receives.c.run_id.in_(run_ids))
    )
    waiting = select(claims.c.key).where(claims.c.state != "done", claims.c.key.in_(keys))
    return Unfinished(
        frozenset(connection.scalars(running)), frozenset(connection.scalars(waiting))
    )
