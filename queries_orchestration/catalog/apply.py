"""``queries catalog apply``: check everything in the files, then write all of it or nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from sqlalchemy import Connection

from queries_orchestration.catalog.audited import audit_events
from queries_orchestration.catalog.changes import CatalogChanges, changes_of
from queries_orchestration.catalog.check import plan_workspace
from queries_orchestration.catalog.documents import read_declared
from queries_orchestration.catalog.own_workspace import (
    SENT_FILE,
    only_own,
    plan_own_workspace,
    workspace_administered_by,
)
from queries_orchestration.catalog.plan import Planned, Row, WorkspacePlan
from queries_orchestration.catalog.prune import PrunedRow, prune as prune_rows
from queries_orchestration.catalog.schedule_rows import change_schedule, insert_schedule
from queries_orchestration.catalog.shape import Shape
from queries_orchestration.catalog.yaml_file import Node, read_yaml, read_yaml_bytes
from queries_orchestration.model.audit import By
from queries_orchestration.model.clock import Clock
from queries_orchestration.model.errors import InvalidCatalog
from queries_orchestration.store import (
    audit,
    datasets,
    groups,
    outside_addresses,
    people,
    report_queries,
    sources,
    workspaces,
)
from queries_orchestration.store.catalog_lock import lock_catalog
from queries_orchestration.store.database import Database


def apply_catalog(
    database: Database,
    files: Sequence[Path],
    *,
    clock: Clock,
    environment: Mapping[str, str],
    by: By,
    prune: bool = False,
    take_over: bool = False,
) -> CatalogChanges:
    """Make the rows of the catalog as the files say.

    Args:
        database: the application database.
        files: YAML files in the form that ``docs/catalog.md`` describes.
        clock: new rows are created at its time, and first slots come after it.
        environment: only asked which variables of connections are set.
        by: who applies them, for the audit trail.
        prune: of the workspaces in the files, take away the rows that the files lack and that a
            file wrote last; without it they stay.
        take_over: change, and with ``prune`` take away, also rows that somebody else wrote last.

    Raises:
        InvalidCatalog: with every fault and its line; nothing was written. To change a row that
            somebody else wrote last is a fault, too, without ``take_over``.
        StoreUnavailable: the database cannot be reached or is busy.
    """
    shape = Shape()
    documents: list[Node] = []
    for path in dict.fromkeys(files):
        found, faults = read_yaml(path)
        documents += found
        shape.faults += faults
    declared = read_declared(documents, shape)
    now = clock()
    with database.across.transaction() as connection:
        lock_catalog(connection)
        plans = [
            plan_workspace(connection, workspace, shape, now, prune=prune, take_over=take_over)
            for workspace in declared
        ]
        return _carry_out(connection, plans, shape, now=now, environment=environment, by=by)


def apply_own_catalog(
    database: Database,
    workspace_id: str,
    sent: bytes,
    *,
    clock: Clock,
    environment: Mapping[str, str],
    by: By,
    prune: bool = False,
    take_over: bool = False,
) -> CatalogChanges:
    """Make the rows of one workspace as a file says that its administrator sends.

    It speaks of no other workspace, and reads by no variable and has no limits but those that
    whoever runs the installation has given the workspace.

    Args:
        sent: what the file holds.
        by: an administrator of the workspace.

    The other arguments and errors are those of :func:`apply_catalog`.

    Raises:
        Refused: who asks is no active administrator (``not_allowed``).
    """
    documents, faults = read_yaml_bytes(sent, SENT_FILE)
    shape = Shape(faults)
    declared = read_declared(documents, shape)
    now = clock()
    with database.transaction(workspace_id) as connection:
        lock_catalog(connection)
        place = workspace_administered_by(connection, workspace_id, by)
        plans = [
            plan_own_workspace(
                connection, place, workspace, shape, now, prune=prune, take_over=take_over
            )
            for workspace in only_own(declared, place, shape)
        ]
        return _carry_out(connection, plans, shape, now=now, environment=environment, by=by)


def _carry_out(
    connection: Connection,
    plans: Sequence[WorkspacePlan],
    shape: Shape,
    *,
    now: datetime,
    environment: Mapping[str, str],
    by: By,
) -> CatalogChanges:
    """Write the plans, unless there is a fault."""
    if shape.faults:
        unique = dict.fromkeys(shape.faults)
        raise InvalidCatalog(sorted(unique, key=lambda fault: (fault.file, fault.line)))
    pruned: list[PrunedRow] = []
    for plan in plans:
        _write(connection, plan)
        taken_away = _prune(connection, plan, at=now)
        for event in audit_events(plan, taken_away, by=by, at=now):
            audit.record(connection, event)
        pruned += taken_away
    unset = (
        row.after.url_variable
        for plan in plans
        for row in plan.connections
        if not environment.get(row.after.url_variable)
    )
    return changes_of(plans, pruned, unset)


def _prune(connection: Connection, plan: WorkspacePlan, *, at: datetime) -> list[PrunedRow]:
    if plan.surplus is None:
        return []
    return prune_rows(connection, plan.workspace.after, plan.surplus, at=at)


def _write(connection: Connection, plan: WorkspacePlan) -> None:
    _write_rows(connection, [plan.workspace], workspaces.insert, workspaces.change)
    _write_rows(connection, plan.people, people.insert, people.change)
    _write_rows(connection, plan.groups, groups.insert, groups.change)
    for outside in plan.outside:
        outside_addresses.put(connection, outside)
    _write_rows(
        connection, plan.connections, datasets.insert_connection, datasets.change_connection
    )
    _write_rows(connection, plan.datasets, datasets.insert, datasets.change)
    _write_rows(connection, [*plan.queries, *plan.reports], sources.insert, sources.change)
    for version in plan.versions:
        sources.add_version(connection, version)
    for shown in plan.report_queries:
        report_queries.insert(connection, shown)
    _write_rows(connection, plan.schedules, insert_schedule, change_schedule)


def _write_rows(
    connection: Connection,
    rows: Iterable[Planned[Row]],
    insert: Callable[[Connection, Row], None],
    change: Callable[[Connection, Row], None],
) -> None:
    for row in rows:
        if row.outcome == "created":
            insert(connection, row.after)
        elif row.outcome == "changed":
            change(connection, row.after)
