"""WF-PFM-QRY-006, hop 1: open a saved query as a person, substitute values, compile."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from queries_orchestration.model.access import Actor
from queries_orchestration.model.compile import CompiledQuery, compile_query
from queries_orchestration.model.datasets import Dataset, parse_dataset
from queries_orchestration.model.errors import (
    AccessLost,
    InvalidQuery,
    SourceBroken,
    SourceGone,
    SourceUnavailable,
)
from queries_orchestration.model.queries import Query, parse_query
from queries_orchestration.model.runtime_values import dump_values, resolve_values
from queries_orchestration.store import datasets, people, sources
from queries_orchestration.store.datasets import SourceConnection


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedQuery:
    """A query ready to be read: compiled under the actor's access, with its database's URL.

    ``database_name`` is how messages name the database.
    """

    compiled: CompiledQuery
    stored_values: dict[str, Any]
    database_url: str = field(repr=False)
    database_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredQuery:
    """One version of a query as it stands, with its dataset and where that is read."""

    query: Query
    dataset: Dataset
    source_connection: SourceConnection


def open_query(
    connection: Connection,
    workspace_id: str,
    *,
    source_id: str,
    version: int,
    actor_id: str,
    given_values: Mapping[str, Any],
    moment: datetime,
    time_zone: str,
    environment: Mapping[str, str],
) -> OpenedQuery:
    """Open one version of a query as ``actor_id``; nothing is written.

    Args:
        moment: what relative values count from.
        environment: where the connection's URL variable is looked up.

    Raises:
        AccessLost, FieldNotAvailable: the actor may not open it.
        InvalidRuntimeValue: a value is missing, unknown or of the wrong form.
        SourceGone, SourceBroken: it is not there, or no longer fits its dataset.
        SourceUnavailable: the connection's variable is not set.
    """
    return open_stored(
        connection,
        workspace_id,
        load_query(connection, workspace_id, source_id, version),
        actor_id=actor_id,
        given_values=given_values,
        moment=moment,
        time_zone=time_zone,
        environment=environment,
    )


def load_query(
    connection: Connection, workspace_id: str, source_id: str, version: int
) -> StoredQuery:
    """Load one version of a query with its dataset.

    Raises:
        SourceGone, SourceBroken: it is not there, or no longer fits its dataset.
    """
    stored = sources.version(connection, workspace_id, source_id, version)
    if stored is None or stored.dataset_id is None:
        raise SourceGone("This version of the query is no longer there.")
    dataset_row = datasets.get(connection, workspace_id, stored.dataset_id)
    source_connection = datasets.connection_of(connection, workspace_id, stored.dataset_id)
    if dataset_row is None or source_connection is None:
        raise SourceGone("The dataset of the query is no longer there.")
    try:
        dataset = parse_dataset(dataset_row.definition)
        query = parse_query(stored.definition, dataset)
    except InvalidQuery as error:
        raise SourceBroken(
            f"The query no longer fits its dataset {dataset_row.name!r}: {error.message}"
        ) from error
    return StoredQuery(query=query, dataset=dataset, source_connection=source_connection)


def open_stored(
    connection: Connection,
    workspace_id: str,
    stored: StoredQuery,
    *,
    actor_id: str,
    given_values: Mapping[str, Any],
    moment: datetime,
    time_zone: str,
    environment: Mapping[str, str],
) -> OpenedQuery:
    """Open a loaded query as ``actor_id``; arguments and errors are those of :func:`open_query`."""
    actor = actor_of(connection, workspace_id, actor_id)
    values = resolve_values(
        stored.query.parameters, given_values, moment=moment, time_zone=time_zone
    )
    compiled = compile_query(stored.query, stored.dataset, actor, values)
    name, variable = stored.source_connection.name, stored.source_connection.url_variable
    url = environment.get(variable, "")
    if not url:
        raise SourceUnavailable(
            f"The connection {name!r} has no URL: set the environment variable {variable}, here"
            " and for the workers."
        )
    return OpenedQuery(
        compiled=compiled,
        stored_values=stored_form(values),
        database_url=url,
        database_name=f"The connection {name!r}, whose URL is in {variable},",
    )


def actor_of(connection: Connection, workspace_id: str, actor_id: str) -> Actor:
    """Return the person as whom a source is opened, as they are now.

    Raises:
        AccessLost: they are no longer in the workspace.
    """
    person = people.get(connection, workspace_id, actor_id)
    if person is None:
        raise AccessLost("The person who should read it is no longer in the workspace.")
    return Actor(person.id, person.name, person.roles, person.active)


def stored_form(values: Mapping[str, object]) -> dict[str, Any]:
    """Return exact values as the store keeps them."""
    stored: dict[str, Any] = json.loads(dump_values(values))
    return stored
