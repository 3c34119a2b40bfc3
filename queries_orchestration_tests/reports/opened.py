"""Reports that are opened without a store, over the orders of the house."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from zoneinfo import ZoneInfo

from queries_orchestration.exports.generate import Patience
from queries_orchestration.exports.open_query import OpenedQuery
from queries_orchestration.exports.open_report import OpenedReport, OpenedSection
from queries_orchestration.exports.text_form import TextForm
from queries_orchestration.model.compile import compile_query
from queries_orchestration.model.datasets import parse_dataset
from queries_orchestration.model.errors import ReceiveTimeout
from queries_orchestration.model.queries import Query, parse_query
from queries_orchestration.model.report_values import given_values
from queries_orchestration.model.reports import ComparisonView, TextSection, parse_report
from queries_orchestration.model.runtime_values import resolve_values
from queries_orchestration.reports.content import Content
from queries_orchestration.reports.read import Bounds, ReportReader
from queries_orchestration_tests.house import MONDAY
from queries_orchestration_tests.model.definitions import EVERYTHING, READER

DATASET = parse_dataset(
    {
        "name": "orders",
        "relation": "orders",
        "fields": [
            {"name": "id", "type": "integer", "nullable": False},
            {"name": "region", "type": "text"},
            {"name": "amount", "type": "decimal"},
        ],
        "key": ["id"],
        "access": [EVERYTHING],
    }
)
_PERIOD: dict[str, Any] = {
    "dataset": "orders",
    "filters": [
        {"field": "id", "op": "ge", "value": {"parameter": "since"}},
        {"field": "id", "op": "le", "value": {"parameter": "until"}},
    ],
    "parameters": [
        {"name": "since", "type": "integer", "default": 1},
        {"name": "until", "type": "integer", "default": 1_000_000},
    ],
}
QUERIES: Mapping[str, Query] = {
    name: parse_query(definition, DATASET)
    for name, definition in {
        "orders": {
            **_PERIOD,
            "fields": [{"field": "id"}, {"field": "region"}, {"field": "amount"}],
        },
        "latest": {
            **_PERIOD,
            "fields": [{"field": "amount"}, {"field": "id"}],
            "sort": [{"field": "id", "direction": "desc"}],
        },
        "count": {**_PERIOD, "fields": [{"aggregate": "count", "label": "orders"}]},
    }.items()
}
"""Each over the orders from ``since`` to ``until``."""

PLENTY = Bounds(
    section_reads=20_000, table_shows=20_000, document_shows=100_000, document_cells=1_000_000
)


class Patient:
    """Lets everything take its time."""

    statement_seconds = None

    def check(self) -> None:
        """Let the work go on."""

    def remaining(self) -> float:
        return 60.0

    @contextmanager
    def interrupting(self, interrupt: Callable[[], object]) -> Iterator[None]:
        yield


class Impatient(Patient):
    """Ends the work once it was checked so many times."""

    def __init__(self, checks: int) -> None:
        self._checks = checks

    def check(self) -> None:
        if self._checks == 0:
            raise ReceiveTimeout("the test's deadline")
        self._checks -= 1


def table(query: str = "orders", title: str = "Table", **more: object) -> dict[str, object]:
    """Return the definition of a table; ``since`` and ``until`` are values of the query."""
    return shown("table", query, title, **more)


def shown(show: str, query: str, title: str, **more: object) -> dict[str, object]:
    """Return the definition of a section."""
    values = {name: more.pop(name) for name in ("since", "until") if name in more}
    return {"show": show, "query": query, "title": title, "values": values, **more}


def open_sections(
    url: str, *sections: Mapping[str, object], urls: Mapping[str, str] | None = None
) -> OpenedReport:
    """Open a report of these sections.

    Args:
        url: of the database that all queries are over.
        urls: those of other databases, by the section's title.
    """
    report = parse_report({"sections": list(sections)}, QUERIES)

    def opened(name: str, title: str, values: Mapping[str, object]) -> OpenedQuery:
        query = QUERIES[name]
        exact = resolve_values(
            query.parameters, given_values(values, {}), moment=MONDAY, time_zone="UTC"
        )
        return OpenedQuery(
            compiled=compile_query(query, DATASET, READER, exact),
            stored_values={},
            database_url=(urls or {}).get(title, url),
            database_name="The connection 'shop', whose URL is in SHOP_URL,",
        )

    return OpenedReport(
        workspace="Acme",
        reader="Ada Owner",
        report=report,
        sections=tuple(
            section
            if isinstance(section, TextSection)
            else OpenedSection(
                section=section,
                query=opened(section.query, section.title, section.values),
                previous=opened(
                    section.query, section.title, {**section.values, **section.view.previous}
                )
                if isinstance(section.view, ComparisonView)
                else None,
            )
            for section in report.sections
        ),
        values={},
        stored_values={},
    )


def reader_of(
    opened: OpenedReport,
    *,
    bounds: Bounds = PLENTY,
    patience: Patience | None = None,
    progress: Callable[[int], None] = lambda rows: None,
) -> ReportReader:
    """Return the reader of an opened report."""
    return ReportReader(
        opened,
        bounds=bounds,
        form=TextForm(ZoneInfo("Europe/Berlin")),
        patience=patience or Patient(),
        progress=progress,
    )


def read(opened: OpenedReport, *, bounds: Bounds = PLENTY) -> list[Content]:
    """Read all sections."""
    reader = reader_of(opened, bounds=bounds)
    with reader.reading():
        return list(reader.sections())
