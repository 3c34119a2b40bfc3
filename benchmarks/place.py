"""Where the measures run: twelve mixed columns in PostgreSQL and SQLite, and a house over them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa
import yaml

from queries_orchestration.store.migrate import upgrade
from queries_orchestration_tests.house import CATALOG, House, build_house
from queries_orchestration_tests.postgres import running_postgres

COLUMNS: Final[Mapping[str, str]] = {
    "id": "integer",
    "customer": "text",
    "city": "text",
    "amount": "decimal",
    "weight": "decimal",
    "margin": "float",
    "paid": "boolean",
    "ordered": "date",
    "placed": "timestamptz",
    "units": "integer",
    "reference": "uuid",
    "attributes": "json",
}
GROUPS: Final = 200_000
"""Result rows of the grouped query."""

_POSTGRESQL: Final = """
CREATE TABLE mixed AS SELECT
    i::bigint AS id,
    'Customer ' || i % :groups AS customer,
    CASE WHEN i % 10 = 0 THEN NULL ELSE 'City, no. ' || i % 365 END AS city,
    (i * 1.37)::numeric(14,2) AS amount,
    (i % 9973) * 0.0125 AS weight,
    i / 7.0::float8 AS margin,
    i % 3 = 0 AS paid,
    date '2020-01-01' + i % 2000 AS ordered,
    timestamptz '2020-01-01 00:00+00' + i * interval '61.5 seconds' AS placed,
    i % 1000 AS units,
    gen_random_uuid() AS reference,
    jsonb_build_object('channel', CASE WHEN i % 2 = 0 THEN 'web' ELSE 'shop' END, 'items', i % 7)
        AS attributes
FROM generate_series(1, :rows) i
"""
_SQLITE: Final = """
CREATE TABLE mixed AS
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < :rows)
SELECT
    i AS id,
    'Customer ' || (i % :groups) AS customer,
    CASE WHEN i % 10 = 0 THEN NULL ELSE 'City, no. ' || (i % 365) END AS city,
    printf('%.2f', i * 1.37) AS amount,
    printf('%.4f', i % 9973 * 0.0125) AS weight,
    i / 7.0 AS margin,
    i % 3 = 0 AS paid,
    date('2020-01-01', '+' || (i % 2000) || ' days') AS ordered,
    strftime('%Y-%m-%dT%H:%M:%fZ', '2020-01-01', '+' || (i * 61.5) || ' seconds') AS placed,
    i % 1000 AS units,
    lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2)
        || '-a' || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6))) AS reference,
    '{"channel": "' || CASE WHEN i % 2 = 0 THEN 'web' ELSE 'shop' END || '", "items": ' || (i % 7)
        || '}' AS attributes
FROM n
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A house whose query ``orders`` reads a source of ``rows`` rows at ``url``."""

    house: House
    url: str
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Worked:
    """What a worker's process told of one export, and of its memory in 10^6 bytes."""

    rows: int
    seconds: float
    idle_mb: float
    peak_mb: float

    @property
    def rate(self) -> float:
        """Rows a second, from the call of the worker's function to the settled row."""
        return self.rows / self.seconds

    @property
    def added_mb(self) -> float:
        """The most memory above what the worker held before."""
        return self.peak_mb - self.idle_mb


@contextmanager
def postgresql_place(folder: Path, rows: int, **settings: str) -> Iterator[Place]:
    """Set up the house over a PostgreSQL of its own."""
    with running_postgres() as server:
        url = server.create_database()
        yield _place(folder, url, rows, _POSTGRESQL, settings)


def sqlite_place(folder: Path, rows: int) -> Place:
    """Set up the house over a file of SQLite."""
    return _place(folder, f"sqlite:///{folder / 'source.db'}", rows, _SQLITE, {})


def _place(folder: Path, url: str, rows: int, table: str, settings: Mapping[str, str]) -> Place:
    folder.mkdir(parents=True, exist_ok=True)
    store = f"sqlite:///{folder / 'store.db'}"
    upgrade(store)
    house = build_house(folder, store, url, catalog=_catalog(), rows=0, settings=settings)
    engine = sa.create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(sa.text(table.replace("::", "\\:\\:")), {"rows": rows, "groups": GROUPS})
        connection.exec_driver_sql("CREATE UNIQUE INDEX mixed_by_id ON mixed (id)")
        if engine.dialect.name == "postgresql":
            connection.exec_driver_sql("ALTER TABLE mixed ALTER id SET NOT NULL")
            connection.exec_driver_sql("VACUUM ANALYZE mixed")
        else:
            connection.exec_driver_sql("ANALYZE")
    engine.dispose()
    return Place(house=house, url=url, rows=rows)


def export(place: Place, file_format: str, source: str = "orders") -> Worked:
    """Make a file in a started process, as a worker does, and return what it took."""
    house = place.house
    export_id = house.ask_export(source, file_format=file_format)
    (offer,) = house.offer(house.claim(export_id).lane)
    told = in_child("worker", {"key": export_id, "offer": offer.number}, house.environment)
    made = house.asked_export(export_id)
    house.backends.storage.delete(made.storage_key)
    return Worked(rows=made.rows or 0, **told)


def in_child(
    module: str, task: Mapping[str, Any], environment: Mapping[str, str] | None = None
) -> dict[str, float]:
    """Run a module of this folder in a started process; returns what it told."""
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{module}", json.dumps(task)],
        env=None if environment is None else dict(environment),
        cwd=Path(__file__).parents[1],
        check=True,
        stdout=subprocess.PIPE,
    )
    told: dict[str, float] = json.loads(done.stdout)
    return told


def _catalog() -> str:
    catalog = yaml.safe_load(CATALOG)
    dataset = catalog["datasets"]["orders"]
    dataset["relation"] = "mixed"
    dataset["fields"] = {
        name: {"type": type_, "nullable": name != "id"} for name, type_ in COLUMNS.items()
    }
    catalog["queries"] = {
        "orders": {
            "title": "Orders",
            "dataset": "orders",
            "fields": [{"field": name} for name in COLUMNS],
        },
        "grouped": {
            "title": "Orders by customer",
            "dataset": "orders",
            "fields": [
                {"field": "customer"},
                {"aggregate": "sum", "field": "amount", "label": "amount"},
                {"aggregate": "count", "label": "orders"},
            ],
            "sort": [{"label": "amount", "direction": "desc"}],
        },
    }
    catalog["schedules"] = {}
    return yaml.safe_dump(catalog, sort_keys=False)
