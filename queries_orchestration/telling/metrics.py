"""The vitals of the installation as metrics of Prometheus.

Labels are lanes, states, outcomes, dispatchers and codes, all of them ours: no workspace, name,
address or value is one. A counter is told as 0 before its first time, wherever an alarm watches how
it grows: Prometheus sees no growth from nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from queries_orchestration.model.alarms import COMMUNICATIONS_UNAVAILABLE
from queries_orchestration.model.errors import StoreUnavailable
from queries_orchestration.receives.backends import Backends
from queries_orchestration.settings import LANE_WIDTHS
from queries_orchestration.store import counters, vitals
from queries_orchestration.store.vitals import STATES, Vitals

Values = Mapping[tuple[str, ...], float]


@dataclass(frozen=True, slots=True)
class _Counted:
    """How a counter of the store is told; ``zeros`` are the series that are always there."""

    about: str
    labels: tuple[str, ...]
    zeros: tuple[tuple[str, ...], ...] = ()


_LANES: Final = tuple((lane,) for lane in LANE_WIDTHS)
COUNTERS: Final[Mapping[str, _Counted]] = {
    counters.OCCURRENCES_SETTLED: _Counted("Occurrences that were settled", ("outcome", "code")),
    counters.EXPORTS_SETTLED: _Counted("Files that were made or not", ("state", "code")),
    counters.DELIVERIES_SETTLED: _Counted("What recipients got", ("state", "code")),
    counters.RECEIVES_STARTED: _Counted("Attempts that began", ("lane",), _LANES),
    counters.RECEIVES_FAILED: _Counted(
        "Attempts that failed",
        ("lane", "code"),
        (tuple(COMMUNICATIONS_UNAVAILABLE.only.values()),),
    ),
    counters.OFFERS_RELEASED: _Counted("Offers that no run took", ("lane",), _LANES),
    counters.DEAD_LETTERS: _Counted("Work that failed after its third attempt", ("lane",), _LANES),
    counters.RUNS_FAILED: _Counted("Occurrences that failed", ("code",)),
    counters.AUTO_PAUSES: _Counted("Schedules that a failure has paused", ("code",)),
}


class StoreCollector(Collector):
    """Reads the store at each scrape; where it does not answer, the metrics say so."""

    def __init__(self, backends: Backends) -> None:
        self._backends = backends

    def collect(self) -> Iterator[Metric]:
        """Yield every metric."""
        try:
            with self._backends.database.across.read() as connection:
                read = vitals.read(
                    connection,
                    at=self._backends.clock(),
                    silence=self._backends.settings.heartbeat_silence,
                )
        except StoreUnavailable:
            yield _unavailable(True)
            return
        yield _unavailable(False)
        yield from families(read)


def families(read: Vitals) -> Iterator[Metric]:
    """Yield the metrics of what was read."""
    yield _gauge(
        "dispatcher_silence_seconds",
        "Since its last pass ended",
        {(name,): seconds for name, seconds in read.silences.items()},
        "dispatcher",
    )
    yield _counter(
        "dispatcher_errors",
        "What failed in its passes",
        {(name,): float(errors) for name, errors in read.errors.items()},
        "dispatcher",
    )
    yield _gauge(
        "upkeep_silence_seconds",
        "Since a job of the upkeep last went well",
        {(name,): seconds for name, seconds in read.upkeep.items()},
        "upkeep",
    )
    yield _gauge("dispatch_stopped", "1: all dispatching is stopped", {(): float(read.is_stopped)})
    yield _gauge("due_schedules", "Schedules with a slot to admit", {(): float(read.due)})
    yield _gauge("due_lag_seconds", "Since the first of them was due", {(): read.due_lag})
    yield _gauge("unsent_notices", "Notices that wait to be sent", {(): float(read.unsent_notices)})
    work: Values = {
        (lane, state): getattr(of, state) for lane, of in read.lanes.items() for state in STATES
    }
    yield _gauge("work", "Work that is not done", work, "lane", "state")
    for name, about, field in (
        ("silent_workers", "Running work whose worker is not heard of", "silent"),
        ("oldest_waiting_seconds", "Since the first of what waits could run", "oldest_waiting"),
        ("oldest_offer_seconds", "Since the first of the live offers was made", "oldest_offer"),
    ):
        values: Values = {(lane,): getattr(of, field) for lane, of in read.lanes.items()}
        yield _gauge(name, about, values, "lane")
    for name, told in COUNTERS.items():
        rows = {
            tuple(one.code if label == "code" else one.label for label in told.labels): one.value
            for one in read.counters
            if one.name == name
        }
        yield _counter(name, told.about, dict.fromkeys(told.zeros, 0.0) | rows, *told.labels)


def _unavailable(is_so: bool) -> Metric:
    return _gauge("store_unavailable", "1: the database does not answer", {(): float(is_so)})


def _gauge(name: str, about: str, values: Values, *labels: str) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"queries_{name}", f"{about}.", labels=labels)
    for key, value in values.items():
        family.add_metric(key, value)
    return family


def _counter(name: str, about: str, values: Values, *labels: str) -> CounterMetricFamily:
    family = CounterMetricFamily(f"queries_{name}", f"{about}.", labels=labels)
    for key, value in values.items():
        family.add_metric(key, value)
    return family
