"""Schedule authority: the present owner, or an administrator of the workspace, active now.

That they can open the source now is found out by opening it.
"""

from __future__ import annotations

from sqlalchemy import Connection

from queries_orchestration.model.access import ADMINISTRATOR
from queries_orchestration.model.errors import NotFound
from queries_orchestration.store import people, schedules
from queries_orchestration.store.schedules import Schedule


def schedule_governed_by(
    connection: Connection, workspace_id: str, *, schedule_id: str, person_id: str
) -> Schedule:
    """Return a schedule over which the person has authority.

    Raises:
        NotFound: there is no such schedule in the workspace, or the person has none: always the
            same answer.
    """
    schedule = schedules.get(connection, workspace_id, schedule_id)
    person = people.get(connection, workspace_id, person_id)
    governs = (
        schedule is not None
        and person is not None
        and person.active
        and (schedule.owner_id == person.id or ADMINISTRATOR in person.roles)
    )
    if schedule is None or not governs:
        raise NotFound("There is no such schedule, or it is not yours to run.")
    return schedule
