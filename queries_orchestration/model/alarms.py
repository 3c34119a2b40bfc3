"""What calls somebody, and from when on: one table for Prometheus and for ``queries check``.

``deploy/prometheus/alerts.yaml`` is written from it. Each alarm has the code that ``queries check``
tells it with, and a row of that code in ``docs/operations.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final, Literal

from queries_orchestration.model.errors import CommunicationsUnavailable, StoreUnavailable

Severity = Literal["critical", "warning"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """One alarm: it goes off where ``metric`` is greater than ``above``.

    ``within`` makes it one of a counter: of how much it has grown in that time. ``only`` picks
    series by their labels, ``by`` are the labels that tell the alarms of one rule apart.
    ``lasting`` is how long it must be so before Prometheus calls; ``queries check`` tells it at
    once.
    """

    code: str
    metric: str
    above: float = 0
    within: timedelta | None = None
    only: Mapping[str, str] = field(default_factory=dict)
    by: tuple[str, ...] = ()
    lasting: timedelta = timedelta(0)
    severity: Severity
    summary: str

    @property
    def name(self) -> str:
        """What the rule of Prometheus is called."""
        return "Queries" + "".join(word.capitalize() for word in self.code.split("_"))

    @property
    def expression(self) -> str:
        """The rule's PromQL. Several servers tell the same of one store: the most counts."""
        picked = ",".join(f'{label}="{value}"' for label, value in self.only.items())
        series = f"{self.metric}{{{picked}}}" if picked else self.metric
        if self.within is not None:
            series = f"increase({series}[{prometheus_time(self.within)}])"
        by = f" by ({', '.join(self.by)})" if self.by else ""
        return f"max{by} ({series}) > {self.above:g}"


def prometheus_time(duration: timedelta) -> str:
    """Return a duration of whole minutes, or of whole days, as Prometheus writes it."""
    minutes = duration // timedelta(minutes=1)
    days, rest = divmod(minutes, 24 * 60)
    return f"{minutes}m" if rest else f"{days}d"


DISPATCHER_SILENT: Final = Alarm(
    code="dispatcher_silent",
    metric="queries_dispatcher_silence_seconds",
    above=timedelta(minutes=3).total_seconds(),
    by=("dispatcher",),
    severity="critical",
    summary="The dispatcher {{ $labels.dispatcher }} has ended no pass for three minutes.",
)
DISPATCHER_FAILING: Final = Alarm(
    code="dispatcher_failing",
    metric="queries_dispatcher_errors_total",
    within=timedelta(minutes=15),
    by=("dispatcher",),
    severity="warning",
    summary="Something failed in a pass of the dispatcher {{ $labels.dispatcher }}.",
)
DISPATCH_STOPPED: Final = Alarm(
    code="dispatch_stopped",
    metric="queries_dispatch_stopped",
    severity="warning",
    summary="Somebody has stopped all dispatching.",
)
SCHEDULES_OVERDUE: Final = Alarm(
    code="schedules_overdue",
    metric="queries_due_lag_seconds",
    above=timedelta(minutes=5).total_seconds(),
    severity="critical",
    summary="A schedule has been due for five minutes, and no pass has admitted its slot.",
)
STUCK: Final = Alarm(
    code="stuck",
    metric="queries_oldest_waiting_seconds",
    above=timedelta(minutes=30).total_seconds(),
    by=("lane",),
    severity="warning",
    summary="Work of the lane {{ $labels.lane }} has waited for half an hour, and no run takes it.",
)
WORKER_SILENT: Final = Alarm(
    code="worker_silent",
    metric="queries_silent_workers",
    by=("lane",),
    lasting=timedelta(minutes=2),
    severity="warning",
    summary="A worker of the lane {{ $labels.lane }} is not heard of, and nobody finds its work.",
)
UPKEEP_SILENT: Final = Alarm(
    code="upkeep_silent",
    metric="queries_upkeep_silence_seconds",
    above=timedelta(days=2).total_seconds(),
    by=("upkeep",),
    severity="warning",
    summary="The job {{ $labels.upkeep }} has not gone well for two days.",
)
DEAD_LETTERED: Final = Alarm(
    code="dead_lettered",
    metric="queries_dead_letters_total",
    within=timedelta(days=1),
    by=("lane",),
    severity="warning",
    summary="Work of the lane {{ $labels.lane }} has failed after its third receive.",
)
COMMUNICATIONS_UNAVAILABLE: Final = Alarm(
    code=CommunicationsUnavailable.code,
    metric="queries_receives_failed_total",
    only={"lane": "delivery", "code": CommunicationsUnavailable.code},
    within=timedelta(minutes=15),
    severity="critical",
    summary="Messages cannot go.",
)
STORE_UNAVAILABLE: Final = Alarm(
    code=StoreUnavailable.code,
    metric="queries_store_unavailable",
    lasting=timedelta(minutes=2),
    severity="critical",
    summary="The application database does not answer the API server.",
)

ALARMS: Final = (
    DISPATCHER_SILENT,
    DISPATCHER_FAILING,
    DISPATCH_STOPPED,
    SCHEDULES_OVERDUE,
    STUCK,
    WORKER_SILENT,
    DEAD_LETTERED,
    COMMUNICATIONS_UNAVAILABLE,
    STORE_UNAVAILABLE,
    UPKEEP_SILENT,
)
