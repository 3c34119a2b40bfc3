"""Check the schedules that the files declare: references, recurrence, values, authority."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import Connection

from queries_orchestration.catalog.check_opening import OpeningCheck
from queries_orchestration.catalog.check_recipients import RecipientCheck
from queries_orchestration.catalog.declared import DeclaredSchedule
from queries_orchestration.catalog.names import Names
from queries_orchestration.catalog.openings import Openings
from queries_orchestration.catalog.plan import ScheduleRows
from queries_orchestration.catalog.shape import Shape
from queries_orchestration.catalog.source_names import SourceNames
from queries_orchestration.model.errors import Refused, UnreadableRow
from queries_orchestration.model.ids import new_id
from queries_orchestration.model.recurrences import Recurrence, next_slot
from queries_orchestration.store import recipients, schedules
from queries_orchestration.store.people import Person
from queries_orchestration.store.schedules import Schedule
from queries_orchestration.store.sources import Source
from queries_orchestration.store.workspaces import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleCheck:
    """Checks the schedules of one workspace as its other rows will be after the apply.

    ``written_by`` says who writes them: a file, or somebody else.
    """

    shape: Shape
    now: datetime
    workspace: Workspace
    written_by: str
    people: Names[Person]
    recipients: RecipientCheck
    sources: SourceNames
    openings: Openings

    def stored(self, connection: Connection, schedule: Schedule | None) -> ScheduleRows | None:
        """Return the rows of a schedule that is there."""
        if schedule is None:
            return None
        named = recipients.of_schedule(connection, self.workspace.id, schedule.id)
        return ScheduleRows(schedule, self.recipients.listed(named))

    def unreadable(self, connection: Connection, name: str, schedule_id: str) -> ScheduleRows:
        """Return what stands for a row that cannot be read: of it only its creation is known.

        It is paused, as a pass that meets such a row pauses it: somebody resumes it once mended.
        Where its creation is what cannot be read, it counts as made now: a backfill then takes it
        for new, rather than for older than it is.
        """
        created_at = schedules.created_at_of(connection, self.workspace.id, schedule_id)
        stand_in = replace(
            self._empty(name, source_id="", version=0, owner_id=""),
            id=schedule_id,
            written_by="other",
            state="paused",
            pause_code=UnreadableRow.code,
            pause_reason="Its row could not be read, and was written anew from a file. Resume it.",
            paused_at=self.now,
            created_at=created_at or self.now,
        )
        return ScheduleRows(stand_in, ())

    def after(self, declared: DeclaredSchedule, before: ScheduleRows | None) -> ScheduleRows | None:
        """Return the rows that the definition makes, or None and its faults in ``shape``."""
        faults_before = len(self.shape.faults)
        stored = before.schedule if before else None
        what = f"the schedule `{declared.name}`"
        owner = self._owner(declared, what)
        source = self.sources.find(
            declared.kind, declared.source, declared.node(declared.kind), what, self.shape
        )
        listed = self.recipients.check(declared.recipients, what)
        recurrence = self._recurrence(declared, what)
        if source is not None:
            OpeningCheck(
                shape=self.shape,
                now=self.now,
                time_zone=declared.time_zone or self.workspace.time_zone,
                openings=self.openings,
                declared=declared,
                what=what,
            ).check(source, owner, pin_kept=_pin_kept(stored, source))
        if declared.faulty or len(self.shape.faults) > faults_before:
            return None
        if owner is None or source is None or recurrence is None:
            return None
        base = stored or self._empty(
            declared.name,
            source_id=source.id,
            version=source.current_version,
            owner_id=owner.id,
        )
        schedule = replace(
            base,
            title=declared.title,
            written_by=self.written_by,
            source_id=source.id,
            pinned_version=_pin_kept(stored, source) or source.current_version,
            owner_id=owner.id,
            cron=recurrence.cron,
            time_zone=recurrence.time_zone,
            last_day=recurrence.last_day,
            starts_on=recurrence.starts_on,
            ends_on=recurrence.ends_on,
            format=declared.format,
            runtime_values=declared.values,
            skip_empty=declared.skip_empty,
            missed_slots=declared.missed_slots,
            lateness_limit=declared.lateness_limit,
        )
        recurs_anew = _rule(base) != recurrence
        if schedule.state == "ended" or (schedule.state == "active" and recurs_anew):
            slot = next_slot(recurrence, self.now)
            if slot is not None:
                # One that had ended begins without failures.
                streak = 0 if schedule.state == "ended" else schedule.failure_streak
                schedule = replace(schedule, state="active", next_slot=slot, failure_streak=streak)
            elif recurs_anew:
                at = declared.node("cron" if declared.ends_on is None else "ends_on")
                self.shape.fault(at, f"{what}: its recurrence never comes again")
        return ScheduleRows(schedule, listed)

    def _empty(self, name: str, *, source_id: str, version: int, owner_id: str) -> Schedule:
        """Return a schedule with nothing of a recurrence yet."""
        return Schedule(
            workspace_id=self.workspace.id,
            id=new_id(),
            name=name,
            title="",
            written_by=self.written_by,
            source_id=source_id,
            pinned_version=version,
            owner_id=owner_id,
            cron="",
            time_zone="",
            last_day=False,
            starts_on=None,
            ends_on=None,
            format="",
            runtime_values={},
            skip_empty=False,
            missed_slots="",
            lateness_limit=None,
            state="active",
            pause_code=None,
            pause_reason=None,
            paused_at=None,
            failure_streak=0,
            next_slot=None,
            created_at=self.now,
        )

    def _owner(self, declared: DeclaredSchedule, what: str) -> Person | None:
        at = declared.node("owner")
        owner = self.people.find(declared.owner, at, f"{what}, owner", self.shape)
        if owner is not None and not owner.active:
            self.shape.fault(at, f"{what}: its owner `{owner.name}` is not active")
        return owner

    def _recurrence(self, declared: DeclaredSchedule, what: str) -> Recurrence | None:
        if not declared.cron:
            return None
        time_zone = declared.time_zone or self.workspace.time_zone
        try:
            return Recurrence.parse(
                declared.cron,
                time_zone,
                last_day=declared.last_day,
                starts_on=declared.starts_on,
                ends_on=declared.ends_on,
            )
        except Refused as error:
            self.shape.fault(declared.node("cron"), f"{what}: {error.message}")
            return None


def _rule(schedule: Schedule) -> Recurrence:
    """Return the rule as it is stored, unchecked: a new schedule has none yet."""
    return Recurrence(
        schedule.cron, schedule.time_zone, schedule.last_day, schedule.starts_on, schedule.ends_on
    )


def _pin_kept(stored: Schedule | None, source: Source) -> int | None:
    """Return the version that the schedule stays pinned to; None if it gets the current one."""
    if stored is None or stored.source_id != source.id:
        return None
    return stored.pinned_version
