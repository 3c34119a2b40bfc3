"""The job that works one receive of one occurrence, an op for each step."""

from collections.abc import Iterator
from functools import partial

import dagster as dg
from pydantic import Field

from queries_orchestration.deliveries import (
    deliver as deliver_step,
    lateness,
    make_file as make_file_step,
    resolve as resolve_step,
    settle as settle_step,
    skip_empty as skip_empty_step,
)
from queries_orchestration.model.errors import QueriesError
from queries_orchestration.orchestration import tags
from queries_orchestration.orchestration.launchpad import admit_from_launchpad
from queries_orchestration.orchestration.resources import WorkerResource
from queries_orchestration.orchestration.steps import NOT_TAKEN, refusal, step, terminated
from queries_orchestration.receives import start as start_step
from queries_orchestration.settings import DELIVERY_LANE, Settings
from queries_orchestration.store.exports import Export

delivery_step = partial(step, lane=DELIVERY_LANE, fail=settle_step.fail)


class OccurrenceConfig(dg.Config):
    """Which occurrence to work on; or which schedule to run now, for whom and why. Ids only."""

    occurrence: str = Field(
        default="", description="Key of the occurrence, as `queries history` shows it."
    )
    offer: int = Field(
        default=0,
        description="Number of the offer this run was launched with; 0 when you launch it.",
    )
    schedule: str = Field(
        default="", description="Instead of an occurrence: the id of a schedule to run now."
    )
    as_person: str = Field(
        default="", description="With a schedule: the id of the person for whom you run it."
    )
    reason: str = Field(default="", description="With a schedule: why, for the history.")


@dg.op(out={"started": dg.Out(dg.Nothing, is_required=False)})
def start(
    context: dg.OpExecutionContext, config: OccurrenceConfig, worker: WorkerResource
) -> Iterator[dg.Output[None]]:
    """Take the occurrence, look up who acts, open the query or report as that person."""
    backends = worker.backends
    try:
        key = config.occurrence or admit_from_launchpad(
            backends,
            schedule_id=config.schedule,
            person_id=config.as_person,
            reason=config.reason,
            run_id=context.run_id,
        )
    except QueriesError as error:
        raise refusal(error) from None
    yield from take(context, worker, key, offer_number=config.offer or None)


def take(
    context: dg.OpExecutionContext, worker: WorkerResource, key: str, *, offer_number: int | None
) -> Iterator[dg.Output[None]]:
    """Take an occurrence for the run and open its source; what the first op of a job does.

    Args:
        offer_number: the offer that the run was launched with; None if a person launched it.
    """
    backends = worker.backends
    try:
        receive = start_step.start(
            backends, key, lane=DELIVERY_LANE, offer_number=offer_number, run_id=context.run_id
        )
    except QueriesError as error:
        raise refusal(error) from None
    if isinstance(receive, start_step.NothingToDo):
        context.log.info("Nothing to do. %s", receive.reason)
        return
    worker.begin(receive, lane=DELIVERY_LANE, is_terminated=terminated(context))
    resolved = False
    with delivery_step(context, backends, receive):
        if lateness.miss_if_too_late(backends, receive):
            context.log.info("It is beyond its schedule's lateness limit: missed.")
        else:
            resolve_step.resolve(backends, receive)
            resolved = True
    if resolved:
        yield dg.Output(
            None, "started", metadata={"occurrence": receive.key, "receive": receive.number}
        )


@dg.op(ins={"started": dg.In(dg.Nothing)}, out={"file": dg.Out(dg.Nothing, is_required=False)})
def make_file(context: dg.OpExecutionContext, worker: WorkerResource) -> Iterator[dg.Output[None]]:
    """Generate the file of a query, or wait for the rendered report; skip an empty one if asked."""
    backends, receive = worker.backends, worker.receive
    if receive is None:
        context.log.info(NOT_TAKEN)
        return
    export: Export | None = None
    with delivery_step(context, backends, receive):
        made = make_file_step.make_file(backends, receive, worker.heartbeat)
        if skip_empty_step.is_to_be_skipped(backends, receive, made):
            outcome = settle_step.settle_skipped_empty(backends, receive)
            context.log.info("The result is empty: %s.", outcome)
        else:
            export = made
    if export is not None:
        yield dg.Output(
            None,
            "file",
            metadata={
                "rows": export.rows or 0,
                "bytes": export.size or 0,
                "format": export.format,
            },
        )


@dg.op(ins={"file": dg.In(dg.Nothing)}, out={"delivered": dg.Out(dg.Nothing, is_required=False)})
def deliver(context: dg.OpExecutionContext, worker: WorkerResource) -> Iterator[dg.Output[None]]:
    """Send each present recipient a message with a personal link."""
    backends, receive = worker.backends, worker.receive
    if receive is None:
        context.log.info(NOT_TAKEN)
        return
    delivered = False
    with delivery_step(context, backends, receive):
        deliver_step.deliver(backends, receive, worker.heartbeat)
        delivered = True
    if delivered:
        yield dg.Output(None, "delivered")


@dg.op(ins={"delivered": dg.In(dg.Nothing)})
def settle(context: dg.OpExecutionContext, worker: WorkerResource) -> None:
    """Write the outcome, the streak and the schedule's pause."""
    backends, receive = worker.backends, worker.receive
    if receive is None:
        context.log.info(NOT_TAKEN)
        return
    with delivery_step(context, backends, receive):
        outcome = settle_step.settle_delivered(backends, receive)
        context.add_output_metadata({"outcome": outcome})


@dg.job(
    executor_def=dg.in_process_executor,
    tags={
        tags.LANE: DELIVERY_LANE,
        tags.MAX_RUNTIME: tags.max_runtime(DELIVERY_LANE, Settings()),
    },
)
def deliver_occurrence() -> None:
    """Deliver one occurrence: access, file, empty skip, messages, settlement.

    Launched for each offer. Launching it by hand with the key of a waiting occurrence works it
    now; with a schedule, a person and a reason it runs the schedule now for that person. On a
    settled or running occurrence it does nothing and says so.
    """
    settle(deliver(make_file(start())))
