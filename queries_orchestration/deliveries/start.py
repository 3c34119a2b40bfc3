"""Hop 3, first half: take the occurrence for one run, by compare-and-set on its offer."""

from __future__ import annotations

from dataclasses import dataclass

from queries_orchestration.deliveries.backends import Backends
from queries_orchestration.model.errors import NotFound
from queries_orchestration.store import cross_workspace, occurrences
from queries_orchestration.store.occurrences import Occurrence, Receive
from queries_orchestration.store.offers import offer_one


@dataclass(frozen=True, slots=True)
class NothingToDo:
    """Why a run does not work on the occurrence; the run ends green."""

    reason: str


def start(
    backends: Backends, occurrence_key: str, *, offer_number: int | None, run_id: str
) -> Receive | NothingToDo:
    """Take the occurrence with the next receive number, which fences every earlier worker out.

    Args:
        offer_number: the offer that the run was launched with; None for a run that a person
            launched, which makes its own offer if the occurrence may start now.
        run_id: the Dagster run, for the history.

    Raises:
        NotFound: there is no such occurrence.
    """
    with backends.database.transaction() as connection:
        workspace_id = cross_workspace.workspace_of(connection, occurrence_key)
        if workspace_id is None:
            raise NotFound(f"There is no occurrence {occurrence_key}.")
        if offer_number is None:
            offer_number = offer_one(
                connection, workspace_id, occurrence_key, lease=backends.settings.offer_lease
            )
        receive = None
        if offer_number is not None:
            receive = occurrences.start(
                connection,
                workspace_id,
                occurrence_key,
                offer_number=offer_number,
                run_id=run_id,
            )
        if receive is None:
            found = occurrences.get(connection, workspace_id, occurrence_key)
    if receive is None:
        return NothingToDo(_why_not(found))
    backends.reached("started")
    return receive


def _why_not(occurrence: Occurrence | None) -> str:
    if occurrence is None:
        return "The occurrence is gone."
    if occurrence.state == "settled":
        return f"It is settled already: {occurrence.outcome}."
    if occurrence.state == "running":
        return f"Receive {occurrence.receive_number} is working on it."
    if occurrence.lease_until is not None:
        return f"It was offered again; offer {occurrence.offer_number} counts now."
    return "It may not start yet: a retry waits, or an earlier slot is not settled."
