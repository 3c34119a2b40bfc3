"""What the audit trail tells of an apply: that it changed a workspace, and which schedules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from queries_orchestration.catalog.plan import Outcome, WorkspacePlan
from queries_orchestration.catalog.prune import PrunedRow
from queries_orchestration.model.audit import Action, AuditEvent, By, Subject

_ACTIONS: Final[dict[Outcome, Action]] = {
    "created": "schedule_created",
    "changed": "schedule_changed",
}


def audit_events(
    plan: WorkspacePlan, pruned: Sequence[PrunedRow], *, by: By, at: datetime
) -> Iterator[AuditEvent]:
    """Yield what writing the plan did; nothing where everything was as the files say.

    Args:
        pruned: what was taken away from the workspace.
    """
    workspace_id = plan.workspace.after.id
    gone = {(row.kind, row.name) for row in pruned if row.outcome != "kept"}
    done: list[tuple[Action, str]] = [
        (_ACTIONS[row.outcome], row.after.schedule.id)
        for row in plan.schedules
        if row.outcome in _ACTIONS
    ]
    done += [
        ("schedule_deleted", schedule.id)
        for schedule in (plan.surplus.schedules if plan.surplus else [])
        if ("schedules", f"{plan.workspace.after.name}/{schedule.name}") in gone
    ]

    def event(action: Action, subject: Subject) -> AuditEvent:
        return AuditEvent(workspace_id=workspace_id, at=at, by=by, action=action, subject=subject)

    if _changes(plan) or gone:
        yield event("catalog_applied", Subject("workspace", workspace_id))
    for action, schedule_id in done:
        yield event(action, Subject("schedule", schedule_id))


def _changes(plan: WorkspacePlan) -> bool:
    outcomes: list[Outcome] = [plan.workspace.outcome]
    outcomes += [row.outcome for row in plan.people]
    outcomes += [row.outcome for row in plan.groups]
    outcomes += [row.outcome for row in plan.connections]
    outcomes += [row.outcome for row in plan.datasets]
    outcomes += [row.outcome for row in (*plan.queries, *plan.reports)]
    outcomes += [row.outcome for row in plan.schedules]
    return bool(plan.outside or plan.versions) or set(outcomes) != {"unchanged"}
