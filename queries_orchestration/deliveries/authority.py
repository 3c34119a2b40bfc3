"""Schedule authority: the present owner, or an administrator of the workspace, active now.

Whoever runs the installation has it over every schedule, and so has the system.

That they can open the source now is found out by opening it.
"""

from __future__ import annotations

from sqlalchemy import Connection

from queries_orchestration.model.access import ADMINISTRATOR
from queries_orchestration.model.audit import By
from queries_orchestration.model.errors import NotFound
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
    schedule = schedules.get(connection, workspace_id, schedule_id)
    if schedule is None or not _governs(connection, schedule, by):
        raise NotFound("There is no such schedule, or it is not yours to run.")
    return schedule


def schedules_governed_by(connection: Connection, workspace_id: str, *, by: By) -> list[Schedule]:
    """Return the schedules over which who asks has authority, by name."""
    if by.person_id is None:
        return schedules.listing(connection, workspace_id) if by.governs_all else []
    person = people.get(connection, workspace_id, by.person_id)
    if person is None or not person.active:
        return []
    owner_id = None if ADMINISTRATOR in person.roles else person.id
    return schedules.listing(connection, workspace_id, owner_id=owner_id)


def occurrence_governed_by(
    connection: Connection, workspace_id: str, *, key: str, by: By
) -> tuple[Occurrence, Schedule]:
    """Return an occurrence of a schedule over which who asks has authority, and the schedule.

    Args:
        key: any text.

    Raises:
        NotFound: there is no such occurrence, or who asks has none: always the same answer.
    """
    occurrence = occurrences.get(connection, workspace_id, key) if "\0" not in key else None
    schedule = occurrence and schedules.get(connection, workspace_id, occurrence.schedule_id)
    if occurrence is None or not schedule or not _governs(connection, schedule, by):
        raise NotFound("There is no such occurrence, or its schedule is not yours to run.")
    return occurrence, schedule


def _governs(connection: Connection, schedule: Schedule, by: By) -> bool:
    if by.person_id is None:
        return by.governs_all
    person = people.get(connection, schedule.workspace_id, by.person_id)
    return (
        person is not None
        and person.active
        and (schedule.owner_id == person.id or ADMINISTRATOR in person.roles)
    )
