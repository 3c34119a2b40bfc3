"""Schedule authority: the present owner, or an administrator of the workspace, active now.

Whoever runs the installation has it over every schedule, and so has the system.

That they can open the source now is found out by opening it.
"""

from __future__ import annotations

from sqlalchemy import Connection

from queries_orchestration.model.access import ADMINISTRATOR
from queries_orchestration.model.audit import By
from queries_orchestration.model.errors import NotFound
from queries_orchestration.store import people, schedules
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


def _governs(connection: Connection, schedule: Schedule, by: By) -> bool:
    if by.person_id is None:
        return by.governs_all
    person = people.get(connection, schedule.workspace_id, by.person_id)
    return (
        person is not None
        and person.active
        and (schedule.owner_id == person.id or ADMINISTRATOR in person.roles)
    )
