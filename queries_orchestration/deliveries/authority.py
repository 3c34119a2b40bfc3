"""Schedule authority: the present owner, or an administrator of the workspace, active now.

Whoever runs the installation has it over every schedule, and so has the system.

That they can open the source now is found out by opening it.
"""

from __future__ import annotations

from sqlalchemy import Connection

from queries_orchestration.model.access import ADMINISTRATOR
from queries_orchestration.model.audit import By
from queries_orchestration.model.errors import NotFound
from queries_orchestration.model.titles import is_one_line
from queries_orchestration.store import occurrences, people, schedules
from queries_orchestration.store.occurrences import Occurrence
from queries_orchestration.store.schedules import Schedule


def schedule_governed_by(
    connection: Connection, workspace_id: str, *, schedule_id: str, by: By
) -> Schedule:
    """Return a schedule over which who asks has authority.

    Raises:
        NotFound: there is no such schedule in the workspace, or who asks has none: always the
            same answer.
    """
    return _governed(connection, schedules.get(connection, workspace_id, schedule_id), by)


def schedule_named_by(connection: Connection, workspace_id: str, *, name: str, by: By) -> Schedule:
    """Return a schedule over which who asks has authority, by its name.

    Args:
        name: any text.

    Raises:
        NotFound: as :func:`schedule_governed_by`.
    """
    found = schedules.by_name(connection, workspace_id, name) if is_one_line(name) else None
    return _governed(connection, found, by)


def governed_schedules(
    connection: Connection, workspace_id: str, *, person_id: str, limit: int, after: str | None
) -> list[Schedule]:
    """Return the schedules over which a person has authority, by name.

    Args:
        after: the name that they come after.
    """
    person = people.get(connection, workspace_id, person_id)
    if person is None or not person.active:
        return []
    owner_id = None if ADMINISTRATOR in person.roles else person.id
    return schedules.page(connection, workspace_id, owner_id=owner_id, limit=limit, after=after)


def _governed(connection: Connection, schedule: Schedule | None, by: By) -> Schedule:
    if schedule is None or not governs(connection, schedule, by):
        raise no_such_schedule()
    return schedule


def no_such_schedule() -> NotFound:
    """Return the answer to whoever asks for a schedule that is not there, or not theirs."""
    return NotFound("There is no such schedule, or it is not yours to run.")


def occurrence_governed_by(
    connection: Connection, workspace_id: str, *, key: str, by: By
) -> tuple[Occurrence, Schedule]:
    """Return an occurrence over whose schedule who asks has authority, and the schedule.

    Args:
        key: any text.

    Raises:
        NotFound: there is no such occurrence in the workspace, or who asks has none: always the
            same answer.
    """
    found = occurrences.get(connection, workspace_id, key) if is_one_line(key) else None
    schedule = found and schedules.get(connection, workspace_id, found.schedule_id)
    if not found or not schedule or not governs(connection, schedule, by):
        raise NotFound("There is no such occurrence, or its schedule is not yours to run.")
    return found, schedule


def governs(connection: Connection, schedule: Schedule, by: By) -> bool:
    """Tell whether who asks has authority over a schedule."""
    if by.person_id is None:
        return by.governs_all
    person = people.get(connection, schedule.workspace_id, by.person_id)
    return (
        person is not None
        and person.active
        and (schedule.owner_id == person.id or ADMINISTRATOR in person.roles)
    )
