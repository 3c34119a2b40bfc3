"""Check what the files declare of a workspace against its rows, and plan what to write."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Final

from sqlalchemy import Connection

from queries_orchestration.catalog.check_recipients import RecipientCheck
from queries_orchestration.catalog.check_reports import ReportCheck
from queries_orchestration.catalog.check_schedules import ScheduleCheck
from queries_orchestration.catalog.conflicts import refuse_conflicts
from queries_orchestration.catalog.declared import (
    DeclaredConnection,
    DeclaredDataset,
    DeclaredGroup,
    DeclaredPerson,
    DeclaredQuery,
    DeclaredWorkspace,
)
from queries_orchestration.catalog.names import Names
from queries_orchestration.catalog.openings import Openings, OpenQuery
from queries_orchestration.catalog.piecewise import parse_piecewise
from queries_orchestration.catalog.plan import Planned, WorkspacePlan, same
from queries_orchestration.catalog.prune import surplus_of
from queries_orchestration.catalog.shape import Shape
from queries_orchestration.catalog.source_names import SourceNames
from queries_orchestration.model.datasets import parse_dataset
from queries_orchestration.model.errors import Refused
from queries_orchestration.model.ids import new_id
from queries_orchestration.model.queries import parse_query
from queries_orchestration.store import (
    datasets,
    groups,
    outside_addresses,
    people,
    schedules,
    sources,
    workspaces,
)
from queries_orchestration.store.datasets import SourceConnection, StoredDataset
from queries_orchestration.store.groups import Group
from queries_orchestration.store.people import Person
from queries_orchestration.store.sources import Source, SourceVersion
from queries_orchestration.store.workspaces import Workspace

BY_FILE: Final = "file"
_DATASET_KEYS: Final = frozenset({"relation", "fields", "key", "access"})


def plan_workspace(
    connection: Connection,
    declared: DeclaredWorkspace,
    shape: Shape,
    now: datetime,
    *,
    prune: bool,
    take_over: bool,
) -> WorkspacePlan:
    """Return the rows that the files make; without meaning if ``shape`` has faults after it.

    Args:
        connection: only read.
        declared: what the files say.
        shape: takes the faults.
        now: the present instant; new rows are created then, and slots are those after it.
        prune: find the rows that the files lack, and allow no reference to them.
        take_over: allow changes of rows that somebody else wrote last.
    """
    workspace = Planned(*_workspace_rows(connection, declared, shape), take_over)
    plan = WorkspacePlan(
        workspace=workspace,
        surplus=surplus_of(connection, workspace.after.id, declared, take_over=take_over)
        if prune
        else None,
    )
    check = _WorkspaceCheck(connection, declared, shape, now, plan)
    for person in declared.people.values():
        check.person(person)
    for group in declared.groups.values():
        check.group(group)
    for source_connection in declared.connections.values():
        check.connection(source_connection)
    for dataset in declared.datasets.values():
        check.dataset(dataset)
    for query in declared.queries.values():
        check.query(query)
    check.reports()
    recipient_check = RecipientCheck(
        shape=shape,
        workspace=plan.workspace.after,
        people=check.people,
        groups=check.groups,
        outside=outside_addresses.listing(connection, check.workspace_id),
    )
    schedule_check = ScheduleCheck(
        shape=shape,
        now=now,
        workspace=plan.workspace.after,
        written_by=BY_FILE,
        people=check.people,
        recipients=recipient_check,
        sources=check.sources,
        openings=check.openings,
    )
    found = schedules.readable_listing(connection, check.workspace_id)
    stored = {row.name: row for row in found.records}
    unreadable = {name: schedule_id for schedule_id, name in found.unreadable}
    for schedule in declared.schedules.values():
        before = schedule_check.stored(connection, stored.get(schedule.name))
        if schedule.name in unreadable:
            before = schedule_check.unreadable(connection, schedule.name, unreadable[schedule.name])
        after = schedule_check.after(schedule, before)
        if after is not None:
            plan.schedules.append(Planned(before, after, take_over))
    plan.outside.extend(recipient_check.changed())
    if not take_over:
        refuse_conflicts(plan, declared, shape)
    return plan


def _workspace_rows(
    connection: Connection, declared: DeclaredWorkspace, shape: Shape
) -> tuple[Workspace | None, Workspace]:
    before = workspaces.by_name(connection, declared.name)
    if before is None:
        for key in ("title", "time_zone"):
            if key not in declared.nodes:
                shape.fault(declared.at, f"the workspace `{declared.name}` is new and needs {key}")
    # The stand-in is never written: without a title and a zone there is a fault.
    now = before or Workspace(id=new_id(), name=declared.name, title="", time_zone="UTC")
    after = replace(
        now,
        title=declared.title or now.title,
        time_zone=declared.time_zone or now.time_zone,
        written_by=BY_FILE,
    )
    limits = declared.limits
    if limits is not None:
        after = replace(
            after,
            export_bytes=limits["export_bytes"],
            export_seconds=limits["export_seconds"],
            statement_seconds=limits["statement_seconds"],
        )
    # An empty list or mapping takes away what was there.
    if declared.allowed_domains is not None:
        after = replace(after, allowed_domains=declared.allowed_domains or None)
    if declared.messages is not None:
        after = replace(after, messages=declared.messages or None)
    return before, after


class _WorkspaceCheck:
    def __init__(
        self,
        connection: Connection,
        declared: DeclaredWorkspace,
        shape: Shape,
        now: datetime,
        plan: WorkspacePlan,
    ) -> None:
        self._connection = connection
        self._declared = declared
        self._shape = shape
        self._now = now
        self._plan = plan
        self._take_over = plan.workspace.take_over
        self.workspace_id = plan.workspace.after.id
        surplus = plan.surplus
        self.people = Names(
            "person",
            people.listing(connection, self.workspace_id),
            declared.people,
            pruned={person.name for person in surplus.people} if surplus else (),
        )
        self.groups = Names(
            "group",
            groups.listing(connection, self.workspace_id),
            declared.groups,
            pruned={group.name for group in surplus.groups} if surplus else (),
        )
        self._connections = Names(
            "connection",
            datasets.connections_listing(connection, self.workspace_id),
            declared.connections,
        )
        self._datasets = Names(
            "dataset", datasets.listing(connection, self.workspace_id), declared.datasets
        )
        self._stored_sources = sources.listing(connection, self.workspace_id)
        self.sources = SourceNames(self._stored_sources, declared, surplus)
        self.openings = Openings(connection, self.workspace_id)

    def person(self, declared: DeclaredPerson) -> None:
        if declared.faulty:
            return
        before = self.people.stored(declared.name)
        after = Person(
            workspace_id=self.workspace_id,
            id=before.id if before else new_id(),
            name=declared.name,
            title=declared.title,
            address=declared.address,
            roles=declared.roles,
            active=declared.active,
            written_by=BY_FILE,
        )
        self.people.declare(after)
        self._plan.people.append(Planned(before, after, self._take_over))

    def group(self, declared: DeclaredGroup) -> None:
        what = f"the group `{declared.name}`"
        faults_before = len(self._shape.faults)
        members: list[str] = []
        for node in declared.members:
            if not isinstance(node.content, str):
                continue
            person = self.people.find(node.content, node, what, self._shape)
            if person is not None and person.id in members:
                self._shape.fault(node, f"{what}: `{person.name}` is in it twice")
            elif person is not None:
                members.append(person.id)
        if declared.faulty or len(self._shape.faults) > faults_before:
            return
        before = self.groups.stored(declared.name)
        after = Group(
            workspace_id=self.workspace_id,
            id=before.id if before else new_id(),
            name=declared.name,
            title=declared.title,
            members=tuple(members),
            written_by=BY_FILE,
        )
        self.groups.declare(after)
        self._plan.groups.append(Planned(before, after, self._take_over))

    def connection(self, declared: DeclaredConnection) -> None:
        if declared.faulty:
            return
        before = self._connections.stored(declared.name)
        after = SourceConnection(
            workspace_id=self.workspace_id,
            id=before.id if before else new_id(),
            name=declared.name,
            title=declared.title,
            url_variable=declared.url_variable,
            written_by=BY_FILE,
        )
        self._connections.declare(after)
        self._plan.connections.append(Planned(before, after, self._take_over))

    def dataset(self, declared: DeclaredDataset) -> None:
        what = f"the dataset `{declared.name}`"
        faults_before = len(self._shape.faults)
        source_connection = self._connections.find(
            declared.connection, declared.node("connection"), what, self._shape
        )
        for person in declared.people_named:
            if isinstance(person.content, str):
                self.people.find(person.content, person, f"{what}, access", self._shape)
        dataset = None
        if declared.pieces.keys() >= _DATASET_KEYS:
            dataset = parse_piecewise(
                lambda pieces: parse_dataset(declared.definition(pieces)),
                declared.pieces,
                at=declared.at,
                what=what,
                shape=self._shape,
            )
        if declared.faulty or len(self._shape.faults) > faults_before:
            return
        if dataset is None or source_connection is None:
            return
        before = self._datasets.stored(declared.name)
        after = StoredDataset(
            workspace_id=self.workspace_id,
            id=before.id if before else new_id(),
            name=declared.name,
            title=declared.title,
            connection_id=source_connection.id,
            definition=declared.definition(declared.pieces),
            written_by=BY_FILE,
        )
        self._datasets.declare(after)
        self.openings.take_dataset(after.id, dataset)
        self._plan.datasets.append(Planned(before, after, self._take_over))

    def query(self, declared: DeclaredQuery) -> None:
        what = f"the query `{declared.name}`"
        before = self.sources.stored("query", declared.name)
        faults_before = len(self._shape.faults)
        self.sources.check_free("query", declared.name, declared.at, what, self._shape)
        row = self._datasets.find(declared.dataset, declared.node("dataset"), what, self._shape)
        opened = self._open(declared, row, what) if row is not None else None
        if declared.faulty or len(self._shape.faults) > faults_before:
            return
        if row is None or opened is None:
            return
        version = self._version_of(declared, before, row)
        after = Source(
            workspace_id=self.workspace_id,
            id=version.source_id,
            name=declared.name,
            title=declared.title,
            kind="query",
            current_version=version.version,
            archived=False,
            written_by=BY_FILE,
        )
        self.sources.declare(after)
        self.openings.take_query(after.id, version.version, opened)
        self._plan.queries.append(Planned(before, after, self._take_over))
        if before is None or version.version > before.current_version:
            self._plan.versions.append(version)

    def reports(self) -> None:
        """Check the reports of the files, and those that show a query with a new version."""
        check = ReportCheck(
            connection=self._connection,
            shape=self._shape,
            now=self._now,
            declared=self._declared,
            plan=self._plan,
            sources=self.sources,
            openings=self.openings,
        )
        for report in self._declared.reports.values():
            check.report(report)
        gone = self._plan.surplus.reports if self._plan.surplus else ()
        for source in self._stored_sources:
            stays = source not in gone and source.name not in self._declared.reports
            if source.kind == "report" and stays and not source.archived:
                check.follow(source)

    def _open(self, declared: DeclaredQuery, row: StoredDataset, what: str) -> OpenQuery | None:
        try:
            dataset = self.openings.dataset(row.id)
        except Refused as error:
            self._shape.fault(
                declared.node("dataset"),
                f"{what}: the dataset `{row.name}` must be put right first: {error.message}",
            )
            return None
        if "fields" not in declared.pieces:
            return None
        query = parse_piecewise(
            lambda pieces: parse_query(declared.definition(pieces), dataset),
            declared.pieces,
            at=declared.at,
            what=what,
            shape=self._shape,
        )
        return None if query is None else OpenQuery(query, dataset)

    def _version_of(
        self, declared: DeclaredQuery, before: Source | None, dataset: StoredDataset
    ) -> SourceVersion:
        """Return the current version if it says the same, else a new one."""
        first = SourceVersion(
            workspace_id=self.workspace_id,
            source_id=before.id if before else new_id(),
            version=1,
            dataset_id=dataset.id,
            definition=declared.definition(declared.pieces),
            created_at=self._now,
        )
        if before is None:
            return first
        current = sources.version(
            self._connection, self.workspace_id, before.id, before.current_version
        )
        if (
            current is not None
            and current.dataset_id == dataset.id
            and same(current.definition, first.definition)
        ):
            return current
        return replace(first, version=before.current_version + 1)
