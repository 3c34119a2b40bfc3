"""The house with a report and its weekly schedule, and hands on the time that its workers wait."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import yaml

from queries_orchestration.settings import REPORT_LANE
from queries_orchestration.store.exports import Export
from queries_orchestration_tests.house import CATALOG, House, build_house

SECTIONS: list[dict[str, object]] = [
    {"text": "Every **order**, by region.", "title": "About"},
    {
        "show": "bar",
        "title": "Amounts by region",
        "query": "by-region",
        "x": "Region",
        "y": "Amount",
    },
    {
        "show": "table",
        "title": "Large orders",
        "query": "large-orders",
        "values": {"at_least": {"parameter": "at_least"}},
        "totals": ["amount"],
    },
    {"show": "table", "title": "Nobody's orders", "query": "no-orders"},
]

SALES = {
    "title": "Sales of the week",
    "parameters": [{"name": "at_least", "type": "integer", "default": 0, "label": "At least"}],
    "sections": SECTIONS,
}

QUERIES = {
    "by-region": {
        "title": "Amounts by region",
        "dataset": "regions",
        "fields": [
            {"field": "region", "label": "Region"},
            {"aggregate": "sum", "field": "amount", "label": "Amount"},
        ],
        "sort": [{"label": "Region"}],
    },
    "large-orders": {
        "title": "Large orders",
        "dataset": "orders",
        "fields": [{"field": "id", "label": "Order"}, {"field": "region"}, {"field": "amount"}],
        "filters": [{"field": "id", "op": "ge", "value": {"parameter": "at_least"}}],
        "parameters": [{"name": "at_least", "type": "integer", "default": 0}],
    },
}

SCHEDULE = {
    "title": "Sales every week",
    "report": "sales",
    "owner": "ada",
    "cron": "0 8 * * 1",
    "time_zone": "Europe/Berlin",
    "format": "pdf",
    "recipients": ["bob", "dan", "cyd"],
    "values": {"at_least": 2_400},
}


def report_catalog(**changes: Mapping[str, object]) -> str:
    """Return the catalog of the house with the report; ``changes`` add definitions to sections."""
    catalog = yaml.safe_load(CATALOG)
    catalog["datasets"]["regions"] = {**catalog["datasets"]["orders"], "title": "Regions"}
    catalog["queries"] |= QUERIES
    catalog["reports"] = {"sales": SALES}
    catalog["schedules"] = {"weekly": SCHEDULE}
    for section, definitions in changes.items():
        catalog[section] |= definitions
    return yaml.safe_dump(catalog, sort_keys=False)


def build_report_house(
    folder: Path, store_url: str, source_url: str, *, file_format: str = "xlsx"
) -> House:
    """Set up the house whose one schedule delivers the report."""
    schedule = {**SCHEDULE, "format": file_format}
    return build_house(
        folder, store_url, source_url, catalog=report_catalog(schedules={"weekly": schedule})
    )


class FakeWaiting:
    """Time that passes only while a worker waits; ``meanwhile`` happens at each wait."""

    def __init__(self, meanwhile: Callable[[], object] = lambda: None) -> None:
        self.waited: list[float] = []
        self._meanwhile = meanwhile

    def now(self) -> float:
        return sum(self.waited)

    def sleep(self, seconds: float) -> None:
        self.waited.append(seconds)
        self._meanwhile()


def waiting(house: House, meanwhile: Callable[[], object] = lambda: None) -> House:
    """Return the house whose workers wait in no time, while ``meanwhile`` happens."""
    return house.with_backends(replace(house.backends, waiting=FakeWaiting(meanwhile)))


def rendering(house: House) -> House:
    """Return the house in which what waits in the report lane is rendered while a worker waits."""
    return waiting(house, lambda: house.work(REPORT_LANE))


def waited(house: House) -> list[float]:
    """Return the seconds of each wait of the house's workers."""
    fake = house.backends.waiting
    assert isinstance(fake, FakeWaiting)
    return fake.waited


def render_of(house: House) -> Export:
    """Return the export of the one occurrence."""
    return house.export(house.history()[0].key)
