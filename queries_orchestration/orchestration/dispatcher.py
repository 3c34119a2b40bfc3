"""The one constant minutely schedule that admits what is due and offers what waits."""

import dagster as dg

from queries_orchestration.deliveries.dispatch import run_pass
from queries_orchestration.deliveries.stop_dispatch import told
from queries_orchestration.orchestration.dagster_runs import DagsterRuns
from queries_orchestration.orchestration.deliver_occurrence import deliver_occurrence
from queries_orchestration.orchestration.resources import WorkerResource
from queries_orchestration.orchestration.run_requests import run_request_of


@dg.schedule(
    name="dispatch_deliveries",
    job=deliver_occurrence,
    cron_schedule="* * * * *",
    execution_timezone="UTC",
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description=(
        "Each minute: admit the due slots of all schedules, find again what a lost worker held,"
        " and launch a run of deliver_occurrence for each offer. It asks what is due since, so a"
        " missed tick loses nothing."
    ),
)
def dispatch_deliveries(
    context: dg.ScheduleEvaluationContext, worker: WorkerResource
) -> list[dg.RunRequest] | dg.SkipReason:
    """Run one dispatcher pass and launch a run for each offer it made."""
    backends = worker.backends
    runs = DagsterRuns(context.instance)
    done = run_pass(backends, runs, at=backends.clock(), offer=True)
    if done.held_by is not None:
        return dg.SkipReason(f"Another pass is at work: {done.held_by}.")
    if done.stopped is not None:
        return dg.SkipReason(told(done.stopped))
    if not done.offers:
        return dg.SkipReason(
            f"Nothing to offer (admitted {done.admitted}, missed {done.missed},"
            f" recovered {done.recovered})."
        )
    return [run_request_of(offer, backends.settings) for offer in done.offers]
