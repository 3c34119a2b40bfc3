"""The job that works one receive of one interactive export of a query."""

from collections.abc import Iterator

import dagster as dg

from queries_orchestration.exports import receive as receive_step
from queries_orchestration.orchestration import tags
from queries_orchestration.orchestration.resources import WorkerResource
from queries_orchestration.orchestration.take_export import (
    ExportConfig,
    make_taken,
    take_export,
)
from queries_orchestration.settings import EXPORT_LANE, Settings


@dg.op(out={"started": dg.Out(dg.Nothing, is_required=False)})
def start_export(
    context: dg.OpExecutionContext, config: ExportConfig, worker: WorkerResource
) -> Iterator[dg.Output[None]]:
    """Take the export for this run."""
    yield from take_export(context, config, worker, lane=EXPORT_LANE)


@dg.op(ins={"started": dg.In(dg.Nothing)})
def generate(context: dg.OpExecutionContext, worker: WorkerResource) -> None:
    """Read the query as the requester, page by page, into the file, and record its completion."""
    make_taken(context, worker, receive_step.generate_export, lane=EXPORT_LANE)


@dg.job(
    executor_def=dg.in_process_executor,
    tags={
        tags.LANE: EXPORT_LANE,
        tags.QUEUE: EXPORT_LANE,
        tags.MAX_RUNTIME: tags.max_runtime(EXPORT_LANE, Settings()),
    },
)
def export_query() -> None:
    """Make the file of one interactive export of a query, in its own lane.

    Launched for each offer. Launching it by hand with the id of a waiting export works it now, as
    it is the one that is next in turn; on a finished or running one it does nothing and says so.
    """
    generate(start_export())
