"""Refuse to overwrite what somebody else wrote since a file did."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from queries_orchestration.catalog.declared import Declared, DeclaredWorkspace
from queries_orchestration.catalog.plan import Planned, WorkspacePlan, content_of, same
from queries_orchestration.catalog.shape import Shape
from queries_orchestration.catalog.yaml_file import Node

# The columns that a person would not know by their own name. None: it follows from another one.
_KEYS: Final[Mapping[str, str | None]] = {
    "connection_id": "connection",
    "current_version": "definition",
    "source_id": "source",
    "owner_id": "owner",
    "members": "people",
    "runtime_values": "values",
    "pinned_version": None,
    "next_slot": None,
    "failure_streak": None,
}


def refuse_conflicts(plan: WorkspacePlan, declared: DeclaredWorkspace, shape: Shape) -> None:
    """Keep a fault for every row that the plan changes although somebody else wrote it last."""
    _refuse("workspace", [plan.workspace], {declared.name: declared.at}, shape)
    _refuse("person", plan.people, _places(declared.people), shape)
    _refuse("group", plan.groups, _places(declared.groups), shape)
    _refuse("connection", plan.connections, _places(declared.connections), shape)
    _refuse("dataset", plan.datasets, _places(declared.datasets), shape)
    _refuse("query", plan.queries, _places(declared.queries), shape)
    _refuse("report", plan.reports, _places(declared.reports), shape)
    _refuse("schedule", plan.schedules, _places(declared.schedules), shape)


def _places(section: Mapping[str, Declared]) -> dict[str, Node]:
    return {name: declared.at for name, declared in section.items()}


def _refuse(
    kind: str, rows: Iterable[Planned[Any]], places: Mapping[str, Node], shape: Shape
) -> None:
    for row in rows:
        if row.before is None or row.before.written_by == "file" or row.outcome == "unchanged":
            continue
        if row.after.written_by == row.before.written_by:
            continue  # a report that only follows its queries
        shape.fault(
            places[row.after.name],
            f"the {kind} `{row.after.name}` was written by somebody else, and here is another"
            f" {', '.join(_differences(row))}: take theirs into the file, or overwrite it with"
            " --take-over",
        )


def _differences(row: Planned[Any]) -> list[str]:
    before, after = content_of(row.before), content_of(row.after)
    keys = (
        _KEYS.get(column, column)
        for column in after
        if not same({"": before[column]}, {"": after[column]})
    )
    return [key for key in keys if key is not None]
