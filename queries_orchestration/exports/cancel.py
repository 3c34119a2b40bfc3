"""Cancel an export that is not finished: its requester's, or an administrator's."""

from __future__ import annotations

from queries_orchestration.exports.settle import cancel_within
from queries_orchestration.model.access import ADMINISTRATOR
from queries_orchestration.model.audit import AuditEvent, By, Subject
from queries_orchestration.model.errors import NotFound, Refused
from queries_orchestration.model.ids import is_id
from queries_orchestration.receives.backends import Backends
from queries_orchestration.store import audit, exports, people


def cancel_export(backends: Backends, workspace_id: str, *, by: By, export_id: str) -> None:
    """Cancel a queued or running export; a worker that is at it stops within a page.

    Args:
        export_id: any text.

    Raises:
        NotFound: there is no such export, or it is not this person's: always the same answer.
        Refused: it is finished (``already_finished``), or a delivery's file, which the schedule
            decides about (``belongs_to_delivery``), or no person asks (``person_required``).
    """
    with backends.database.transaction(workspace_id) as connection:
        person = people.get(connection, workspace_id, by.as_person())
        export = exports.get(connection, workspace_id, export_id) if is_id(export_id) else None
        entitled = (
            person is not None
            and person.active
            and export is not None
            and (export.actor_id == person.id or ADMINISTRATOR in person.roles)
        )
        if export is None or person is None or not entitled:
            raise NotFound("There is no such export.")
        if export.purpose != "interactive":
            raise Refused(
                "This file belongs to a delivery, which is not cancelled by its export.",
                code="belongs_to_delivery",
            )
        # The audit trail has who: what history keeps names nobody.
        who = "who asked for it" if export.actor_id == person.id else "an administrator"
        if not cancel_within(connection, workspace_id, export_id, message=f"Cancelled by {who}."):
            # Looked up again: it may have become so since.
            finished = exports.get(connection, workspace_id, export_id) or export
            raise Refused(
                f"The export is {finished.state} already, there is nothing to cancel.",
                code="already_finished",
            )
        audit.record(
            connection,
            AuditEvent(
                workspace_id=workspace_id,
                at=backends.clock(),
                by=by,
                action="export_cancelled",
                subject=Subject("export", export_id),
            ),
        )
