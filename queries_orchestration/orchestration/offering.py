"""The sensors that offer, every few seconds, what waits in a lane.

They find what the minutely schedule does not bring: run now, exports, the rest of a big batch,
released offers, retries.
"""

import dagster as dg

from queries_orchestration.deliveries.recover import recover_silent, tend_offers
from queries_orchestration.deliveries.stop_dispatch import told
from queries_orchestration.orchestration.dagster_runs import DagsterRuns
from queries_orchestration.orchestration.resources import WorkerResource
from queries_orchestration.orchestration.run_requests import job_of, run_request_of
from queries_orchestration.receives.publish import offer_lane
from queries_orchestration.settings import DELIVERY_LANE, EXPORT_LANE, REPORT_LANE
from queries_orchestration.store import dispatch_stops

SECONDS_BETWEEN_LOOKS = 5


def _offering(name: str, lane: str, description: str) -> dg.SensorDefinition:
    @dg.sensor(
        name=name,
        job=job_of(lane),
        minimum_interval_seconds=SECONDS_BETWEEN_LOOKS,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description=description,
    )
    def offering(
        context: dg.SensorEvaluationContext, worker: WorkerResource
    ) -> list[dg.RunRequest] | dg.SkipReason:
        backends, runs = worker.backends, DagsterRuns(context.instance)
        settings = backends.settings
        recovered = recover_silent(backends, runs)
        released = tend_offers(backends, runs, lane)
        offers = offer_lane(backends.database, settings, lane)
        if not offers:
            with backends.database.across.read() as connection:
                stop = dispatch_stops.current(connection)
            nothing = "Nothing waits that may start" if stop is None else told(stop)
            return dg.SkipReason(f"{nothing} (recovered {recovered}, taken back {released}).")
        return [run_request_of(offer, settings) for offer in offers]

    return offering


offer_deliveries = _offering(
    "offer_deliveries",
    DELIVERY_LANE,
    "Every few seconds: launch a run of deliver_occurrence for what waits in the delivery lane"
    " (run now, retries, the rest of a big batch), and find again what was lost.",
)
offer_exports = _offering(
    "offer_exports",
    EXPORT_LANE,
    "Every few seconds: launch a run of export_query for what waits in the export lane, in fair"
    " turns over workspaces, and find again what was lost.",
)
offer_reports = _offering(
    "offer_reports",
    REPORT_LANE,
    "Every few seconds: launch a run of render_report for what waits in the report lane, reports"
    " that deliveries wait for as well as those that people asked for, and find again what was"
    " lost.",
)
