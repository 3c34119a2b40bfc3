"""Take an export for a run, and make its file: what the ops of both jobs that make files do."""

from collections.abc import Callable

import dagster as dg
from pydantic import Field

from queries_orchestration.exports.settle import fail
from queries_orchestration.model.errors import QueriesError
from queries_orchestration.orchestration.resources import WorkerResource
from queries_orchestration.orchestration.steps import NOT_TAKEN, refusal, step, terminated
from queries_orchestration.receives import start as start_step
from queries_orchestration.receives.backends import Backends
from queries_orchestration.receives.heartbeat import Heartbeat
from queries_orchestration.store.claims import Receive
from queries_orchestration.store.exports import Export


class ExportConfig(dg.Config):
    """Which export to work on: ids only."""

    export: str = Field(description="Id of the export, as `queries exports list` shows it.")
    offer: int = Field(
        default=0,
        description="Number of the offer this run was launched with; 0 when you launch it.",
    )


def take_export(
    context: dg.OpExecutionContext, config: ExportConfig, worker: WorkerResource, *, lane: str
) -> Receive | None:
    """Take the export for this run and start its heartbeat; None if there is nothing to do.

    Raises:
        Failure: there is no such export, or it is work of another lane.
    """
    try:
        receive = start_step.start(
            worker.backends,
            config.export,
            lane=lane,
            offer_number=config.offer or None,
            run_id=context.run_id,
        )
    except QueriesError as error:
        raise refusal(error) from None
    if isinstance(receive, start_step.NothingToDo):
        context.log.info("Nothing to do. %s", receive.reason)
        return None
    worker.begin(receive, lane=lane, is_terminated=terminated(context))
    return receive


def started(receive: Receive) -> dg.Output[None]:
    """Return what tells that the export was taken."""
    return dg.Output(None, "started", metadata={"export": receive.key, "receive": receive.number})


def make_taken(
    context: dg.OpExecutionContext,
    worker: WorkerResource,
    make: Callable[[Backends, Receive, Heartbeat], Export],
    *,
    lane: str,
) -> None:
    """Make the file of the export that this run has taken, if it has."""
    backends, receive = worker.backends, worker.receive
    if receive is None:
        context.log.info(NOT_TAKEN)
        return
    with step(context, backends, receive, lane=lane, fail=fail):
        made = make(backends, receive, worker.heartbeat)
        context.add_output_metadata(
            {"rows": made.rows or 0, "bytes": made.size or 0, "format": made.format}
        )
