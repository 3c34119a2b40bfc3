"""Stop all dispatching, over all workspaces, and start it again: for whoever runs the installation.

Nothing due is lost meanwhile: a pass asks what is due since, so that after the start each
schedule's missed-slots policy says what becomes of the slots that came due. The audit trail of
each workspace tells of it, since it concerns all of them.
"""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import Connection

from queries_orchestration.model.audit import Action, AuditEvent, By, Subject
from queries_orchestration.model.errors import Refused
from queries_orchestration.receives.backends import Backends
from queries_orchestration.store import audit, dispatch_stops, workspaces
from queries_orchestration.store.dispatch_stops import DispatchStop


def stop_dispatch(backends: Backends, *, by: By, name: str, reason: str) -> None:
    """Let no slot be admitted and no work offered from now on; what a run has goes on.

    Args:
        by: whoever runs the installation.
        name: who that is, for others to read: of no workspace.

    Raises:
        Refused: it is stopped already (``already_stopped``), or who or why is empty
            (``incomplete_stop``).
    """
    _check_told(name, reason)
    at = backends.clock()
    with backends.database.across.transaction() as connection:
        if not dispatch_stops.stop(connection, by=name, reason=reason, at=at):
            found = dispatch_stops.current(connection)
            raise Refused(
                told(found) if found else "Dispatching has just been stopped.",
                code="already_stopped",
            )
        _record(connection, "dispatch_stopped", by=by, at=at)


def start_dispatch(backends: Backends, *, by: By, name: str, reason: str) -> None:
    """Let the next pass admit and offer again.

    Raises:
        Refused: it is not stopped (``not_stopped``), or who or why is empty
            (``incomplete_stop``).
    """
    _check_told(name, reason)
    at = backends.clock()
    with backends.database.across.transaction() as connection:
        if not dispatch_stops.start(connection, by=name, reason=reason, at=at):
            raise Refused("Dispatching is not stopped.", code="not_stopped")
        _record(connection, "dispatch_started", by=by, at=at)


def told(stop: DispatchStop) -> str:
    """Return what everybody should know of an open stop, with what to do."""
    return (
        f"All dispatching is stopped since {stop.stopped_at:%Y-%m-%d %H:%M} UTC by"
        f" {stop.stopped_by}: {stop.stop_reason} Nothing is admitted or offered until"
        " `queries dispatch start`."
    )


def _record(connection: Connection, action: Action, *, by: By, at: datetime) -> None:
    for workspace in workspaces.listing(connection):
        audit.record(
            connection,
            AuditEvent(
                workspace_id=workspace.id,
                at=at,
                by=by,
                action=action,
                subject=Subject("workspace", workspace.id),
            ),
        )


def _check_told(name: str, reason: str) -> None:
    if not name.strip() or not reason.strip():
        raise Refused("Say who and why, for others to read.", code="incomplete_stop")
