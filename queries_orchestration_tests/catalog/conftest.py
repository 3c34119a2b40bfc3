"""A catalog that is good, and a way to apply changed copies of it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from queries_orchestration.catalog.apply import apply_catalog
from queries_orchestration.catalog.changes import CatalogChanges
from queries_orchestration.model.errors import CatalogFault, InvalidCatalog
from queries_orchestration.store.database import Database

NOW = datetime(2027, 1, 4, 12, 0, tzinfo=UTC)

GOOD = """\
workspace: {name: acme, title: Acme Ltd, time_zone: Europe/Berlin}
people:
  ann: {title: Ann Author, address: ann@example.org, roles: [author]}
  bob: {title: Bob Reader, address: bob@example.org, roles: [reader]}
connections:
  warehouse: {url_variable: WAREHOUSE_URL}
datasets:
  flights:
    title: Flights
    connection: warehouse
    relation: public.flights
    fields:
      id: {type: integer, nullable: false}
      carrier: {type: text}
      day: {type: date}
      delay: {type: decimal}
    key: [id]
    access:
      - who: {roles: [author]}
        fields: all
        rows: all
      - who: {people: [bob]}
        fields: [id, carrier]
        rows:
          - {field: carrier, op: eq, value: AA}
queries:
  delays:
    title: Delays by day
    dataset: flights
    parameters:
      - {name: since, type: date, default: {start_of: month}}
    fields:
      - {field: day}
      - {field: carrier}
      - {field: delay}
    filters:
      - {field: day, op: ge, value: {parameter: since}}
    sort:
      - {field: day, direction: desc}
schedules:
  morning:
    title: Delays every morning
    query: delays
    owner: ann
    cron: "30 6 * * *"
    format: csv
    recipients: [ann, bob]
    values: {since: 2027-01-01}
"""


def line_of(text: str, part: str) -> int:
    """Return the line on which ``part`` stands, from 1; it must stand on one line only."""
    lines = [n for n, line in enumerate(text.splitlines(), start=1) if part in line]
    assert len(lines) == 1, (part, lines)
    return lines[0]


def changed(*replacements: tuple[str, str]) -> str:
    """Return the good catalog with some parts of it replaced."""
    text = GOOD
    for old, new in replacements:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


Apply = Callable[..., CatalogChanges]


@pytest.fixture
def database(store_url: str) -> Database:
    return Database(store_url)


@pytest.fixture
def apply(database: Database, tmp_path: Path) -> Apply:
    """Applies texts as files ``1.yaml``, ``2.yaml`` …"""

    def apply_texts(*texts: str | bytes, now: datetime = NOW) -> CatalogChanges:
        files = []
        for number, text in enumerate(texts, start=1):
            files.append(tmp_path / f"{number}.yaml")
            files[-1].write_bytes(text if isinstance(text, bytes) else text.encode())
        return apply_catalog(database, files, clock=lambda: now, environment={})

    return apply_texts


@pytest.fixture
def faults_of(apply: Apply) -> Callable[..., list[CatalogFault]]:
    """Applies texts that must be refused, and returns the faults."""

    def refused(*texts: str | bytes) -> list[CatalogFault]:
        with pytest.raises(InvalidCatalog) as refusal:
            apply(*texts)
        return list(refusal.value.faults)

    return refused
