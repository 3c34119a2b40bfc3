"""The audit trail of a workspace, for its administrators."""

from __future__ import annotations

from queries_orchestration.model.access import ADMINISTRATOR
from queries_orchestration.model.audit import NOT_ALLOWED, AuditEvent, Subject
from queries_orchestration.model.errors import Refused
from queries_orchestration.store import audit, people
from queries_orchestration.store.audit import Place
from queries_orchestration.store.database import Database


def audit_trail(
    database: Database,
    workspace_id: str,
    *,
    person_id: str,
    before: Place | None = None,
    subject: Subject | None = None,
    limit: int,
) -> list[AuditEvent]:
    """Return the newest events of the workspace, the newest first.

    Args:
        before: only those that stand before it (``audit.place_of`` the last one read).
        subject: only those about it.
        limit: at most so many.

    Raises:
        Refused: the person is no active administrator of the workspace (``not_allowed``).
    """
    with database.read(workspace_id) as connection:
        person = people.get(connection, workspace_id, person_id)
        if person is None or not person.active or ADMINISTRATOR not in person.roles:
            raise Refused(
                "The audit trail is for administrators of the workspace.", code=NOT_ALLOWED
            )
        return audit.listing(connection, workspace_id, before=before, subject=subject, limit=limit)
