"""``--prune``: take away the rows that the files lack, as far as history and others allow."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, Protocol, TypeVar

from sqlalchemy import Connection

from queries_orchestration.catalog.declared import DeclaredWorkspace
from queries_orchestration.store import (
    datasets,
    groups,
    outside_addresses,
    people,
    schedules,
    sources,
)
from queries_orchestration.store.datasets import SourceConnection, StoredDataset
from queries_orchestration.store.groups import Group
from queries_orchestration.store.people import Person
from queries_orchestration.store.removal import remove, retire_schedule
from queries_orchestration.store.schedules import Schedule
from queries_orchestration.store.sources import Source
from queries_orchestration.store.workspaces import Workspace

PruneOutcome = Literal["removed", "ended", "archived", "deactivated", "kept"]


class _CatalogRow(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def written_by(self) -> str: ...


_Row = TypeVar("_Row", bound=_CatalogRow)


@dataclass(frozen=True, slots=True, kw_only=True)
class Surplus:
    """The rows of one workspace that the files lack and that prune may take away."""

    people: list[Person]
    groups: list[Group]
    connections: list[SourceConnection]
    datasets: list[StoredDataset]
    queries: list[Source]
    reports: list[Source]
    schedules: list[Schedule]


@dataclass(frozen=True, slots=True)
class PrunedRow:
    """What prune did with one row, ``workspace/name``; ``kind`` is a section of the files."""

    kind: str
    name: str
    outcome: PruneOutcome


def surplus_of(
    connection: Connection, workspace_id: str, declared: DeclaredWorkspace, *, take_over: bool
) -> Surplus:
    """Return what prune may take away; rows that somebody else wrote only with ``take_over``."""

    def lacking(rows: Iterable[_Row], names: Mapping[str, object]) -> list[_Row]:
        return [
            row for row in rows if row.name not in names and (take_over or row.written_by == "file")
        ]

    stored_sources = sources.listing(connection, workspace_id)
    stored_queries = (source for source in stored_sources if source.kind == "query")
    stored_reports = (source for source in stored_sources if source.kind == "report")
    return Surplus(
        people=lacking(people.listing(connection, workspace_id), declared.people),
        groups=lacking(groups.listing(connection, workspace_id), declared.groups),
        connections=lacking(
            datasets.connections_listing(connection, workspace_id), declared.connections
        ),
        datasets=lacking(datasets.listing(connection, workspace_id), declared.datasets),
        queries=lacking(stored_queries, declared.queries),
        reports=lacking(stored_reports, declared.reports),
        schedules=lacking(
            schedules.readable_listing(connection, workspace_id).records, declared.schedules
        ),
    )


def prune(
    connection: Connection, workspace: Workspace, surplus: Surplus, *, at: datetime
) -> list[PrunedRow]:
    """Take the rows away, those that refer before those that are referred to.

    What something refers to stays: schedules ended, reports and queries archived, people
    deactivated, groups, datasets and connections as they are. A row that had come to that before is
    not returned.

    Args:
        at: now, by the calendar clock.
    """
    pruned: list[PrunedRow] = []

    def record(kind: str, name: str, outcome: PruneOutcome | None) -> None:
        if outcome is not None:
            pruned.append(PrunedRow(kind, f"{workspace.name}/{name}", outcome))

    for schedule in surplus.schedules:
        outcome = retire_schedule(connection, schedule, written_by="file", at=at)
        record("schedules", schedule.name, outcome)
    outside_addresses.remove_unused(connection, workspace.id)
    for report in surplus.reports:
        record("reports", report.name, _prune_source(connection, report))
    for query in surplus.queries:
        record("queries", query.name, _prune_source(connection, query))
    for dataset in surplus.datasets:
        record("datasets", dataset.name, "removed" if remove(connection, dataset) else "kept")
    for source in surplus.connections:
        record("connections", source.name, "removed" if remove(connection, source) else "kept")
    for group in surplus.groups:
        record("groups", group.name, "removed" if remove(connection, group) else "kept")
    in_access_rules = datasets.people_in_access_rules(connection, workspace.id)
    for person in surplus.people:
        referred_to = person.name in in_access_rules
        record("people", person.name, _prune_person(connection, person, referred_to=referred_to))
    return pruned


def _prune_source(connection: Connection, source: Source) -> PruneOutcome | None:
    if remove(connection, source):
        return "removed"
    if source.archived:
        return None
    sources.change(connection, replace(source, archived=True, written_by="file"))
    return "archived"


def _prune_person(
    connection: Connection, person: Person, *, referred_to: bool
) -> PruneOutcome | None:
    if not referred_to and remove(connection, person):
        return "removed"
    if not person.active:
        return None
    people.change(connection, replace(person, active=False, left_workspace=True, written_by="file"))
    return "deactivated"
