"""Workspaces, people, connections, datasets and sources as they are kept."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from queries_orchestration.model.errors import NotFound
from queries_orchestration.model.ids import new_id
from queries_orchestration.store import datasets, people, sources, workspaces
from queries_orchestration.store.catalog_lock import lock_catalog
from queries_orchestration.store.database import Database
from queries_orchestration.store.datasets import SourceConnection, StoredDataset
from queries_orchestration.store.people import Person
from queries_orchestration.store.sources import Source, SourceVersion
from queries_orchestration.store.workspaces import Workspace

NOW = datetime(2027, 1, 4, 12, 30, 15, 123456, tzinfo=UTC)
DEFINITION = {"name": "flights", "fields": [{"name": "ß", "type": "text"}], "limit": 1.5}


@pytest.fixture
def database(store_url: str) -> Database:
    return Database(store_url)


def new_workspace(connection: Connection, name: str) -> Workspace:
    workspace = Workspace(id=new_id(), name=name, title=name.title(), time_zone="Europe/Berlin")
    workspaces.insert(connection, workspace)
    return workspace


def new_person(workspace: Workspace, name: str = "ann") -> Person:
    return Person(
        workspace_id=workspace.id,
        id=new_id(),
        name=name,
        title="Ann Author",
        address="ann@example.org",
        roles=frozenset({"reader", "author"}),
        active=True,
        written_by="file",
    )


def new_connection(workspace: Workspace) -> SourceConnection:
    return SourceConnection(
        workspace_id=workspace.id,
        id=new_id(),
        name="warehouse",
        title="Warehouse",
        url_variable="WAREHOUSE_URL",
    )


def new_dataset(workspace: Workspace, source_connection: SourceConnection) -> StoredDataset:
    return StoredDataset(
        workspace_id=workspace.id,
        id=new_id(),
        name="flights",
        title="Flights",
        connection_id=source_connection.id,
        definition=DEFINITION,
    )


def new_source(workspace: Workspace) -> Source:
    return Source(
        workspace_id=workspace.id,
        id=new_id(),
        name="delays",
        title="Delays",
        kind="query",
        current_version=1,
    )


def new_version(source: Source, dataset: StoredDataset, number: int) -> SourceVersion:
    return SourceVersion(
        workspace_id=source.workspace_id,
        source_id=source.id,
        version=number,
        dataset_id=dataset.id,
        definition={"number": number},
        created_at=NOW,
    )


def test_workspaces_are_found_by_id_and_by_name(database: Database) -> None:
    with database.across.transaction() as connection:
        other = new_workspace(connection, "other")
        acme = new_workspace(connection, "acme")
    with database.across.read() as connection:
        assert workspaces.get(connection, acme.id) == acme
        assert workspaces.by_name(connection, "other") == other
        assert workspaces.listing(connection) == [acme, other]
        assert workspaces.get(connection, new_id()) is None
        assert workspaces.by_name(connection, "absent") is None


def test_a_changed_workspace_is_kept(database: Database) -> None:
    with database.across.transaction() as connection:
        other = new_workspace(connection, "other")
        acme = replace(new_workspace(connection, "acme"), title="Acme", written_by="file")
        workspaces.change(connection, acme)
    with database.across.read() as connection:
        assert workspaces.listing(connection) == [acme, other]


def test_people_are_seen_in_their_workspace_only(database: Database) -> None:
    with database.across.transaction() as connection:
        acme, other = new_workspace(connection, "acme"), new_workspace(connection, "other")
        ann, bob, other_ann = new_person(acme), new_person(acme, "bob"), new_person(other)
        for person in (bob, ann, other_ann):
            people.insert(connection, person)
        bob = replace(bob, address=None, roles=frozenset(), active=False)
        people.change(connection, bob)
    with database.across.read() as connection:
        assert people.get(connection, acme.id, ann.id) == ann
        assert people.get(connection, other.id, ann.id) is None
        assert people.by_name(connection, other.id, "ann") == other_ann
        assert people.by_name(connection, other.id, "bob") is None
        assert people.listing(connection, acme.id) == [ann, bob]


def test_a_dataset_is_kept_with_its_connection(database: Database) -> None:
    with database.across.transaction() as connection:
        acme, other = new_workspace(connection, "acme"), new_workspace(connection, "other")
        warehouse = new_connection(acme)
        datasets.insert_connection(connection, warehouse)
        flights = new_dataset(acme, warehouse)
        datasets.insert(connection, flights)
        warehouse = replace(warehouse, url_variable="OTHER_URL")
        datasets.change_connection(connection, warehouse)
        flights = replace(flights, definition=DEFINITION | {"relation": "f"}, written_by="file")
        datasets.change(connection, flights)
    with database.across.read() as connection:
        assert datasets.get(connection, acme.id, flights.id) == flights
        assert datasets.by_name(connection, acme.id, "flights") == flights
        assert datasets.listing(connection, acme.id) == [flights]
        assert datasets.connection_of(connection, acme.id, flights.id) == warehouse
        assert datasets.connections_listing(connection, acme.id) == [warehouse]
        assert datasets.get(connection, other.id, flights.id) is None
        assert datasets.by_name(connection, other.id, "flights") is None
        assert datasets.listing(connection, other.id) == []
        assert datasets.connections_listing(connection, other.id) == []
        with pytest.raises(NotFound):
            datasets.connection_of(connection, other.id, flights.id)


def test_every_version_of_a_source_is_kept(database: Database) -> None:
    with database.across.transaction() as connection:
        acme, other = new_workspace(connection, "acme"), new_workspace(connection, "other")
        warehouse = new_connection(acme)
        datasets.insert_connection(connection, warehouse)
        flights = new_dataset(acme, warehouse)
        datasets.insert(connection, flights)
        delays = new_source(acme)
        sources.insert(connection, delays)
        first, second = new_version(delays, flights, 1), new_version(delays, flights, 2)
        sources.add_version(connection, first)
        sources.add_version(connection, second)
    with database.across.read() as connection:
        current = replace(delays, current_version=2)
        assert sources.get(connection, acme.id, delays.id) == current
        assert sources.by_name(connection, acme.id, "delays") == current
        assert sources.listing(connection, acme.id) == [current]
        assert sources.version(connection, acme.id, delays.id, 1) == first
        assert sources.version(connection, acme.id, delays.id, 2) == second
        assert sources.version(connection, acme.id, delays.id, 3) is None
        assert sources.version(connection, other.id, delays.id, 1) is None
        assert sources.get(connection, other.id, delays.id) is None
        assert sources.by_name(connection, other.id, "delays") is None
        assert sources.listing(connection, other.id) == []
    with database.across.transaction() as connection:
        sources.change(connection, replace(current, archived=True, title="Old"))
    with database.across.read() as connection:
        stored = sources.get(connection, acme.id, delays.id)
    assert stored == replace(current, archived=True, title="Old")


def test_a_version_is_never_written_twice(database: Database) -> None:
    with database.across.transaction() as connection:
        acme = new_workspace(connection, "acme")
        warehouse = new_connection(acme)
        datasets.insert_connection(connection, warehouse)
        flights = new_dataset(acme, warehouse)
        datasets.insert(connection, flights)
        delays = new_source(acme)
        sources.insert(connection, delays)
        sources.add_version(connection, new_version(delays, flights, 1))
    with pytest.raises(IntegrityError), database.across.transaction() as connection:
        sources.add_version(connection, new_version(delays, flights, 1))


def test_a_dataset_cannot_point_into_another_workspace(database: Database) -> None:
    with database.across.transaction() as connection:
        acme, other = new_workspace(connection, "acme"), new_workspace(connection, "other")
        warehouse = new_connection(other)
        datasets.insert_connection(connection, warehouse)
    with pytest.raises(IntegrityError), database.across.transaction() as connection:
        datasets.insert(connection, new_dataset(acme, warehouse))


def test_a_version_cannot_point_into_another_workspace(database: Database) -> None:
    with database.across.transaction() as connection:
        acme, other = new_workspace(connection, "acme"), new_workspace(connection, "other")
        warehouse = new_connection(other)
        datasets.insert_connection(connection, warehouse)
        flights = new_dataset(other, warehouse)
        datasets.insert(connection, flights)
        delays = new_source(acme)
        sources.insert(connection, delays)
    for misplaced in (
        new_version(delays, flights, 1),
        replace(new_version(delays, flights, 1), workspace_id=other.id),
    ):
        with pytest.raises(IntegrityError), database.across.transaction() as connection:
            sources.add_version(connection, misplaced)


def test_a_row_needs_a_workspace_that_is_there(database: Database) -> None:
    nowhere = Workspace(id=new_id(), name="x", title="X", time_zone="UTC")
    with pytest.raises(IntegrityError), database.across.transaction() as connection:
        people.insert(connection, new_person(nowhere))
    with pytest.raises(IntegrityError), database.across.transaction() as connection:
        sources.insert(connection, new_source(nowhere))


def test_a_name_is_taken_once_in_a_workspace(database: Database) -> None:
    with database.across.transaction() as connection:
        acme = new_workspace(connection, "acme")
        people.insert(connection, new_person(acme))
    with pytest.raises(IntegrityError), database.across.transaction() as connection:
        people.insert(connection, new_person(acme))
    with pytest.raises(IntegrityError), database.across.transaction() as connection:
        new_workspace(connection, "acme")


def test_readers_go_on_while_somebody_writes_the_catalog(database: Database) -> None:
    with database.across.transaction() as connection:
        acme = new_workspace(connection, "acme")
    with database.across.transaction() as connection:
        lock_catalog(connection)
        workspaces.change(connection, replace(acme, title="New"))
        with database.across.read() as reader:
            assert workspaces.by_name(reader, "acme") == acme
