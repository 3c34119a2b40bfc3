"""What an apply did, for a person and for a program."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from queries_orchestration.catalog.plan import Outcome, Planned, Row, WorkspacePlan
from queries_orchestration.catalog.prune import PrunedRow

_KINDS: Final = (
    "workspaces",
    "people",
    "groups",
    "connections",
    "datasets",
    "queries",
    "reports",
    "schedules",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class KindChanges:
    """The names of one kind of rows in the files; within a workspace ``workspace/name``."""

    created: tuple[str, ...]
    changed: tuple[str, ...]
    unchanged: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewVersion:
    """A version that a query or report got."""

    source: str
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogChanges:
    """What one apply did to each kind of row; ``pruned`` are rows that the files lack.

    Among the changed ``reports`` are those that the files lack and that got a version because a
    query that they show got one.

    ``unset_variables`` are those of the connections in the files that this process lacks: the
    workers need them.
    """

    workspaces: KindChanges
    people: KindChanges
    groups: KindChanges
    connections: KindChanges
    datasets: KindChanges
    queries: KindChanges
    reports: KindChanges
    schedules: KindChanges
    pruned: tuple[PrunedRow, ...]
    new_versions: tuple[NewVersion, ...]
    unset_variables: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the changes as JSON can hold them."""
        return asdict(self)

    def lines(self) -> list[str]:
        """Return the changes for a person to read."""
        lines: list[str] = []
        for kind in _KINDS:
            outcomes: dict[str, tuple[str, ...]] = asdict(getattr(self, kind))
            rows = [(outcome, name) for outcome, names in outcomes.items() for name in names]
            rows += [(row.outcome, row.name) for row in self.pruned if row.kind == kind]
            counts = Counter(outcome for outcome, _ in rows)
            if counts:
                listed = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
                lines.append(f"{kind}: {listed}")
            for outcome, name in rows:
                why = ": something refers to it" if outcome == "kept" else ""
                if outcome != "unchanged":
                    lines.append(f"  {outcome} {name}{why}")
        lines += [f"{new.source} has the new version {new.version}" for new in self.new_versions]
        lines += [
            f"{variable} is not set here: the workers need it" for variable in self.unset_variables
        ]
        return lines


def changes_of(
    plans: Sequence[WorkspacePlan], pruned: Iterable[PrunedRow], unset_variables: Iterable[str]
) -> CatalogChanges:
    """Tell what writing the plans does, and what prune did."""
    return CatalogChanges(
        workspaces=_named((plan.workspace.after.name, plan.workspace.outcome) for plan in plans),
        people=_kind((plan, plan.people) for plan in plans),
        groups=_kind((plan, plan.groups) for plan in plans),
        connections=_kind((plan, plan.connections) for plan in plans),
        datasets=_kind((plan, plan.datasets) for plan in plans),
        queries=_kind((plan, plan.queries) for plan in plans),
        reports=_kind((plan, plan.reports) for plan in plans),
        schedules=_kind((plan, plan.schedules) for plan in plans),
        pruned=tuple(pruned),
        new_versions=tuple(version for plan in plans for version in _new_versions(plan)),
        unset_variables=tuple(sorted(set(unset_variables))),
    )


def _kind(rows: Iterable[tuple[WorkspacePlan, list[Planned[Row]]]]) -> KindChanges:
    return _named(
        (f"{plan.workspace.after.name}/{row.after.name}", row.outcome)
        for plan, planned in rows
        for row in planned
    )


def _named(outcomes: Iterable[tuple[str, Outcome]]) -> KindChanges:
    listed = sorted(outcomes)

    def names(wanted: Outcome) -> tuple[str, ...]:
        return tuple(name for name, outcome in listed if outcome == wanted)

    return KindChanges(
        created=names("created"), changed=names("changed"), unchanged=names("unchanged")
    )


def _new_versions(plan: WorkspacePlan) -> Iterable[NewVersion]:
    names = {row.after.id: row.after.name for row in (*plan.queries, *plan.reports)}
    for version in plan.versions:
        source = f"{plan.workspace.after.name}/{names[version.source_id]}"
        yield NewVersion(source=source, version=version.version)
