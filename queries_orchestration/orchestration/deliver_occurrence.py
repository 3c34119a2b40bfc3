"""The job that works one receive of one occurrence, an op for each step."""

from collections.abc import Iterator
from functools import partial
from typing import Any

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
from queries_orchestration.model.outcomes import Outcome
from queries_orchestration.orchestration import metadata, tags
from queries_orchestration.orchestration.launchpad import occurrence_from_launchpad
from queries_orchestration.orchestration.materialization import materialize_delivered
from queries_orchestration.orchestration.resources import WorkerResource
from queries_orchestration.orchestration.steps import NOT_TAKEN, failure, refusals_shown, step
from queries_orchestration.orchestration.taking import nothing_to_do, take_next, take_work
from queries_orchestration.orchestration.told_run import (
    read_tally,
    read_work,
    tag_outcome,
    tag_run,
    tag_working,
    tags_of_work,
)
from queries_orchestration.settings import DELIVERY_LANE, Settings
from queries_orchestration.store.claims import Receive
from queries_orchestration.store.exports import Export

delivery_step = partial(step, lane=DELIVERY_LANE, fail=settle_step.fail)


class OccurrenceConfig(dg.Config):
    """Which occurrence to work on; or which schedule to run now, for whom and why. Ids only.

    As it is: the occurrence that is next in turn.
    """

    occurrence: str = Field(
        default="",
        description=(
            "Key of the occurrence, as `queries history` shows it; empty, and no schedule either:"
            " what is next in turn."
        ),
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
    tag_working(context)
    if not (config.occurrence or config.schedule or config.as_person or config.reason):
        yield from begin(context, worker, take_next(context, worker, lane=DELIVERY_LANE))
        return
    with refusals_shown(context):
        key = occurrence_from_launchpad(
            worker.backends,
            occurrence_key=config.occurrence,
            schedule_id=config.schedule,
            person_id=config.as_person,
            reason=config.reason,
            # A re-execution has an id of its own, and is no click of its own.
            run_id=context.run.root_run_id or context.run_id,
        )
    yield from take(context, worker, key, offer_number=config.offer or None)


def take(
    context: dg.OpExecutionContext, worker: WorkerResource, key: str, *, offer_number: int | None
) -> Iterator[dg.Output[None]]:
    """Take an occurrence for the run and open its source; what the first op of a job does.

    Args:
        offer_number: the offer that the run was launched with; None if a person launched it.
    """
    receive = take_work(context, worker, key, lane=DELIVERY_LANE, offer_number=offer_number)
    yield from begin(context, worker, receive)


def begin(
    context: dg.OpExecutionContext, worker: WorkerResource, receive: Receive | None
) -> Iterator[dg.Output[None]]:
    """Open the source of the occurrence that was taken, if one was."""
    if receive is None:
        return
    backends, entries = worker.backends, None
    with delivery_step(context, backends, receive):
        if work := read_work(backends, receive):
            tag_run(context, tags_of_work(work))
        if lateness.miss_if_too_late(backends, receive):
            context.log.info("It is beyond its schedule's lateness limit: missed.")
            tag_outcome(context, "missed")
        else:
            resolve_step.resolve(backends, receive)
            if work := read_work(backends, receive):
                tag_run(context, tags_of_work(work))  # the file has an id now
            entries = metadata.of_work(work, backends.settings.public_url)
    if entries is not None:
        entries |= {"occurrence": receive.key, "receive": receive.number}
        yield dg.Output(None, "started", metadata=entries)


@dg.op(ins={"started": dg.In(dg.Nothing)}, out={"file": dg.Out(dg.Nothing, is_required=False)})
def make_file(context: dg.OpExecutionContext, worker: WorkerResource) -> Iterator[dg.Output[None]]:
    """Generate the file of a query, or wait for the rendered report; skip an empty one if asked."""
    backends, receive = worker.backends, worker.receive
    if receive is None:
        nothing_to_do(context, NOT_TAKEN)
        return
    export: Export | None = None
    with delivery_step(context, backends, receive):
        made = make_file_step.make_file(backends, receive, worker.heartbeat)
        materialize_delivered(context, backends, receive, made)
        if skip_empty_step.is_to_be_skipped(backends, receive, made):
            outcome = settle_step.settle_skipped_empty(backends, receive)
            context.log.info("The result is empty: %s.", outcome)
            tag_outcome(context, outcome)
        else:
            export = made
    if export is not None:
        yield dg.Output(None, "file", metadata=metadata.of_file(export))


@dg.op(ins={"file": dg.In(dg.Nothing)}, out={"delivered": dg.Out(dg.Nothing, is_required=False)})
def deliver(context: dg.OpExecutionContext, worker: WorkerResource) -> Iterator[dg.Output[None]]:
    """Send each present recipient a message with a personal link."""
    backends, receive = worker.backends, worker.receive
    if receive is None:
        nothing_to_do(context, NOT_TAKEN)
        return
    entries: dict[str, Any] | None = None
    with delivery_step(context, backends, receive):
        deliver_step.deliver(backends, receive, worker.heartbeat)
        entries = metadata.of_recipients(read_tally(backends, receive))
    if entries is not None:
        yield dg.Output(None, "delivered", metadata=entries)


@dg.op(ins={"delivered": dg.In(dg.Nothing)})
def settle(context: dg.OpExecutionContext, worker: WorkerResource) -> None:
    """Write the outcome, the streak and the schedule's pause."""
    backends, receive = worker.backends, worker.receive
    if receive is None:
        nothing_to_do(context, NOT_TAKEN)
        return
    settled: tuple[Outcome, dict[str, Any]] | None = None
    with delivery_step(context, backends, receive):
        entries = metadata.of_work(read_work(backends, receive), backends.settings.public_url)
        entries |= metadata.of_recipients(read_tally(backends, receive))
        settled = settle_step.settle_delivered(backends, receive), entries
    if settled is not None:
        tell_outcome(context, receive, *settled)


def tell_outcome(
    context: dg.OpExecutionContext, receive: Receive, outcome: Outcome, entries: dict[str, Any]
) -> None:
    """Tell how the occurrence ended.

    Raises:
        Failure: every recipient was refused for good; it is settled as any other.
    """
    tag_outcome(context, outcome)
    if outcome == "failed":
        refused = QueriesError(settle_step.NOBODY_TOOK_IT, code=settle_step.ALL_REFUSED)
        raise failure(refused, receive, entries | {"outcome": outcome})
    context.add_output_metadata(entries | {"outcome": outcome})


@dg.job(
    executor_def=dg.in_process_executor,
    tags={
        tags.LANE: DELIVERY_LANE,
        tags.QUEUE: DELIVERY_LANE,
        tags.MAX_RUNTIME: tags.max_runtime(DELIVERY_LANE, Settings()),
    },
)
def deliver_occurrence() -> None:
    """Deliver one occurrence: access, file, empty skip, messages, settlement.

    Launched for each offer. Launching it by hand with the key of a waiting occurrence works it
    now, as it is the one that is next in turn; with a schedule, a person and a reason it runs the
    schedule now for that person. On a settled or running occurrence it does nothing and says so.
    """
    settle(deliver(make_file(start())))
