"""Who may see which export: what becomes of it, not the file itself."""

from __future__ import annotations

from datetime import datetime

from queries_orchestration.exports.export_file import ExportFile, find_file
from queries_orchestration.model.access import ADMINISTRATOR
from queries_orchestration.model.errors import NotFound
from queries_orchestration.store import exports, people
from queries_orchestration.store.database import Database


def own_exports(
    database: Database,
    workspace_id: str,
    *,
    person_id: str,
    limit: int,
    after: tuple[datetime, str] | None = None,
) -> list[ExportFile]:
    """Return the exports that the person asked for, the newest first; an administrator's too.

    Args:
        after: the moment and the id of the one that they come after.
    """
    with database.read(workspace_id) as connection:
        own = exports.of_requester(connection, workspace_id, person_id, limit=limit, after=after)
        found = [find_file(connection, workspace_id, export.id) for export in own]
    return [file for file in found if file is not None]


def look_up(database: Database, workspace_id: str, *, person_id: str, export_id: str) -> ExportFile:
    """Return an export that the person asked for or governs.

    An administrator governs all of the workspace, the owner of a schedule its deliveries' files.

    Args:
        export_id: any text.

    Raises:
        NotFound: there is no such export, or it is not this person's: always the same answer.
    """
    with database.read(workspace_id) as connection:
        person = people.get(connection, workspace_id, person_id)
        file = find_file(connection, workspace_id, export_id)
        if file is None or person is None or not person.active:
            raise _not_found()
        owner_id = file.export.actor_id if file.schedule is None else file.schedule.owner_id
        if owner_id != person.id and ADMINISTRATOR not in person.roles:
            raise _not_found()
        return file


def _not_found() -> NotFound:
    return NotFound("There is no such export, or it is not yours.")
