"""The sources of files, saved queries and reports, with all their versions."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, insert as insert_into, select, update

from queries_orchestration.model.formats import SourceKind
from queries_orchestration.store.rows import every, one_or_none
from queries_orchestration.store.tables import source_versions, sources


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A saved query or report; an archived one can no longer be run."""

    workspace_id: str
    id: str
    name: str
    title: str
    kind: SourceKind
    current_version: int
    archived: bool = False
    written_by: str = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceVersion:
    """One version of a source, never changed; a report has no ``dataset_id`` of its own."""

    workspace_id: str
    source_id: str
    version: int
    dataset_id: str | None
    definition: dict[str, Any]
    created_at: datetime


def get(connection: Connection, workspace_id: str, source_id: str) -> Source | None:
    """Return the source with this id, also when it is archived."""
    query = select(sources).where(sources.c.workspace_id == workspace_id, sources.c.id == source_id)
    return one_or_none(connection, Source, query)


def by_name(connection: Connection, workspace_id: str, name: str) -> Source | None:
    """Return the source of this name, also when it is archived."""
    query = select(sources).where(sources.c.workspace_id == workspace_id, sources.c.name == name)
    return one_or_none(connection, Source, query)


def listing(connection: Connection, workspace_id: str, *, after: str | None = None) -> list[Source]:
    """Return the sources of the workspace by name, archived ones too.

    Args:
        after: the name that they come after.
    """
    query = select(sources).where(sources.c.workspace_id == workspace_id).order_by(sources.c.name)
    if after is not None:
        query = query.where(sources.c.name > after)
    return every(connection, Source, query)


def version(
    connection: Connection, workspace_id: str, source_id: str, version: int
) -> SourceVersion | None:
    """Return one version of a source."""
    query = select(source_versions).where(
        source_versions.c.workspace_id == workspace_id,
        source_versions.c.source_id == source_id,
        source_versions.c.version == version,
    )
    return one_or_none(connection, SourceVersion, query)


def insert(connection: Connection, source: Source) -> None:
    """Write a new source; its first version follows with ``add_version``."""
    connection.execute(insert_into(sources).values(asdict(source)))


def change(connection: Connection, source: Source) -> None:
    """Write every column of a source that is there."""
    connection.execute(
        update(sources)
        .where(sources.c.workspace_id == source.workspace_id, sources.c.id == source.id)
        .values(asdict(source))
    )


def add_version(connection: Connection, added: SourceVersion) -> None:
    """Write a new version and make it the current one; schedules stay pinned where they are."""
    connection.execute(insert_into(source_versions).values(asdict(added)))
    connection.execute(
        update(sources)
        .where(sources.c.workspace_id == added.workspace_id, sources.c.id == added.source_id)
        .values(current_version=added.version)
    )
