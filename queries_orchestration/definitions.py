"""All that Dagster loads; wiring only."""

from __future__ import annotations

import dagster as dg

from queries_orchestration.orchestration.deliver_occurrence import deliver_occurrence
from queries_orchestration.orchestration.dispatcher import dispatch_deliveries
from queries_orchestration.orchestration.resources import (
    CommunicationsResource,
    DeliveryResource,
    StorageResource,
)

defs = dg.Definitions(
    jobs=[deliver_occurrence],
    schedules=[dispatch_deliveries],
    resources={
        "delivery": DeliveryResource(
            storage=StorageResource(), communications=CommunicationsResource()
        ),
        # Ops share one process; nothing that passes between them is worth keeping beyond it.
        "io_manager": dg.mem_io_manager,
    },
)
