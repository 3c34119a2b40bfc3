"""The job that works one receive of one report's render, for a delivery or for a person."""

from collections.abc import Iterator

import dagster as dg

from queries_orchestration.orchestration import tags
from queries_orchestration.orchestration.resources import WorkerResource
from queries_orchestration.orchestration.take_export import (
    ExportConfig,
    make_taken,
    take_export,
)
from queries_orchestration.reports import receive as receive_step
from queries_orchestration.settings import REPORT_LANE, Settings


@dg.op(out={"started": dg.Out(dg.Nothing, is_required=False)})
def start_render(
    context: dg.OpExecutionContext, config: ExportConfig, worker: WorkerResource
) -> Iterator[dg.Output[None]]:
    """Take the report's export for this run."""
    yield from take_export(context, config, worker, lane=REPORT_LANE)


@dg.op(ins={"started": dg.In(dg.Nothing)})
def render(context: dg.OpExecutionContext, worker: WorkerResource) -> None:
    """Read each section as the actor, print or write the document, record its completion."""
    make_taken(context, worker, receive_step.render_report, lane=REPORT_LANE)


@dg.job(
    executor_def=dg.in_process_executor,
    tags={
        tags.LANE: REPORT_LANE,
        tags.QUEUE: REPORT_LANE,
        tags.MAX_RUNTIME: tags.max_runtime(REPORT_LANE, Settings()),
    },
)
def render_report() -> None:
    """Render one report as PDF or workbook, in a lane of its own.

    The export is a person's own, or that of a delivery which waits for it. Launched for each
    offer. Launching it by hand with the id of a waiting export works it now, as it is the one that
    is next in turn; on a finished or running one it does nothing and says so.
    """
    render(start_render())
