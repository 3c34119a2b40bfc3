"""Queries and reports read against what they rest on, as all of it will be after the apply."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from queries_orchestration.model.datasets import Dataset, parse_dataset
from queries_orchestration.model.errors import InvalidQuery, NotFound, Refused
from queries_orchestration.model.queries import Query, parse_query
from queries_orchestration.model.reports import Report, parse_report
from queries_orchestration.store import datasets, report_queries, sources
from queries_orchestration.store.report_queries import ShownQuery


@dataclass(frozen=True, slots=True)
class OpenQuery:
    """One version of a query, ready to be compiled."""

    query: Query
    dataset: Dataset


@dataclass(frozen=True, slots=True)
class OpenReport:
    """One version of a report, with the queries that it shows by name."""

    report: Report
    queries: Mapping[str, OpenQuery]


_ReportVersion = tuple[Mapping[str, Any], Mapping[str, ShownQuery]]


class Openings:
    """What the files declare is taken in; the rest is read from the database when asked for."""

    def __init__(self, connection: Connection, workspace_id: str) -> None:
        self._connection = connection
        self._workspace_id = workspace_id
        self._datasets: dict[str, Dataset] = {}
        self._queries: dict[tuple[str, int], OpenQuery] = {}
        self._reports: dict[tuple[str, int], _ReportVersion] = {}

    def take_dataset(self, dataset_id: str, dataset: Dataset) -> None:
        """Use this dataset in place of the one in the database."""
        self._datasets[dataset_id] = dataset

    def take_query(self, source_id: str, version: int, query: OpenQuery) -> None:
        """Use this version, which the database may not have yet."""
        self._queries[source_id, version] = query

    def take_report(
        self,
        source_id: str,
        version: int,
        definition: Mapping[str, Any],
        shown: Mapping[str, ShownQuery],
    ) -> None:
        """Use this version, which the database may not have yet, with the queries it shows."""
        self._reports[source_id, version] = (definition, shown)

    def dataset(self, dataset_id: str) -> Dataset:
        """Return a dataset.

        Raises:
            NotFound: the database has none of this id.
            InvalidQuery: what the database has cannot be read any more.
        """
        if dataset_id not in self._datasets:
            row = datasets.get(self._connection, self._workspace_id, dataset_id)
            if row is None:
                raise NotFound("its dataset is no longer there")
            self._datasets[dataset_id] = parse_dataset(row.definition)
        return self._datasets[dataset_id]

    def query(self, source_id: str, version: int) -> OpenQuery:
        """Return a version of a query.

        Raises:
            NotFound: the database has no such version, or not its dataset.
            InvalidQuery: it does not fit its dataset any more.
        """
        if (source_id, version) not in self._queries:
            stored = sources.version(self._connection, self._workspace_id, source_id, version)
            if stored is None or stored.dataset_id is None:
                raise NotFound(f"version {version} of the query is no longer there")
            dataset = self.dataset(stored.dataset_id)
            query = OpenQuery(parse_query(stored.definition, dataset), dataset)
            self._queries[source_id, version] = query
        return self._queries[source_id, version]

    def report(self, source_id: str, version: int) -> OpenReport:
        """Return a version of a report.

        Raises:
            NotFound: the database has no such version.
            InvalidQuery: it does not fit its queries any more, or one cannot be read.
        """
        if (source_id, version) not in self._reports:
            stored = sources.version(self._connection, self._workspace_id, source_id, version)
            if stored is None:
                raise NotFound(f"version {version} of the report is no longer there")
            self.take_report(
                source_id,
                version,
                stored.definition,
                report_queries.of_version(self._connection, self._workspace_id, source_id, version),
            )
        definition, shown = self._reports[source_id, version]
        queries = {name: self._shown(shown[name]) for name in sorted(shown)}
        report = parse_report(definition, {name: one.query for name, one in queries.items()})
        return OpenReport(report, queries)

    def _shown(self, shown: ShownQuery) -> OpenQuery:
        try:
            return self.query(shown.source.id, shown.version)
        except Refused as error:
            raise InvalidQuery(f"the query `{shown.source.name}`: {error.message}") from error
