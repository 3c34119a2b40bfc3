"""Take work for a run: what the first op of every job does."""

from __future__ import annotations

import dagster as dg

from queries_orchestration.deliveries.stop_dispatch import told
from queries_orchestration.model.errors import NotFound
from queries_orchestration.orchestration import tags
from queries_orchestration.orchestration.resources import WorkerResource
from queries_orchestration.orchestration.steps import refusals_shown, terminated
from queries_orchestration.orchestration.told_run import tag_outcome, tag_run
from queries_orchestration.receives import start as start_step
from queries_orchestration.receives.publish import offer_lane
from queries_orchestration.store import dispatch_stops
from queries_orchestration.store.claims import Receive


def take_work(
    context: dg.OpExecutionContext,
    worker: WorkerResource,
    key: str,
    *,
    lane: str,
    offer_number: int | None,
) -> Receive | None:
    """Take the work and start its heartbeat; None, said in the run, if there is nothing to do.

    Args:
        key: of the occurrence, or id of the export.
        offer_number: the offer that the run was launched with; None if a person launched it.

    Raises:
        Failure: there is no such work, or it is of another lane. Work that was offered and is gone
            needs nobody: that is nothing to do.
    """
    with refusals_shown(context):
        try:
            receive = start_step.start(
                worker.backends, key, lane=lane, offer_number=offer_number, run_id=context.run_id
            )
        except NotFound:
            if offer_number is None:
                raise
            receive = start_step.NothingToDo("It is not there any more.")
    if not isinstance(receive, start_step.NothingToDo):
        # First of all: until it beats, whoever looks for the lost finds this receive.
        worker.begin(receive, lane=lane, run_id=context.run_id, is_terminated=terminated(context))
    tag_run(context, {tags.work_tag(lane): key})
    if isinstance(receive, start_step.NothingToDo):
        nothing_to_do(context, receive.reason)
        return None
    return receive


def take_next(
    context: dg.OpExecutionContext, worker: WorkerResource, *, lane: str
) -> Receive | None:
    """Take what is next in turn in the lane: what a run does that a person launches as it is.

    Returns:
        None, said in the run, if nothing waits there that may start.
    """
    backends = worker.backends
    with refusals_shown(context):
        offers = offer_lane(backends.database, backends.settings, lane, at_most=1)
        with backends.database.across.read() as connection:
            stop = None if offers else dispatch_stops.current(connection)
    if stop is not None:
        nothing_to_do(context, told(stop))
        return None
    if not offers:
        nothing_to_do(
            context,
            f"Nothing waits in the lane {lane} that may start now and is not offered already,"
            " or as much is offered as may be at once.",
        )
        return None
    (offer,) = offers
    return take_work(context, worker, offer.key, lane=lane, offer_number=offer.number)


def nothing_to_do(context: dg.OpExecutionContext, reason: str) -> None:
    """Let the run say that it has found nothing to do; it ends green."""
    context.log.info("Nothing to do. %s", reason)
    tag_outcome(context, tags.NOTHING_TO_DO)
