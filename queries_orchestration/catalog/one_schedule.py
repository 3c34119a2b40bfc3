"""One schedule by its definition, in the keys of a catalog file: made or changed by a person.

It goes through the checks of ``catalog apply`` and is written as that writes it, but as somebody
else's row: a file does not overwrite it in silence.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection

from queries_orchestration.catalog.check_recipients import RecipientCheck
from queries_orchestration.catalog.check_schedules import ScheduleCheck
from queries_orchestration.catalog.declared import DeclaredWorkspace
from queries_orchestration.catalog.json_nodes import node_of
from queries_orchestration.catalog.names import Names
from queries_orchestration.catalog.openings import Openings
from queries_orchestration.catalog.plan import Planned, ScheduleRows
from queries_orchestration.catalog.schedule_rows import change_schedule, insert_schedule
from queries_orchestration.catalog.sections import LONGEST_TEXT, read_schedule
from queries_orchestration.catalog.shape import Shape
from queries_orchestration.catalog.source_names import SourceNames
from queries_orchestration.catalog.yaml_file import Node
from queries_orchestration.exports.openable import openable_sources
from queries_orchestration.model.access import ADMINISTRATOR, AUTHOR
from queries_orchestration.model.audit import NOT_ALLOWED, AuditEvent, By, Subject
from queries_orchestration.model.clock import Clock
from queries_orchestration.model.errors import (
    DefinitionFault,
    InvalidDefinition,
    Refused,
)
from queries_orchestration.store import (
    audit,
    groups,
    outside_addresses,
    people,
    recipients as recipient_rows,
    schedules,
    sources,
    workspaces,
)
from queries_orchestration.store.catalog_lock import lock_catalog
from queries_orchestration.store.database import Database
from queries_orchestration.store.people import Person
from queries_orchestration.store.schedule_tags import check_unchanged
from queries_orchestration.store.schedules import Schedule
from queries_orchestration.store.sources import Source
from queries_orchestration.store.workspaces import Workspace

BY_OTHER: Final = "other"
_NAMELESS: Final = "new"


def create_schedule(
    database: Database, workspace_id: str, definition: Any, *, by: By, clock: Clock
) -> Schedule:
    """Make a schedule of a definition, as ``json.loads`` gives it, that holds its ``name``.

    Args:
        by: an author or administrator, who is the owner; an administrator may name another one.

    Raises:
        Refused: the person may not (``not_allowed``), or the name is taken (``name_taken``).
        InvalidDefinition: with every fault; nothing was written.
    """
    shape = Shape()
    node = node_of(definition, shape)  # before anybody waits
    with database.transaction(workspace_id) as connection:
        lock_catalog(connection)  # before the first read
        check = _Check.of(connection, workspace_id, shape, by=by, at=clock())
        author = check.person
        if author.roles.isdisjoint({AUTHOR, ADMINISTRATOR}):
            raise Refused("Authors and administrators make schedules.", code=NOT_ALLOWED)
        name, given = check.without_name(node)
        owner = given.get("owner")
        if owner is not None and owner.content != author.name and not check.is_administrator:
            raise Refused("Only an administrator may name another owner.", code=NOT_ALLOWED)
        rows = check.rows(name, given, owner=author, before=None)
        if schedules.by_name(connection, workspace_id, name) is not None:
            raise Refused(f"There is a schedule {name!r} already.", code="name_taken")
        return check.write(Planned(None, rows, take_over=False), by=by)


def change_schedule_to(
    database: Database,
    workspace_id: str,
    definition: Any,
    *,
    find: Callable[[Connection], Schedule],
    by: By,
    clock: Clock,
    expected: Collection[str] | None,
) -> Schedule:
    """Make of a schedule what a whole definition, as ``json.loads`` gives it, says.

    One that leaves out the owner keeps them; another owner is for ``transfer``.

    Args:
        find: returns the schedule, over which ``by`` has authority.
        expected: the tags (``store.schedule_tags``) of which it must have one; None: whatever it
            has.

    Raises:
        NotFound: as ``find``.
        Refused: it is another than expected (``changed_meanwhile``).
        InvalidDefinition: with every fault; nothing was written.
    """
    shape = Shape()
    node = node_of(definition, shape)  # before anybody waits
    with database.transaction(workspace_id) as connection:
        lock_catalog(connection)  # before the first read
        before = find(connection)
        check_unchanged(connection, before, expected)
        check = _Check.of(connection, workspace_id, shape, by=by, at=clock())
        owner = people.get(connection, workspace_id, before.owner_id)
        given = check.mapping(node)
        named = given.get("owner")
        if owner is not None and named is not None and named.content != owner.name:
            check.shape.fault(
                named, "another owner is not set by a definition: transfer the schedule to them"
            )
            given = {key: value for key, value in given.items() if key != "owner"}
        stored = check.stored(before)
        rows = check.rows(before.name, given, owner=owner, before=stored)
        return check.write(Planned(stored, rows, take_over=False), by=by)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Check:
    """The definition of one schedule beside all rows of its workspace as they are."""

    connection: Connection
    workspace: Workspace
    person: Person
    shape: Shape
    recipients: RecipientCheck
    at: datetime

    @classmethod
    def of(
        cls, connection: Connection, workspace_id: str, shape: Shape, *, by: By, at: datetime
    ) -> _Check:
        workspace = workspaces.get(connection, workspace_id)
        person = people.get(connection, workspace_id, by.as_person())
        if workspace is None or person is None or not person.active:
            raise Refused("You are not active in the workspace.", code=NOT_ALLOWED)
        recipients = RecipientCheck(
            shape=shape,
            workspace=workspace,
            people=_people(connection, workspace_id),
            groups=Names("group", groups.listing(connection, workspace_id), {}),
            outside=outside_addresses.listing(connection, workspace_id),
            is_guarded=ADMINISTRATOR not in person.roles,
        )
        return cls(
            connection=connection,
            workspace=workspace,
            person=person,
            shape=shape,
            recipients=recipients,
            at=at,
        )

    @property
    def is_administrator(self) -> bool:
        return ADMINISTRATOR in self.person.roles

    def mapping(self, node: Node) -> dict[str, Node]:
        """Return the values of the definition by key."""
        if isinstance(node.content, dict):
            return dict(node.content)
        self.shape.fault(node, "the definition of a schedule must be an object")
        raise self.refusal()

    def without_name(self, node: Node) -> tuple[str, dict[str, Node]]:
        """Return the name of a new schedule, and the rest of its definition."""
        given = self.mapping(node)
        at = given.pop("name", None)
        if at is None:
            self.shape.fault(node, "a new schedule needs the key `name`")
            return _NAMELESS, given
        name = self.shape.text(at, "`name`", longest=LONGEST_TEXT)
        is_name = bool(name) and self.shape.check_name(at, name, "`name`")
        return (name if is_name else _NAMELESS), given

    def stored(self, schedule: Schedule) -> ScheduleRows:
        """Return the rows of the schedule as they are."""
        named = recipient_rows.of_schedule(self.connection, self.workspace.id, schedule.id)
        return ScheduleRows(schedule, self.recipients.listed(named))

    def rows(
        self,
        name: str,
        given: dict[str, Node],
        *,
        owner: Person | None,
        before: ScheduleRows | None,
    ) -> ScheduleRows:
        """Return the rows that the definition makes.

        Args:
            owner: if the definition does not say it.

        Raises:
            InvalidDefinition: with every fault.
        """
        if "owner" not in given and owner is not None:
            given = {**given, "owner": Node("", 0, owner.name)}
        at = Node("", 0, given)
        declared = read_schedule(name, at, self.shape)
        declared = replace(declared, faulty=bool(self.shape.faults))
        workspace = DeclaredWorkspace(name=self.workspace.name, at=at)
        check = ScheduleCheck(
            shape=self.shape,
            now=self.at,
            workspace=self.workspace,
            written_by=BY_OTHER,
            people=_people(self.connection, self.workspace.id),
            recipients=self.recipients,
            sources=SourceNames(self._sources(before), workspace, None),
            openings=Openings(self.connection, self.workspace.id),
        )
        rows = check.after(declared, before)
        if rows is None or self.shape.faults:
            raise self.refusal()
        return rows

    def _sources(self, before: ScheduleRows | None) -> list[Source]:
        """Return the sources that may be named: others look as if they were not there."""
        every = sources.listing(self.connection, self.workspace.id)
        if self.is_administrator:
            return every
        openable = openable_sources(self.connection, self.workspace.id, person_id=self.person.id)
        ids = {one.source.id for one in openable}
        if before is not None:
            ids.add(before.schedule.source_id)  # it is known to them
        return [source for source in every if source.id in ids]

    def refusal(self) -> InvalidDefinition:
        """Return the faults."""
        unique = dict.fromkeys(self.shape.faults)
        return InvalidDefinition([DefinitionFault(one.file, one.message) for one in unique])

    def write(self, planned: Planned[ScheduleRows], *, by: By) -> Schedule:
        """Write what is new or changed, and return the schedule."""
        if planned.before is not None and planned.outcome == "unchanged":
            return planned.before.schedule
        for outside in self.recipients.changed():
            outside_addresses.put(self.connection, outside)
        if planned.before is None:
            insert_schedule(self.connection, planned.after)
        else:
            change_schedule(self.connection, planned.after)
            outside_addresses.remove_unused(self.connection, self.workspace.id)
        schedule = planned.after.schedule
        audit.record(
            self.connection,
            AuditEvent(
                workspace_id=self.workspace.id,
                at=self.at,
                by=by,
                action="schedule_created" if planned.before is None else "schedule_changed",
                subject=Subject("schedule", schedule.id),
            ),
        )
        return schedule


def _people(connection: Connection, workspace_id: str) -> Names[Person]:
    return Names("person", people.listing(connection, workspace_id), {})
