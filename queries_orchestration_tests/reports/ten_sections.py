"""A house whose one report has ten sections, with 20,000 rows of eight columns in its tables.

Printed, each of the four tables is cut at 500 rows: 2,000 together.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa
import yaml

from queries_orchestration.store.migrate import upgrade
from queries_orchestration_tests.house import CATALOG, House, build_house

ROWS: Final = 20_000
REPORT, QUERY = "ten-sections", "sales"
SECONDS: Final = 300
"""After which a process that renders counts as hung."""

_ROOT: Final = Path(__file__).parents[2]

FIELDS: Mapping[str, str] = {
    "id": "integer",
    "customer": "text",
    "city": "text",
    "ordered": "date",
    "shipped": "timestamptz",
    "units": "integer",
    "amount": "decimal",
    "margin": "float",
}
QUERIES: Mapping[str, dict[str, Any]] = {
    QUERY: {
        "title": "Sales",
        "fields": [{"field": name, "label": name.capitalize()} for name in FIELDS],
    },
    "by-day": {
        "title": "Amounts by day and city",
        "fields": [
            {"field": "ordered", "label": "Day"},
            {"field": "city", "label": "City"},
            {"aggregate": "sum", "field": "amount", "label": "Amount"},
        ],
        "sort": [{"label": "Day"}],
    },
    "total": {
        "title": "All sales",
        "fields": [{"aggregate": "sum", "field": "amount", "label": "Amount"}],
    },
}
TABLES: Final[Mapping[str, tuple[int, int]]] = {
    "First sales": (0, 17_000),
    "More sales": (17_000, 18_000),
    "Later sales": (18_000, 19_000),
    "Last sales": (19_000, ROWS),
}
"""By title, after which sale each table begins, and with which it ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A file and what it took to make it: seconds, and the most memory in MB (10^6 bytes)."""

    content: bytes
    seconds: float
    megabytes: float


def build_sales_house(folder: Path) -> House:
    """Set the house up in SQLite files within ``folder``, its sales included."""
    store_url, source_url = f"sqlite:///{folder / 'store.db'}", f"sqlite:///{folder / 'source.db'}"
    upgrade(store_url)
    house = build_house(folder, store_url, source_url, catalog=_catalog(), rows=0)
    _make_sales(source_url)
    return house


def make_in_child(
    house: House, source: str, file_format: str, *, with_definitions: bool = False
) -> Made:
    """Make a file of the report or the query in a process that does nothing else.

    Args:
        with_definitions: load the Dagster definitions first, as a run of Dagster does.
    """
    export_id = house.ask_export(source, file_format=file_format)
    lane = house.claim(export_id).lane
    (offer,) = house.offer(lane)
    task = {"lane": lane, "key": export_id, "offer": offer.number, "dagster": with_definitions}
    child = subprocess.run(
        [sys.executable, "-m", "queries_orchestration_tests.reports.worker", json.dumps(task)],
        env={**house.environment},
        cwd=_ROOT,
        check=True,
        stdout=subprocess.PIPE,
        timeout=SECONDS,
    )
    with house.backends.storage.open(house.asked_export(export_id).storage_key) as file:
        return Made(content=file.read(), **json.loads(child.stdout))


def _catalog() -> str:
    catalog = yaml.safe_load(CATALOG)
    del catalog["schedules"]
    catalog["datasets"] = {
        "sales": {
            "title": "Sales",
            "connection": "shop",
            "relation": "sales",
            "fields": {name: {"type": type_} for name, type_ in FIELDS.items()},
            "key": ["id"],
            "access": [{"who": {"roles": ["author"]}, "fields": "all", "rows": "all"}],
        }
    }
    period = {
        "filters": [
            {"field": "id", "op": "gt", "value": {"parameter": "after"}},
            {"field": "id", "op": "le", "value": {"parameter": "until"}},
        ],
        "parameters": [
            {"name": "after", "type": "integer", "default": 0},
            {"name": "until", "type": "integer", "default": ROWS},
        ],
    }
    catalog["queries"] = {
        name: {"dataset": "sales", **period, **query} for name, query in QUERIES.items()
    }
    catalog["reports"] = {REPORT: {"title": "Sales in ten sections", "sections": _sections()}}
    return yaml.safe_dump(catalog, sort_keys=False)


def _sections() -> list[dict[str, object]]:
    of_days = {"query": "by-day", "x": "Day", "y": "Amount"}
    of_total = {"query": "total", "value": "Amount"}
    tables: list[dict[str, object]] = [
        {
            "show": "table",
            "title": title,
            "query": QUERY,
            "values": {"after": after, "until": until},
            "totals": ["Units", "Amount"],
        }
        for title, (after, until) in TABLES.items()
    ]
    return [
        {"title": "About", "text": "All **sales**, by day and city.\n\n- net\n- without returns"},
        {"show": "number", "title": "Amount", **of_total},
        {
            "show": "comparison",
            "title": "Change",
            **of_total,
            "values": {"after": 10_000},
            "previous": {"after": 0, "until": 10_000},
        },
        {"show": "line", "title": "Amounts a day", **of_days, "by": "City"},
        {"show": "bar", "title": "First days", **of_days, "values": {"until": 40}},
        {"show": "stacked", "title": "By city", **of_days, "by": "City", "values": {"until": 400}},
        *tables,
    ]


def _make_sales(source_url: str) -> None:
    names = ", ".join(FIELDS)
    values = ", ".join(f":{name}" for name in FIELDS)
    engine = sa.create_engine(source_url)
    with engine.begin() as connection:
        connection.execute(
            sa.text(
                "CREATE TABLE sales (id integer PRIMARY KEY, customer text, city text,"
                " ordered text, shipped text, units integer, amount text, margin real)"
            )
        )
        connection.execute(
            sa.text(f"INSERT INTO sales ({names}) VALUES ({values})"),  # noqa: S608
            [_sale(number) for number in range(1, ROWS + 1)],
        )
    engine.dispose()


def _sale(number: int) -> dict[str, object]:
    shipped = datetime(2026, 1, 1, 23, 30, tzinfo=UTC) + timedelta(minutes=17 * number)
    return {
        "id": number,
        "customer": f"Customer {number} & Sons",
        "city": ("Hamburg", "Lyon", "Aix-en-Provence", "Oslo", None)[number * 7_919 // 300 % 5],
        "ordered": (date(2026, 1, 1) + timedelta(days=number % 300)).isoformat(),
        "shipped": shipped.isoformat(),
        "units": number * 37 % 1_000,
        "amount": f"{number * 123_457 % 10_000_000 / 100 - 1_000:.2f}",
        "margin": number * 7_919 % 1_000 / 7,
    }
