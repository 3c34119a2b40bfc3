"""What somebody can open now, and with which runtime values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from queries_orchestration.exports.open_query import StoredQuery, actor_of, load_query
from queries_orchestration.exports.open_report import load_report
from queries_orchestration.model.access import Actor, check_active
from queries_orchestration.model.compile import check_access
from queries_orchestration.model.errors import NotFound, PermanentError
from queries_orchestration.model.reports import QuerySection
from queries_orchestration.model.runtime_values import Parameter
from queries_orchestration.model.titles import is_one_line
from queries_orchestration.store import sources
from queries_orchestration.store.sources import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenableSource:
    """The current version of a source that somebody can open, with its parameters."""

    source: Source
    parameters: Sequence[Parameter]


def openable_sources(
    connection: Connection, workspace_id: str, *, person_id: str, after: str | None = None
) -> Iterator[OpenableSource]:
    """Yield what a person can open now, by name; what cannot be run at all is left out.

    Args:
        after: the name that they come after.

    Raises:
        AccessLost: the person is not active in the workspace.
    """
    actor = actor_of(connection, workspace_id, person_id)
    check_active(actor)
    for source in sources.listing(connection, workspace_id, after=after):
        found = _openable(connection, source, actor)
        if found is not None:
            yield found


def openable_source(
    connection: Connection, workspace_id: str, *, person_id: str, name: str
) -> OpenableSource:
    """Return a source that a person can open now.

    Args:
        name: any text.

    Raises:
        NotFound: there is none, or they cannot: always the same answer.
    """
    actor = actor_of(connection, workspace_id, person_id)
    source = sources.by_name(connection, workspace_id, name) if is_one_line(name) else None
    found = source and _openable(connection, source, actor)
    if not found:
        raise NotFound(f"There is no query or report {name!r}.")
    return found


def _openable(connection: Connection, source: Source, actor: Actor) -> OpenableSource | None:
    if source.archived:
        return None
    try:
        parameters = _parameters(connection, source, actor)
    except PermanentError:
        return None
    return OpenableSource(source=source, parameters=parameters)


def _parameters(connection: Connection, source: Source, actor: Actor) -> Sequence[Parameter]:
    """Return the parameters of the current version.

    Raises:
        AccessLost, FieldNotAvailable: the actor may not open it.
        SourceGone, SourceBroken: it cannot be run.
    """
    check_active(actor)
    where = (connection, source.workspace_id, source.id, source.current_version)
    if source.kind == "query":
        stored = load_query(*where)
        _check(stored, actor)
        return stored.query.parameters
    loaded = load_report(*where)
    for section in loaded.report.sections:
        if isinstance(section, QuerySection):
            _check(loaded.queries[section.query], actor)
    return loaded.report.parameters


def _check(stored: StoredQuery, actor: Actor) -> None:
    check_access(stored.query, stored.dataset, actor)
