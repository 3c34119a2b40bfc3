"""The job that works one receive of one occurrence, an op for each step."""

from collections.abc import Iterator

import dagster as dg
from pydantic import Field

from queries_orchestration.deliveries import (
    deliver as deliver_step,
    make_file as make_file_step,
    resolve as resolve_step,
    settle as settle_step,
    skip_empty as skip_empty_step,
    start as start_step,
)
from queries_orchestration.model.errors import QueriesError
from queries_orchestration.orchestration import tags
from queries_orchestration.orchestration.resources import DeliveryResource
from queries_orchestration.orchestration.steps import step
from queries_orchestration.settings import DELIVERY_LANE, Settings
from queries_orchestration.store.exports import Export
from queries_orchestration.store.occurrences import Receive


class OccurrenceConfig(dg.Config):
    """Which occurrence to work on: ids only."""

    occurrence: str = Field(description="Key of the occurrence, as `queries history` shows it.")
    offer: int = Field(
        default=0,
        description="Number of the offer this run was launched with; 0 when you launch it.",
    )


@dg.op(out={"receive": dg.Out(Receive, is_required=False)})
def start(
    context: dg.OpExecutionContext, config: OccurrenceConfig, delivery: DeliveryResource
) -> Iterator[dg.Output[Receive]]:
    """Take the occurrence, look up who acts, open the query as that person."""
    backends = delivery.backends
    try:
        receive = start_step.start(
            backends,
            config.occurrence,
            offer_number=config.offer or None,
            run_id=context.run_id,
        )
    except QueriesError as error:
        raise dg.Failure(
            description=f"{error.code}: {error.message}", allow_retries=False
        ) from None
    if isinstance(receive, start_step.NothingToDo):
        context.log.info("Nothing to do. %s", receive.reason)
        return
    delivery.begin(receive)
    resolved = False
    with step(context, backends, receive):
        resolve_step.resolve(backends, receive)
        resolved = True
    if resolved:
        yield dg.Output(receive, "receive", metadata={"receive": receive.number})


@dg.op(out={"export": dg.Out(Export, is_required=False)})
def make_file(
    context: dg.OpExecutionContext, receive: Receive, delivery: DeliveryResource
) -> Iterator[dg.Output[Export]]:
    """Generate the file, or find the one an earlier receive made; skip an empty one if asked."""
    backends = delivery.backends
    export: Export | None = None
    with step(context, backends, receive):
        made = make_file_step.make_file(backends, receive, delivery.heartbeat)
        if skip_empty_step.is_to_be_skipped(backends, receive, made):
            outcome = settle_step.settle_skipped_empty(backends, receive)
            context.log.info("The result is empty: %s.", outcome)
        else:
            export = made
    if export is not None:
        yield dg.Output(
            export,
            "export",
            metadata={
                "rows": export.rows or 0,
                "bytes": export.size or 0,
                "format": export.format,
            },
        )


@dg.op(out={"delivered": dg.Out(bool, is_required=False)})
def deliver(
    context: dg.OpExecutionContext, receive: Receive, export: Export, delivery: DeliveryResource
) -> Iterator[dg.Output[bool]]:
    """Send each present recipient a message with a personal link."""
    delivered = False
    with step(context, delivery.backends, receive):
        deliver_step.deliver(delivery.backends, receive, export, delivery.heartbeat)
        delivered = True
    if delivered:
        yield dg.Output(True, "delivered")


@dg.op
def settle(
    context: dg.OpExecutionContext, receive: Receive, delivered: bool, delivery: DeliveryResource
) -> None:
    """Write the outcome, the streak and the schedule's pause."""
    with step(context, delivery.backends, receive):
        outcome = settle_step.settle_delivered(delivery.backends, receive)
        context.add_output_metadata({"outcome": outcome})


@dg.job(
    executor_def=dg.in_process_executor,
    tags={
        tags.LANE: DELIVERY_LANE,
        tags.MAX_RUNTIME: str(int(Settings().delivery_deadline) + tags.RUNTIME_MARGIN),
    },
)
def deliver_occurrence() -> None:
    """Deliver one occurrence: access, file, empty skip, messages, settlement.

    Launched for each offer by the dispatcher. Launching it by hand with the key of a waiting
    occurrence works it now; on a settled or running one it does nothing and says so.
    """
    receive = start()
    export = make_file(receive)
    settle(receive, deliver(receive, export))
