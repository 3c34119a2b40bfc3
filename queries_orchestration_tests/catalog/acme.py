"""A good catalog, changed copies of it, and what became of it in the database."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from queries_orchestration.catalog.changes import CatalogChanges
from queries_orchestration.model.errors import CatalogFault
from queries_orchestration.store import schedules, sources, workspaces
from queries_orchestration.store.database import Database
from queries_orchestration.store.schedules import Schedule
from queries_orchestration.store.sources import Source, SourceVersion
from queries_orchestration.store.workspaces import Workspace

NOW = datetime(2027, 1, 4, 12, 0, tzinfo=UTC)
LATER = NOW + timedelta(days=40)
KINDS = ("workspaces", "people", "connections", "datasets", "queries", "reports", "schedules")
ANN = "  ann: {title: Ann Author, address: ann@example.org, roles: [author]}"

Apply = Callable[..., CatalogChanges]
Refuse = Callable[..., list[CatalogFault]]

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
    return altered(GOOD, *replacements)


def altered(text: str, *replacements: tuple[str, str]) -> str:
    """Return a catalog with some parts of it replaced."""
    for old, new in replacements:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


def touched(changes: CatalogChanges) -> dict[str, tuple[str, ...]]:
    """Return the kinds with rows that were created or changed."""
    return {
        kind: getattr(changes, kind).created + getattr(changes, kind).changed
        for kind in KINDS
        if getattr(changes, kind).created + getattr(changes, kind).changed
    }


def workspace_of(database: Database, name: str = "acme") -> Workspace:
    with database.across.read() as connection:
        workspace = workspaces.by_name(connection, name)
    assert workspace is not None
    return workspace


def schedule_of(database: Database, name: str = "morning") -> Schedule:
    with database.across.read() as connection:
        schedule = schedules.by_name(connection, workspace_of(database).id, name)
    assert schedule is not None
    return schedule


def source_of(database: Database, name: str = "delays") -> Source:
    with database.across.read() as connection:
        source = sources.by_name(connection, workspace_of(database).id, name)
    assert source is not None
    return source


def version_of(database: Database, version: int, name: str = "delays") -> SourceVersion:
    source = source_of(database, name)
    with database.across.read() as connection:
        stored = sources.version(connection, source.workspace_id, source.id, version)
    assert stored is not None
    return stored
