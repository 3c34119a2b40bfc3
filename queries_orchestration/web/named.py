"""A schedule or a source that somebody asks for by its name, which may be any text."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from queries_orchestration.deliveries.authority import no_such_schedule
from queries_orchestration.model.audit import Action, By, Subject
from queries_orchestration.model.titles import is_one_line
from queries_orchestration.receives.backends import Backends
from queries_orchestration.store import schedules, sources
from queries_orchestration.store.refusals import refusals_recorded


@contextmanager
def schedule_asked(
    backends: Backends, workspace_id: str, name: str, *, by: By, attempted: Action
) -> Iterator[str]:
    """Give the id of the schedule to what does it, and record who is refused.

    Whether who asks has authority over it is for that to find out.

    Raises:
        NotFound: there is none of that name.
    """
    with backends.database.read(workspace_id) as connection:
        found = schedules.by_name(connection, workspace_id, name) if is_one_line(name) else None
    with refusals_recorded(
        backends.database,
        workspace_id,
        by=by,
        attempted=attempted,
        subject=Subject("schedule", found.id if found else None),
        clock=backends.clock,
    ):
        if found is None:
            raise no_such_schedule()
        yield found.id


def source_asked(backends: Backends, workspace_id: str, name: str) -> Subject:
    """Return the source of a name, which may be any text, whether who asks may open it or not."""
    if not is_one_line(name):
        return Subject("source", None)
    with backends.database.read(workspace_id) as connection:
        found = sources.by_name(connection, workspace_id, name)
    return Subject("source", found.id if found else None)
