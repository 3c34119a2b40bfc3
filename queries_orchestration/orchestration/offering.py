"""The sensors that offer, every few seconds, what waits in a lane.

They find what the minutely schedule does not bring: run now, exports, the rest of a big batch,
released offers, retries.
"""

import dagster as dg

from queries_orchestration.deliveries.offer_round import offer_round
from queries_orchestration.deliveries.stop_dispatch import told
from queries_orchestration.orchestration.dagster_runs import DagsterRuns
from queries_orchestration.orchestration.resources import WorkerResource
from queries_orchestration.orchestration.run_requests import job_of, run_request_of
from queries_orchestration.settings import DELIVERY_LANE, EXPORT_LANE, REPORT_LANE
from queries_orchestration.store import dispatch_stops
from queries_orchestration.store.dispatchers import OFFERING_DISPATCHERS

SECONDS_BETWEEN_LOOKS = 5


def _offering(lane: str, description: str) -> dg.SensorDefinition:
    @dg.sensor(
        name=OFFERING_DISPATCHERS[lane],
        job=job_of(lane),
        minimum_interval_seconds=SECONDS_BETWEEN_LOOKS,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=description,
    )
    def offering(
        context: dg.SensorEvaluationContext, worker: WorkerResource
    ) -> list[dg.RunRequest] | dg.SkipReason:
        backends, runs = worker.backends, DagsterRuns(context.instance)
        done = offer_round(backends, runs, lane)
        if not done.offers:
            with backends.database.across.read() as connection:
                stop = dispatch_stops.current(connection)
            nothing = "Nothing waits that may start" if stop is None else told(stop)
            return dg.SkipReason(
                f"{nothing} (recovered {done.recovered}, taken back {done.released})."
            )
        return [run_request_of(offer, backends.settings) for offer in done.offers]

    return offering


offer_deliveries = _offering(
    DELIVERY_LANE,
    "Every few seconds: launch a run of deliver_occurrence for what waits in the delivery lane"
    " (run now, retries, the rest of a big batch), and find again what was lost.",
)
offer_exports = _offering(
    EXPORT_LANE,
    "Every few seconds: launch a run of export_query for what waits in the export lane, in fair"
    " turns over workspaces, and find again what was lost.",
)
offer_reports = _offering(
    REPORT_LANE,
    "Every few seconds: launch a run of render_report for what waits in the report lane, reports"
    " that deliveries wait for as well as those that people asked for, and find again what was"
    " lost.",
)
