"""The metrics as Prometheus would have them, and the alarms that they set off."""

from __future__ import annotations

from collections.abc import Mapping

from prometheus_client.parser import text_string_to_metric_families

from queries_orchestration.model.alarms import ALARMS, Alarm
from queries_orchestration_tests.web.site import Site

TOKEN = "t" * 16
Samples = Mapping[tuple[str, frozenset[tuple[str, str]]], float]


def scrape(site: Site) -> Samples:
    """Read the metrics; each sample by its name and its labels."""
    answer = site.client.get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    assert answer.status_code == 200, answer.text
    return samples_of(answer.text)


def samples_of(text: str) -> Samples:
    """Return the samples of a text of metrics."""
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def value(samples: Samples, name: str, **labels: str) -> float | None:
    """Return the value of one series; None if there is none."""
    return samples.get((name, frozenset(labels.items())))


def going_off(before: Samples, after: Samples) -> set[str]:
    """Return the codes of the alarms that would go off, were the scrapes one after the other."""
    return {alarm.code for alarm in ALARMS if _goes_off(alarm, before, after)}


def _goes_off(alarm: Alarm, before: Samples, after: Samples) -> bool:
    grown = {
        series: number - (before[series] if alarm.within is not None else 0)
        for series, number in after.items()
        # Prometheus sees no growth from nothing.
        if series[0] == alarm.metric and (alarm.within is None or series in before)
    }
    return any(
        number > alarm.above
        for (_, labels), number in grown.items()
        if labels >= set(alarm.only.items())
    )
