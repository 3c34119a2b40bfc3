"""Stop all dispatching, over all workspaces, and start it again: for whoever runs the installation.

Nothing due is lost meanwhile: a pass asks what is due since, so that after the start each
schedule's missed-slots policy says what becomes of the slots that came due.
"""

from __future__ import annotations

from queries_orchestration.model.errors import Refused
from queries_orchestration.receives.backends import Backends
from queries_orchestration.store import dispatch_stops
from queries_orchestration.store.dispatch_stops import DispatchStop


def stop_dispatch(backends: Backends, *, by: str, reason: str) -> None:
    """Let no slot be admitted and no work offered from now on; what a run has goes on.

    Args:
        by: who stops it, for others to read: of no workspace.

    Raises:
        Refused: it is stopped already (``already_stopped``), or who or why is empty
            (``incomplete_stop``).
    """
    _check_told(by, reason)
    with backends.database.transaction() as connection:
        if not dispatch_stops.stop(connection, by=by, reason=reason, at=backends.clock()):
            found = dispatch_stops.current(connection)
            raise Refused(
                told(found) if found else "Dispatching has just been stopped.",
                code="already_stopped",
            )


def start_dispatch(backends: Backends, *, by: str, reason: str) -> None:
    """Let the next pass admit and offer again.

    Raises:
        Refused: it is not stopped (``not_stopped``), or who or why is empty
            (``incomplete_stop``).
    """
    _check_told(by, reason)
    with backends.database.transaction() as connection:
        if not dispatch_stops.start(connection, by=by, reason=reason, at=backends.clock()):
            raise Refused("Dispatching is not stopped.", code="not_stopped")


def told(stop: DispatchStop) -> str:
    """Return what everybody should know of an open stop, with what to do."""
    return (
        f"All dispatching is stopped since {stop.stopped_at:%Y-%m-%d %H:%M} UTC by"
        f" {stop.stopped_by}: {stop.stop_reason} Nothing is admitted or offered until"
        " `queries dispatch start`."
    )


def _check_told(by: str, reason: str) -> None:
    if not by.strip() or not reason.strip():
        raise Refused("Say who and why, for others to read.", code="incomplete_stop")
