"""Take an export for a run: what the first op of both jobs that make files does."""

import dagster as dg
from pydantic import Field

from queries_orchestration.model.errors import QueriesError
from queries_orchestration.orchestration.resources import WorkerResource
from queries_orchestration.orchestration.steps import refusal, terminated
from queries_orchestration.receives import start as start_step
from queries_orchestration.store.claims import Receive


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
