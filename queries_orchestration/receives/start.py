"""Take a piece of work for one run, by compare-and-set on its offer."""

from __future__ import annotations

from dataclasses import dataclass

from queries_orchestration.model.errors import NotFound, Refused
from queries_orchestration.receives.backends import Backends
from queries_orchestration.store import claims, cross_workspace
from queries_orchestration.store.claims import Claim, Receive


@dataclass(frozen=True, slots=True)
class NothingToDo:
    """Why a run does not work; it ends green."""

    reason: str


def start(
    backends: Backends, key: str, *, lane: str, offer_number: int | None, run_id: str
) -> Receive | NothingToDo:
    """Take the work with the next receive number, which fences every earlier worker out.

    Args:
        key: of the occurrence, or of the export.
        lane: the one that the run works; work of another is not taken.
        offer_number: the offer that the run was launched with; None for a run that a person
            launched, which makes its own offer if the work may start now.
        run_id: the Dagster run, for the history and for recovery.

    Raises:
        NotFound: there is no such work.
        Refused: it is work of another lane (``other_lane``).
    """
    receive: Receive | None = None
    with backends.database.across.transaction() as connection:
        workspace_id = cross_workspace.workspace_of(connection, key)
        if workspace_id is None:
            raise NotFound(f"There is no occurrence or export {key} that waits or waited.")
        found = claims.get(connection, workspace_id, key)
        if found is not None and found.lane != lane:
            raise Refused(
                f"{key} is work of the lane {found.lane}, not of {lane}: launch that lane's job.",
                code="other_lane",
            )
        if offer_number is None:
            own = cross_workspace.offer_one(
                connection,
                workspace_id,
                key,
                live_limit=None,
                lease=backends.settings.offer_lease,
            )
            offer_number = own.number if own else None
        if offer_number is not None:
            receive = claims.start(
                connection, workspace_id, key, offer_number=offer_number, run_id=run_id
            )
        found = claims.get(connection, workspace_id, key)
    if receive is None:
        return NothingToDo(_why_not(found))
    backends.reached("started")
    return receive


def _why_not(claim: Claim | None) -> str:
    if claim is None or claim.state == "done":
        return "It is settled already. To do it again, run the schedule now or export anew."
    if claim.state == "running":
        return f"Receive {claim.receive_number} is working on it."
    if claim.lease_until is not None:
        return f"It was offered again; offer {claim.offer_number} counts now."
    return (
        "It may not start yet: a retry waits, an earlier slot is not settled, or all dispatching is"
        " stopped (`queries check` tells)."
    )
