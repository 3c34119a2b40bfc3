"""Datasets, and the connections they are read through."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import Connection, insert as insert_into, select, update

from queries_orchestration.model.errors import NotFound
from queries_orchestration.store.rows import every, one_or_none
from queries_orchestration.store.tables import connections, datasets


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceConnection:
    """A database we read from; ``url_variable`` names the environment variable of its URL."""

    workspace_id: str
    id: str
    name: str
    title: str
    url_variable: str
    written_by: str = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredDataset:
    """A dataset as it is kept: ``definition`` is what ``model.datasets`` parses."""

    workspace_id: str
    id: str
    name: str
    title: str
    connection_id: str
    definition: dict[str, Any]
    written_by: str = "other"


def get(connection: Connection, workspace_id: str, dataset_id: str) -> StoredDataset | None:
    """Return the dataset with this id."""
    query = select(datasets).where(
        datasets.c.workspace_id == workspace_id, datasets.c.id == dataset_id
    )
    return one_or_none(connection, StoredDataset, query)


def by_name(connection: Connection, workspace_id: str, name: str) -> StoredDataset | None:
    """Return the dataset of this name."""
    query = select(datasets).where(datasets.c.workspace_id == workspace_id, datasets.c.name == name)
    return one_or_none(connection, StoredDataset, query)


def listing(connection: Connection, workspace_id: str) -> list[StoredDataset]:
    """Return the datasets of the workspace by name."""
    query = (
        select(datasets).where(datasets.c.workspace_id == workspace_id).order_by(datasets.c.name)
    )
    return every(connection, StoredDataset, query)


def people_in_access_rules(connection: Connection, workspace_id: str) -> dict[str, list[str]]:
    """Return the names in the access rules, each with the datasets whose rules have it.

    No foreign key knows them: somebody new of the same name would have the access of the old one.
    """
    found: dict[str, list[str]] = {}
    for dataset in listing(connection, workspace_id):
        names = (
            name
            for rule in dataset.definition.get("access", [])
            for name in rule.get("who", {}).get("people", [])
        )
        for name in dict.fromkeys(names):
            found.setdefault(name, []).append(dataset.name)
    return found


def insert(connection: Connection, dataset: StoredDataset) -> None:
    """Write a new dataset."""
    connection.execute(insert_into(datasets).values(asdict(dataset)))


def change(connection: Connection, dataset: StoredDataset) -> None:
    """Write every column of a dataset that is there."""
    connection.execute(
        update(datasets)
        .where(datasets.c.workspace_id == dataset.workspace_id, datasets.c.id == dataset.id)
        .values(asdict(dataset))
    )


def connection_of(connection: Connection, workspace_id: str, dataset_id: str) -> SourceConnection:
    """Return the connection that a dataset is read through.

    Raises:
        NotFound: the workspace has no such dataset.
    """
    query = (
        select(connections)
        .join(
            datasets,
            (datasets.c.workspace_id == connections.c.workspace_id)
            & (datasets.c.connection_id == connections.c.id),
        )
        .where(datasets.c.workspace_id == workspace_id, datasets.c.id == dataset_id)
    )
    found = one_or_none(connection, SourceConnection, query)
    if found is None:
        raise NotFound("The workspace has no such dataset.")
    return found


def connections_listing(connection: Connection, workspace_id: str) -> list[SourceConnection]:
    """Return the connections of the workspace by name."""
    query = (
        select(connections)
        .where(connections.c.workspace_id == workspace_id)
        .order_by(connections.c.name)
    )
    return every(connection, SourceConnection, query)


def insert_connection(connection: Connection, source_connection: SourceConnection) -> None:
    """Write a new connection."""
    connection.execute(insert_into(connections).values(asdict(source_connection)))


def change_connection(connection: Connection, source_connection: SourceConnection) -> None:
    """Write every column of a connection that is there."""
    connection.execute(
        update(connections)
        .where(
            connections.c.workspace_id == source_connection.workspace_id,
            connections.c.id == source_connection.id,
        )
        .values(asdict(source_connection))
    )
