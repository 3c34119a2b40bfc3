"""What this server counts of its own requests, and all that it tells Prometheus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final, Literal

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from queries_orchestration.receives.backends import Backends
from queries_orchestration.telling.metrics import StoreCollector

Refusal = Literal["refused", "too_many", "try_again"]
REFUSALS: Final[tuple[Refusal, ...]] = ("refused", "too_many", "try_again")


class LinkRefusals(Collector):
    """How often this server did not open a link, by what it answered; whose link is not told."""

    def __init__(self) -> None:
        self._refusals: Counter[Refusal] = Counter()

    def count(self, answer: Refusal) -> None:
        """Count one answer; only the thread of the event loop does."""
        self._refusals[answer] += 1

    def collect(self) -> Iterator[Metric]:
        """Yield the one metric."""
        family = CounterMetricFamily(
            "queries_link_refusals", "Links that this server did not open.", labels=["answer"]
        )
        for answer in REFUSALS:
            family.add_metric([answer], self._refusals[answer])
        yield family


class Meters:
    """The metrics of one server: those of the store, read at each scrape, and its own."""

    def __init__(self, backends: Backends) -> None:
        self.link_refusals = LinkRefusals()
        self.registry = CollectorRegistry()
        self.registry.register(StoreCollector(backends))
        self.registry.register(self.link_refusals)
