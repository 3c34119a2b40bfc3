"""The hourly sweep of what killed workers left in the storage."""

import dagster as dg

from queries_orchestration.orchestration import tags
from queries_orchestration.orchestration.resources import WorkerResource
from queries_orchestration.orchestration.steps import refusals_shown
from queries_orchestration.retention.upkeep import sweep
from queries_orchestration.settings import UPKEEP_LANE


@dg.op
def abort_stale_uploads(context: dg.OpExecutionContext, worker: WorkerResource) -> None:
    """Abort uploads that no export records and that are older than QUERIES_UPLOAD_AGE."""
    with refusals_shown(context):
        aborted = sweep(worker.backends)
    context.log.info("Aborted %d uploads.", aborted)
    context.add_output_metadata({"aborted": aborted})


@dg.job(executor_def=dg.in_process_executor, tags={tags.LANE: UPKEEP_LANE})
def sweep_uploads() -> None:
    """Abort the uploads that workers left who were killed before they could record them.

    Launched every hour; by hand at any time.
    """
    abort_stale_uploads()


sweep_hourly = dg.ScheduleDefinition(
    name="sweep_hourly",
    job=sweep_uploads,
    cron_schedule="17 * * * *",
    execution_timezone="UTC",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Every hour: abort uploads that killed workers left in the storage.",
)
