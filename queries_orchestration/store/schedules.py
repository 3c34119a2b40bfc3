"""Schedules."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, select, update

from queries_orchestration.model.errors import UnreadableRow
from queries_orchestration.model.recurrences import Recurrence
from queries_orchestration.store.catalog_lock import wait_for_files
from queries_orchestration.store.rows import (
    Readable,
    every,
    one_or_none,
    readable,
    select_records,
    values_of,
)
from queries_orchestration.store.tables import schedules


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """A source, a recurrence, an owner and options; ``lateness_limit`` is in seconds."""

    workspace_id: str
    id: str
    name: str
    title: str
    written_by: str
    source_id: str
    pinned_version: int
    owner_id: str
    cron: str
    time_zone: str
    last_day: bool
    starts_on: date | None
    ends_on: date | None
    format: str
    runtime_values: dict[str, Any]
    skip_empty: bool
    missed_slots: str
    lateness_limit: int | None
    state: str
    pause_code: str | None
    pause_reason: str | None
    paused_at: datetime | None
    failure_streak: int
    next_slot: datetime | None
    created_at: datetime

    def recurrence(self) -> Recurrence:
        """Return the rule.

        Raises:
            InvalidRecurrence, UnknownTimeZone: it cannot be read.
        """
        return Recurrence.parse(
            self.cron,
            self.time_zone,
            last_day=self.last_day,
            starts_on=self.starts_on,
            ends_on=self.ends_on,
        )


@dataclass(frozen=True, slots=True)
class _Creation:
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleLabel:
    """How a schedule is told to people."""

    name: str
    title: str
    time_zone: str


def get(connection: Connection, workspace_id: str, schedule_id: str) -> Schedule | None:
    """Return one schedule of the workspace."""
    return one_or_none(
        connection,
        Schedule,
        select_records(Schedule, schedules).where(
            schedules.c.workspace_id == workspace_id, schedules.c.id == schedule_id
        ),
    )


def hold(connection: Connection, workspace_id: str, schedule_id: str) -> Schedule | None:
    """Return one schedule, and let nobody edit it until the transaction ends."""
    wait_for_files(connection)
    return one_or_none(
        connection,
        Schedule,
        select_records(Schedule, schedules)
        .where(schedules.c.workspace_id == workspace_id, schedules.c.id == schedule_id)
        # Rows that refer to it are still written by others.
        .with_for_update(key_share=True),
    )


def hold_due(
    connection: Connection, which: Collection[tuple[str, str]], at: datetime
) -> list[Schedule]:
    """Return those of some schedules that are due at ``at``, and let nobody edit them meanwhile.

    They are locked in one order, so that nobody who holds several waits for who waits for them.

    Args:
        which: of each the ids of its workspace and of itself; some hundreds.

    Raises:
        UnreadableRow: one of them cannot be read.
    """
    wait_for_files(connection)
    return every(
        connection,
        Schedule,
        select_records(Schedule, schedules)
        .where(
            sa.tuple_(schedules.c.workspace_id, schedules.c.id).in_(which),
            schedules.c.next_slot <= at,
        )
        .order_by(schedules.c.workspace_id, schedules.c.id)
        # Rows that refer to them are still written by others.
        .with_for_update(key_share=True),
    )


def advance(connection: Connection, following: Mapping[tuple[str, str], datetime | None]) -> None:
    """Move the recurrences of schedules on that the caller holds; one without a slot has ended."""
    which = sa.tuple_(schedules.c.workspace_id, schedules.c.id)
    ended = [ids for ids, slot in following.items() if slot is None]
    going_on = {ids: slot for ids, slot in following.items() if slot is not None}
    if ended:
        connection.execute(
            update(schedules).where(which.in_(ended)).values(next_slot=None, state="ended")
        )
    if going_on:
        # Ids of schedules are unique over all workspaces.
        slots = {
            schedule_id: sa.literal(slot, schedules.c.next_slot.type)
            for (_, schedule_id), slot in going_on.items()
        }
        connection.execute(
            update(schedules)
            .where(which.in_(list(going_on)))
            .values(next_slot=sa.case(slots, value=schedules.c.id))
        )


def by_name(connection: Connection, workspace_id: str, name: str) -> Schedule | None:
    """Return the workspace's schedule of that catalog name."""
    return one_or_none(
        connection,
        Schedule,
        select_records(Schedule, schedules).where(
            schedules.c.workspace_id == workspace_id, schedules.c.name == name
        ),
    )


def listing(connection: Connection, workspace_id: str) -> list[Schedule]:
    """Return the workspace's schedules by name."""
    return every(connection, Schedule, _of_workspace(workspace_id))


def readable_listing(connection: Connection, workspace_id: str) -> Readable[Schedule]:
    """Return the workspace's schedules by name; id and name of those that cannot be read."""
    statement = _of_workspace(workspace_id)
    return readable(connection, Schedule, statement, schedules.c.id, schedules.c.name)


def _of_workspace(workspace_id: str) -> sa.Select[Any]:
    return (
        select_records(Schedule, schedules)
        .where(schedules.c.workspace_id == workspace_id)
        .order_by(schedules.c.name)
    )


def page(
    connection: Connection,
    workspace_id: str,
    *,
    owner_id: str | None,
    limit: int,
    after: str | None,
) -> list[Schedule]:
    """Return some schedules of the workspace by name.

    Args:
        owner_id: only those of this person; None: of all.
        after: the name that they come after.
    """
    statement = select_records(Schedule, schedules).where(schedules.c.workspace_id == workspace_id)
    if owner_id is not None:
        statement = statement.where(schedules.c.owner_id == owner_id)
    if after is not None:
        statement = statement.where(schedules.c.name > after)
    return every(connection, Schedule, statement.order_by(schedules.c.name).limit(limit))


