"""What an apply is going to write: every row beside the one that is there now."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from datetime import date
from decimal import Decimal
from typing import Any, Generic, Literal, TypeVar

from queries_orchestration.catalog.prune import Surplus
from queries_orchestration.store.datasets import SourceConnection, StoredDataset
from queries_orchestration.store.groups import Group
from queries_orchestration.store.outside_addresses import OutsideAddress
from queries_orchestration.store.people import Person
from queries_orchestration.store.recipients import RecipientKind
from queries_orchestration.store.report_queries import ReportQueries
from queries_orchestration.store.schedules import Schedule
from queries_orchestration.store.sources import Source, SourceVersion
from queries_orchestration.store.workspaces import Workspace

Outcome = Literal["created", "changed", "unchanged"]


@dataclass(frozen=True, slots=True)
class ListedRecipient:
    """One recipient of a schedule; ``title`` is the name of an outside address."""

    kind: RecipientKind
    id: str
    title: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class ScheduleRows:
    """A schedule with its recipients in their order."""

    schedule: Schedule
    recipients: tuple[ListedRecipient, ...]

    @property
    def name(self) -> str:
        """Return the schedule's name."""
        return self.schedule.name

    @property
    def written_by(self) -> str:
        """Return who wrote the schedule last."""
        return self.schedule.written_by


Row = TypeVar(
    "Row", Workspace, Person, Group, SourceConnection, StoredDataset, Source, ScheduleRows
)


@dataclass(frozen=True, slots=True)
class Planned(Generic[Row]):
    """One row, before and after.

    What the file says the same stays whose it was, unless the file is to ``take_over``.
    """

    before: Row | None
    after: Row
    take_over: bool

    @property
    def outcome(self) -> Outcome:
        """Return what will happen to the row."""
        if self.before is None:
            return "created"
        if self.take_over and self.before.written_by != self.after.written_by:
            return "changed"
        alike = same(content_of(self.before), content_of(self.after))
        return "unchanged" if alike else "changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspacePlan:
    """All that will be written into one workspace; without ``surplus`` nothing is pruned.

    ``outside`` are addresses that are new or have another name. ``reports`` are those of the files,
    and those that get a version because a query got one.
    """

    workspace: Planned[Workspace]
    surplus: Surplus | None = None
    people: list[Planned[Person]] = field(default_factory=list)
    groups: list[Planned[Group]] = field(default_factory=list)
    outside: list[OutsideAddress] = field(default_factory=list)
    connections: list[Planned[SourceConnection]] = field(default_factory=list)
    datasets: list[Planned[StoredDataset]] = field(default_factory=list)
    queries: list[Planned[Source]] = field(default_factory=list)
    reports: list[Planned[Source]] = field(default_factory=list)
    versions: list[SourceVersion] = field(default_factory=list)
    report_queries: list[ReportQueries] = field(default_factory=list)
    schedules: list[Planned[ScheduleRows]] = field(default_factory=list)


def content_of(row: Any) -> dict[str, Any]:
    """Return the columns of a row, of a schedule with its recipients, without who wrote it."""
    columns = (
        asdict(row.schedule) | {"recipients": [asdict(one) for one in row.recipients]}
        if isinstance(row, ScheduleRows)
        else asdict(row)
    )
    del columns["written_by"]
    return columns


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Tell whether two mappings are equal as JSON: the order of keys does not count."""
    return _canonical(one) == _canonical(other)


def _canonical(value: object) -> str:
    return json.dumps(_normal(value), sort_keys=True)


def _normal(value: object) -> object:
    if isinstance(value, dict):
        return {key: _normal(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_normal(item) for item in value]
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, date):  # a datetime is one
        return value.isoformat()
    # PostgreSQL's JSONB gives 1e300 back as the whole number that its digits say.
    if isinstance(value, float) and value.is_integer():
        return int(Decimal(repr(value)))
    return value
