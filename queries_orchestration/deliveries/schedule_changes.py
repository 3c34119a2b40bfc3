"""What a person changes in a schedule beside its catalog file: pause, resume, version, owner.

Each holds the schedule's row before it decides: no file changes meanwhile what it decides by.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection

from queries_orchestration.deliveries.authority import schedule_governed_by
from queries_orchestration.deliveries.resolve import source_of, version_run
from queries_orchestration.exports.open_source import open_source
from queries_orchestration.model.errors import NotFound, Refused, SourceUnavailable
from queries_orchestration.model.ids import new_id
from queries_orchestration.model.recurrences import next_slot
from queries_orchestration.receives.backends import Backends
from queries_orchestration.store import people, schedules, sources, transfers
from queries_orchestration.store.schedules import Schedule
from queries_orchestration.store.sources import Source
from queries_orchestration.store.transfers import Transfer

PAUSED: Final = "paused"
"""The code of a pause by a person."""


def pause(backends: Backends, workspace_id: str, *, schedule_id: str, reason: str) -> Schedule:
    """Pause a schedule until somebody resumes it; what is admitted already is still delivered.

    Args:
        reason: why, for the history.

    Raises:
        NotFound: there is no such schedule.
        Refused: it is paused already (``already_paused``) or has ended (``schedule_ended``), or
            the reason is empty (``no_reason``).
    """
    if not reason.strip():
        raise Refused("Say why it is paused, for others to read.", code="no_reason")
    with backends.database.transaction() as connection:
        _held(connection, workspace_id, schedule_id)
        if not schedules.pause(
            connection,
            workspace_id,
            schedule_id,
            code=PAUSED,
            reason=reason,
            at=backends.clock(),
            by_person=True,
        ):
            schedule = _schedule(connection, workspace_id, schedule_id)
            _refuse_ended(schedule)
            raise Refused(
                f"It is paused already, with {schedule.pause_code}: {schedule.pause_reason}",
                code="already_paused",
            )
        return _schedule(connection, workspace_id, schedule_id)


def resume(backends: Backends, workspace_id: str, *, schedule_id: str) -> Schedule:
    """Let a paused schedule go on with the first slot after now, and no failures counted.

    Raises:
        NotFound: there is no such schedule.
        Refused: it is not paused (``not_paused``), has ended or ends now (``schedule_ended``).
        InvalidRecurrence, UnknownTimeZone: its rule cannot be read.
        AccessLost, FieldNotAvailable, SourceGone, SourceBroken, InvalidRuntimeValue: its owner
            cannot open the source now; nothing was written.
    """
    now = backends.clock()
    with backends.database.transaction() as connection:
        schedule = _held(connection, workspace_id, schedule_id)
        _refuse_ended(schedule)
        if schedule.state != "paused":
            raise _not_paused()
        slot = next_slot(schedule.recurrence(), now)
        if slot is None:
            raise Refused("Its recurrence never comes again.", code="schedule_ended")
        source = source_of(connection, schedule)
        version = version_run(schedule, source)
        _check_opening(
            backends, connection, schedule, source, version, schedule.runtime_values, slot
        )
        if not schedules.resume(connection, workspace_id, schedule_id, next_slot=slot):
            raise _not_paused()
        return _schedule(connection, workspace_id, schedule_id)


def repin(
    backends: Backends,
    workspace_id: str,
    *,
    schedule_id: str,
    version: int | None = None,
    values: Mapping[str, Any] | None = None,
) -> Schedule:
    """Move a schedule, in whatever state, to another version of its query.

    A report is rendered in its current version anyway: to move its schedule there takes the change
    as seen, so that it is flagged no longer.

    Args:
        version: of the query; None: its current one, as it must be of a report.
        values: take the place of all the schedule's values; None: they stay.

    Raises:
        NotFound: there is no such schedule or version.
        Refused: a report's version is not its current one (``report_not_current``).
        AccessLost, FieldNotAvailable, SourceGone, SourceBroken, InvalidRuntimeValue: its owner
            cannot open that version with the values; nothing was written.
    """
    with backends.database.transaction() as connection:
        schedule = _held(connection, workspace_id, schedule_id)
        source = source_of(connection, schedule)
        wanted = source.current_version if version is None else version
        if sources.version(connection, workspace_id, source.id, wanted) is None:
            raise NotFound(
                f"The {source.kind} {source.name!r} has no version {wanted};"
                f" its current one is {source.current_version}."
            )
        if source.kind == "report" and wanted != source.current_version:
            raise Refused(
                "A report is always rendered in its current version,"
                f" {source.current_version}; there is no other to move to.",
                code="report_not_current",
            )
        runtime_values = schedule.runtime_values if values is None else dict(values)
        _check_opening(
            backends, connection, schedule, source, wanted, runtime_values, backends.clock()
        )
        if (wanted, runtime_values) != (schedule.pinned_version, schedule.runtime_values):
            schedules.repin(
                connection,
                workspace_id,
                schedule_id,
                version=wanted,
                runtime_values=runtime_values,
            )
        return _schedule(connection, workspace_id, schedule_id)


def transfer(
    backends: Backends,
    workspace_id: str,
    *,
    schedule_id: str,
    to_person_id: str,
    by_person_id: str,
    reason: str | None = None,
) -> Schedule:
    """Give a schedule, in whatever state, to another owner who can open its source now.

    Args:
        by_person_id: its present owner, or an administrator.
        reason: why, for the history.

    Raises:
        NotFound: there is no such schedule, the person has no authority over it, or there is
            no such new owner.
        Refused: the new owner owns it already (``already_owner``).
        AccessLost, FieldNotAvailable, SourceGone, SourceBroken, InvalidRuntimeValue: the new owner
            cannot open the source now; nothing was written.
    """
    at = backends.clock()
    with backends.database.transaction() as connection:
        schedules.hold(connection, workspace_id, schedule_id)
        schedule = schedule_governed_by(
            connection, workspace_id, schedule_id=schedule_id, person_id=by_person_id
        )
        owner = people.get(connection, workspace_id, to_person_id)
        if owner is None:
            raise NotFound("There is no such person in the workspace.")
        if owner.id == schedule.owner_id:
            raise Refused(f"{owner.name} owns the schedule already.", code="already_owner")
        source = source_of(connection, schedule)
        _check_opening(
            backends,
            connection,
            replace(schedule, owner_id=owner.id),
            source,
            version_run(schedule, source),
            schedule.runtime_values,
            at,
        )
        if not schedules.give(
            connection, workspace_id, schedule_id, from_id=schedule.owner_id, to_id=owner.id
        ):
            raise Refused("Somebody else has just transferred it.", code="already_transferred")
        transfers.record(
            connection,
            Transfer(
                workspace_id=workspace_id,
                id=new_id(),
                schedule_id=schedule_id,
                from_person_id=schedule.owner_id,
                to_person_id=owner.id,
                transferred_by=by_person_id,
                reason=reason,
                transferred_at=at,
            ),
        )
        return _schedule(connection, workspace_id, schedule_id)


def _held(connection: Connection, workspace_id: str, schedule_id: str) -> Schedule:
    schedule = schedules.hold(connection, workspace_id, schedule_id)
    if schedule is None:
        raise NotFound("There is no such schedule.")
    return schedule


def _schedule(connection: Connection, workspace_id: str, schedule_id: str) -> Schedule:
    schedule = schedules.get(connection, workspace_id, schedule_id)
    if schedule is None:
        raise NotFound("There is no such schedule.")
    return schedule


def _refuse_ended(schedule: Schedule) -> None:
    if schedule.state == "ended":
        raise Refused("The schedule has ended.", code="schedule_ended")


def _not_paused() -> Refused:
    return Refused("The schedule is not paused.", code="not_paused")


def _check_opening(
    backends: Backends,
    connection: Connection,
    schedule: Schedule,
    source: Source,
    version: int,
    values: Mapping[str, Any],
    moment: datetime,
) -> None:
    """Check that the owner can open the version with the values, as when it was set up."""
    # Whether the workers know the connection's URL cannot be seen from here.
    with suppress(SourceUnavailable):
        open_source(
            connection,
            source,
            version=version,
            actor_id=schedule.owner_id,
            given_values=values,
            moment=moment,
            time_zone=schedule.time_zone,
            environment=backends.environment,
        )