def insert(connection: Connection, schedule: Schedule) -> None:
    """Write a new schedule."""
    connection.execute(sa.insert(schedules).values(values_of(schedule)))


def change(connection: Connection, schedule: Schedule) -> None:
    """Write all columns of a schedule that is there."""
    connection.execute(
        update(schedules)
        .where(schedules.c.workspace_id == schedule.workspace_id, schedules.c.id == schedule.id)
        .values(values_of(schedule))
    )


def pause(
    connection: Connection,
    workspace_id: str,
    schedule_id: str,
    *,
    code: str,
    reason: str,
    at: datetime,
    by_person: bool = False,
) -> bool:
    """Pause an active schedule with its reason; False if it is not active."""
    written_by = {"written_by": "other"} if by_person else {}
    paused = connection.execute(
        update(schedules)
        .where(
            schedules.c.workspace_id == workspace_id,
            schedules.c.id == schedule_id,
            schedules.c.state == "active",
        )
        .values(
            state="paused",
            pause_code=code,
            pause_reason=reason,
            paused_at=at,
            next_slot=None,
            **written_by,
        )
    )
    return paused.rowcount == 1


def resume(
    connection: Connection, workspace_id: str, schedule_id: str, *, next_slot: datetime
) -> bool:
    """Let a person resume a paused schedule at ``next_slot``; False if it is not paused."""
    resumed = connection.execute(
        update(schedules)
        .where(
            schedules.c.workspace_id == workspace_id,
            schedules.c.id == schedule_id,
            schedules.c.state == "paused",
        )
        .values(
            state="active",
            pause_code=None,
            pause_reason=None,
            paused_at=None,
            failure_streak=0,
            next_slot=next_slot,
            written_by="other",
        )
    )
    return resumed.rowcount == 1


def repin(
    connection: Connection,
    workspace_id: str,
    schedule_id: str,
    *,
    version: int,
    runtime_values: dict[str, Any],
) -> None:
    """Let a person move a schedule to another version of its source, with the values for it."""
    connection.execute(
        update(schedules)
        .where(schedules.c.workspace_id == workspace_id, schedules.c.id == schedule_id)
        .values(pinned_version=version, runtime_values=runtime_values, written_by="other")
    )


def give(
    connection: Connection, workspace_id: str, schedule_id: str, *, from_id: str, to_id: str
) -> bool:
    """Let a person give a schedule from one owner to another; False if it has another one."""
    given = connection.execute(
        update(schedules)
        .where(
            schedules.c.workspace_id == workspace_id,
            schedules.c.id == schedule_id,
            schedules.c.owner_id == from_id,
        )
        .values(owner_id=to_id, written_by="other")
    )
    return given.rowcount == 1


def reset_streak(connection: Connection, workspace_id: str, schedule_id: str) -> None:
    """Forget the failures in a row."""
    connection.execute(
        update(schedules)
        .where(schedules.c.workspace_id == workspace_id, schedules.c.id == schedule_id)
        .values(failure_streak=0)
    )


def extend_streak(connection: Connection, workspace_id: str, schedule_id: str) -> int:
    """Count one more failure in a row and return how many there are now."""
    streak: int = connection.execute(
        update(schedules)
        .where(schedules.c.workspace_id == workspace_id, schedules.c.id == schedule_id)
        .values(failure_streak=schedules.c.failure_streak + 1)
        .returning(schedules.c.failure_streak)
    ).scalar_one()
    return streak


def streak_of(connection: Connection, workspace_id: str, schedule_id: str) -> int:
    """Return how many failures in a row there are."""
    streak = connection.scalar(
        select(schedules.c.failure_streak).where(
            schedules.c.workspace_id == workspace_id, schedules.c.id == schedule_id
        )
    )
    return streak or 0


def owner_of(connection: Connection, workspace_id: str, schedule_id: str) -> str:
    """Return the id of the owner of a schedule that is there, without reading the whole row."""
    owner_id: str = connection.execute(
        select(schedules.c.owner_id).where(
            schedules.c.workspace_id == workspace_id, schedules.c.id == schedule_id
        )
    ).scalar_one()
    return owner_id


def created_at_of(connection: Connection, workspace_id: str, schedule_id: str) -> datetime | None:
    """Return when a schedule was made, without reading the rest of its row.

    None if there is none, or not even that can be read.
    """
    with suppress(UnreadableRow):
        found = one_or_none(
            connection,
            _Creation,
            select_records(_Creation, schedules).where(
                schedules.c.workspace_id == workspace_id, schedules.c.id == schedule_id
            ),
        )
        return found.created_at if found else None
    return None


def label_of(connection: Connection, workspace_id: str, schedule_id: str) -> ScheduleLabel | None:
    """Return how a schedule is told to people, without reading the whole row."""
    return one_or_none(
        connection,
        ScheduleLabel,
        select_records(ScheduleLabel, schedules).where(
            schedules.c.workspace_id == workspace_id, schedules.c.id == schedule_id
        ),
    )


def next_slot_of(connection: Connection, workspace_id: str, schedule_id: str) -> datetime:
    """Return the next slot of a schedule that has one, without reading the rest of its row."""
    slot: datetime = connection.execute(
        select(schedules.c.next_slot).where(
            schedules.c.workspace_id == workspace_id,
            schedules.c.id == schedule_id,
            schedules.c.next_slot.is_not(None),
        )
    ).scalar_one()
    return slot
