"""Queries read against their datasets as both will be after the apply."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection

from queries_orchestration.model.datasets import Dataset, parse_dataset
from queries_orchestration.model.errors import NotFound
from queries_orchestration.model.queries import Query, parse_query
from queries_orchestration.store import datasets, sources


@dataclass(frozen=True, slots=True)
class OpenQuery:
    """One version of a query, ready to be compiled."""

    query: Query
    dataset: Dataset


class Openings:
    """What the files declare is taken in; the rest is read from the database when asked for."""

    def __init__(self, connection: Connection, workspace_id: str) -> None:
        self._connection = connection
        self._workspace_id = workspace_id
        self._datasets: dict[str, Dataset] = {}
        self._queries: dict[tuple[str, int], OpenQuery] = {}

    def take_dataset(self, dataset_id: str, dataset: Dataset) -> None:
        """Use this dataset in place of the one in the database."""
        self._datasets[dataset_id] = dataset

    def take_query(self, source_id: str, version: int, query: OpenQuery) -> None:
        """Use this version, which the database may not have yet."""
        self._queries[source_id, version] = query

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
