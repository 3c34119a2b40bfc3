"""The queries and reports that a person may open now, with the runtime values that each takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import Connection

from queries_orchestration.exports.open_query import StoredQuery, actor_of, load_query
from queries_orchestration.model.access import Actor, check_active
from queries_orchestration.model.compile import check_access
from queries_orchestration.model.errors import NotFound, PermanentError, SourceGone
from queries_orchestration.model.reports import QuerySection, parse_report
from queries_orchestration.model.runtime_values import Parameter
from queries_orchestration.store import report_queries, sources
from queries_orchestration.store.sources import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """A source in its current version, and the parameters that take values."""

    source: Source
    parameters: tuple[Parameter, ...]


def offered_sources(connection: Connection, workspace_id: str, *, person_id: str) -> list[Offered]:
    """Return all that the person may open now, by name; what is broken or gone is left out."""
    return list(_offered(connection, sources.listing(connection, workspace_id), person_id))


def offered_source(
    connection: Connection, workspace_id: str, *, person_id: str, name: str
) -> Offered:
    """Return one source by its name.

    Raises:
        NotFound: there is none, or the person may not open it: always the same answer.
    """
    source = sources.by_name(connection, workspace_id, name) if "\0" not in name else None
    found = next(_offered(connection, [source] if source else [], person_id), None)
    if found is None:
        raise NotFound(f"There is no query or report {name!r}.")
    return found


def _offered(connection: Connection, listed: list[Source], person_id: str) -> Iterator[Offered]:
    for source in listed:
        if source.archived:
            continue
        try:
            actor = actor_of(connection, source.workspace_id, person_id)
            check_active(actor)
            parameters = (
                _of_report(connection, source, actor)
                if source.kind == "report"
                else _of_query(
                    load_query(connection, source.workspace_id, source.id, source.current_version),
                    actor,
                )
            )
        except PermanentError:
            continue
        yield Offered(source=source, parameters=parameters)


def _of_query(stored: StoredQuery, actor: Actor) -> tuple[Parameter, ...]:
    check_access(stored.query, stored.dataset, actor)
    return tuple(stored.query.parameters)


def _of_report(connection: Connection, source: Source, actor: Actor) -> tuple[Parameter, ...]:
    workspace_id, version = source.workspace_id, source.current_version
    stored = sources.version(connection, workspace_id, source.id, version)
    if stored is None:
        raise SourceGone("This version of the report is no longer there.")
    shown = report_queries.of_version(connection, workspace_id, source.id, version)
    queries = {
        name: load_query(connection, workspace_id, one.source.id, one.version)
        for name, one in shown.items()
        if not one.source.archived
    }
    report = parse_report(stored.definition, {name: one.query for name, one in queries.items()})
    for section in report.sections:
        if isinstance(section, QuerySection):
            _of_query(queries[section.query], actor)
    return report.parameters
