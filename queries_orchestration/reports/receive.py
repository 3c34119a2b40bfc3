"""One receive of a report's render from start to end, as plain functions.

The Dagster job runs the same steps as ops; tests call ``work``.
"""

from __future__ import annotations

from queries_orchestration.exports.export_file import ExportFile
from queries_orchestration.exports.generate import Patience, Produce
from queries_orchestration.exports.open_report import OpenedReport
from queries_orchestration.exports.open_source import OpenedSource
from queries_orchestration.exports.receive import make_own_file
from queries_orchestration.exports.settle import fail
from queries_orchestration.receives.backends import Backends
from queries_orchestration.receives.heartbeat import Heartbeat
from queries_orchestration.receives.start import NothingToDo
from queries_orchestration.receives.work import work_receive
from queries_orchestration.reports.render import report_producer
from queries_orchestration.settings import REPORT_LANE
from queries_orchestration.store.claims import Receive
from queries_orchestration.store.exports import Export


def render_report(backends: Backends, receive: Receive, heartbeat: Heartbeat) -> Export:
    """Render a report as its actor, under the access they have now, and end the work with it.

    Raises:
        ReceiveLost: a newer receive or a cancel took the work.
        PermanentError, TransientError: it cannot be rendered, or not now.
    """

    def producer(file: ExportFile, opened: OpenedSource, patience: Patience) -> Produce:
        if not isinstance(opened, OpenedReport):
            raise TypeError("the report lane renders reports")
        return report_producer(
            file,
            opened,
            settings=backends.settings,
            patience=patience,
            read_at=backends.clock(),
        )

    return make_own_file(backends, receive, heartbeat, producer)


def work(
    backends: Backends, export_id: str, *, offer_number: int | None, run_id: str
) -> Export | NothingToDo:
    """Work one receive of a report's export to its end.

    Raises:
        PermanentError, TransientError: the receive failed; the store says what follows.
        ReceiveLost: a newer receive or a cancel took the work.
    """
    return work_receive(
        backends,
        export_id,
        render_report,
        lane=REPORT_LANE,
        fail=fail,
        offer_number=offer_number,
        run_id=run_id,
    )
