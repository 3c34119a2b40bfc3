"""All that Dagster loads; wiring only."""

from __future__ import annotations

import dagster as dg

from queries_orchestration.orchestration.backfill import backfill_occurrences
from queries_orchestration.orchestration.deliver_occurrence import deliver_occurrence
from queries_orchestration.orchestration.dispatcher import dispatch_deliveries
from queries_orchestration.orchestration.export_query import export_query
from queries_orchestration.orchestration.offering import (
    offer_deliveries,
    offer_exports,
    offer_reports,
)
from queries_orchestration.orchestration.render_report import render_report
from queries_orchestration.orchestration.resend import resend
from queries_orchestration.orchestration.resources import (
    CommunicationsResource,
    StorageResource,
    WorkerResource,
)
from queries_orchestration.orchestration.retention import retain_daily, retention
from queries_orchestration.orchestration.sweep import sweep_hourly, sweep_uploads

defs = dg.Definitions(
    jobs=[
        deliver_occurrence,
        resend,
        backfill_occurrences,
        export_query,
        render_report,
        sweep_uploads,
        retention,
    ],
    schedules=[dispatch_deliveries, sweep_hourly, retain_daily],
    sensors=[offer_deliveries, offer_exports, offer_reports],
    resources={
        "worker": WorkerResource(
            storage=StorageResource(), communications=CommunicationsResource()
        ),
    },
)
